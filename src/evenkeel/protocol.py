"""The seam: a round is a generator of asks; a transport answers them.

The text of an algorithm never names a transport, so the same text runs in the vectorised engine, in a plain loop
and on a real federation. A round that fails half-way leaves the state untouched: it is started again with the
same draws. This module imports nothing of ours.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = Any  # a NumPy array (losses, weights: float64) or a torch tensor (theta and all θ-sized vectors)
Scalar = float | int | str | bool
State = Any  # what the next round needs, a frozen dataclass of the algorithm


class Key(NamedTuple):
    """What every random choice of a round is drawn from, with the phase, the client and an index (see `draws`)."""

    seed: int
    round: int


class Ask(NamedTuple):
    """One question to the clients.

    `phase` names a client step. `shared` is the same for everyone (theta, c); `each` has one row a client asked;
    `config` are the step's plain settings (eta, steps, batch). `who` are the clients asked, ascending; None is all.
    With `weights` (one a client asked), θ-sized replies come back as Σ w_i x_i and never one by one, so that a
    server needs O(d) memory; scalars still come one by one.
    """

    phase: str
    shared: Mapping[str, Array] = {}
    each: Mapping[str, Array] = {}
    who: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None
    config: Mapping[str, Scalar] = {}


@dataclass(frozen=True, slots=True)
class Replies:
    """What came back, and from whom: `who` are the clients that answered, ascending.

    Scalars are float64 arrays aligned with `who`. Vectors are the weighted sum over `who` (shape (d,)) if the ask
    had weights, else one row a client (shape (len(who), d)).
    """

    who: NDArray[np.int64]
    values: Mapping[str, Array]

    def __getitem__(self, name: str) -> Array:
        return self.values[name]


@dataclass(frozen=True, slots=True)
class Step:
    """The end of a round: the state the next round needs, and what an observer wants to see."""

    state: State
    info: Mapping[str, Any] = field(default_factory=dict)


Round = Generator[Ask, Replies, Step]


class Algorithm(Protocol):
    """A frozen dataclass of hyper-parameters with two pure methods."""

    def init(self, theta: Array, n: int) -> State: ...

    def round(self, state: State, key: Key) -> Round: ...


Answer = Callable[[Ask], Replies]


class Transport(Protocol):
    """Whatever can put an ask to `n` clients: the engine, the loop, a federation."""

    @property
    def n(self) -> int: ...

    def answer(self, ask: Ask, key: Key) -> Replies: ...


def drive(round_: Round, answer: Answer) -> Step:
    """Run one round to its end by answering each of its asks.

    >>> def twice(theta):
    ...     loss = (yield Ask("probe", {"theta": theta}))["loss"]
    ...     return Step(theta - loss.mean())
    >>> drive(twice(3.0), lambda ask: Replies(np.arange(2), {"loss": np.array([1.0, 3.0])})).state
    np.float64(1.0)
    """
    try:
        ask = next(round_)
        while True:
            ask = round_.send(answer(ask))
    except StopIteration as end:
        step: Step = end.value
        return step
