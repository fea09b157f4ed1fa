"""Run an algorithm for some rounds on a transport."""

from evenkeel.errors import NobodyAnsweredError
from evenkeel.protocol import Key, drive


def run(algorithm, transport, theta, rounds, seed=0):
    """The states, from the first to the last, and what each round told; a round that nobody answers is skipped."""
    state = algorithm.init(theta, transport.n)
    states, infos = [state], []
    for r in range(rounds):
        key = Key(seed, r)
        try:
            step = drive(algorithm.round(state, key), lambda ask, key=key: transport.answer(ask, key))
        except NobodyAnsweredError:
            continue
        state = step.state
        states.append(state)
        infos.append(step.info)
    return states, infos
