"""How fast ‖θ^r − θ*‖² falls: the curve behind the theorem's R^−2 (exact gradients) and R^−1 (noisy ones)."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from evenkeel.errors import NobodyAnsweredError
from evenkeel.protocol import Algorithm, Key, State, Transport, drive


class Curve(NamedTuple):
    """‖θ^r − θ*‖² after so many rounds, round 0 first."""

    rounds: NDArray[np.int64]
    squared_errors: NDArray[np.float64]


def error_curve(
    algorithm: Algorithm, transport: Transport, theta: torch.Tensor, solution: ArrayLike, *, rounds: int, seed: int = 0
) -> Curve:
    """Run an algorithm from θ and measure every round's squared distance to a known solution.

    A round that nobody answers is skipped: it repeats the error before it.
    """
    goal = torch.as_tensor(np.asarray(solution), dtype=torch.float64)
    state = algorithm.init(theta, transport.n)
    errors = [_squared(theta, goal)]
    for r in range(rounds):
        state = _next(algorithm, transport, state, Key(seed, r))
        errors.append(_squared(state.theta, goal))
    return Curve(np.arange(rounds + 1), np.array(errors))


def _next(algorithm: Algorithm, transport: Transport, state: State, key: Key) -> State:
    try:
        return drive(algorithm.round(state, key), lambda ask: transport.answer(ask, key)).state
    except NobodyAnsweredError:
        return state


def _squared(theta: torch.Tensor, goal: torch.Tensor) -> float:
    return float((theta.detach().cpu().double() - goal).square().sum())


def slope(curve: Curve, first: int, last: int | None = None) -> float:
    """The least-squares slope of log error on log round, from round `first` to `last`.

    >>> r = np.arange(1001)
    >>> round(slope(Curve(r, 5.0 / np.maximum(r, 1) ** 2), 10), 6)
    -2.0
    """
    chosen = slice(max(first, 1), None if last is None else last + 1)
    return float(np.polyfit(np.log(curve.rounds[chosen]), np.log(curve.squared_errors[chosen]), 1)[0])
