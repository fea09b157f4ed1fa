"""What every family shares: the local work asked of a client, and the rules for clients that do not answer.

An absent client keeps its λ_i; its last known loss is carried without extrapolation. The weights of those present are
scaled by n/m (m of n answered), so the direction Σ λ_i g_i keeps its mean when absence does not depend on λ; what
is then missing from Σ w_i = 1 is made up by c, exactly as for a client lost between probe and local (Δu_i = c).
docs/decisions/0007-absent-clients.md has the alternatives and what was measured.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenkeel.algorithms.limits import check
from evenkeel.errors import InputError
from evenkeel.protocol import Replies, Scalar

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Local work of a round: `steps` mini-batches or `epochs` passes (give one), rows a batch, and the divisor of Δu.

    `divisor` 0 divides by the steps really taken (Algorithm 2); `control_batch` is that of c_i; 0 is all rows.
    """

    batch: int = 64
    steps: int = 0
    epochs: int = 5
    control_batch: int = 64
    divisor: float = 0
    dropout: bool = True

    def __post_init__(self) -> None:
        check(self)
        if self.steps == self.epochs == 0:
            raise InputError("work: steps = 0 and epochs = 0: nobody would move; give one of them, above 0")

    def local(self, eta: float, **more: Scalar) -> dict[str, Scalar]:
        """The settings of a "local" ask."""
        count: dict[str, Scalar] = {"steps": self.steps} if self.steps else {"epochs": self.epochs}
        rest: dict[str, Scalar] = {"control_batch": self.control_batch, "divisor": self.divisor}
        return {"eta": eta, "batch": self.batch, "dropout": self.dropout} | count | rest | more

    def longest(self, sizes: Ids) -> int:
        """The most steps that any client of these sizes takes.

        >>> Work(batch=10, epochs=2).longest(np.array([5, 25]))
        6
        """
        per_epoch = -(-int(sizes.max()) // self.batch) if self.batch else 1
        return self.steps or self.epochs * per_epoch

    def gradient(self) -> dict[str, Scalar]:
        """The settings of a "gradient" ask: the c_i that "local" recomputes."""
        return {"batch": self.control_batch, "dropout": self.dropout}


def carry(last: Vector, seen: Replies, varsigma: float) -> tuple[Vector, Vector]:
    """(L, s): last known losses and s = (1 + ς)L − ς·L_previous where both are fresh, else s = L.

    A client never heard of counts as the mean of those heard.

    >>> seen = Replies(np.array([0, 1]), {"loss": np.array([1.0, 4.0])})
    >>> carry(np.array([2.0, np.nan, 7.0]), seen, 0.5)[1].tolist()
    [0.5, 4.0, 7.0]
    """
    fresh = np.asarray(seen["loss"], dtype=np.float64)
    losses = last.copy()
    losses[seen.who] = fresh
    s = losses.copy()
    before = np.where(np.isnan(last[seen.who]), fresh, last[seen.who])
    s[seen.who] = (1 + varsigma) * fresh - varsigma * before
    return losses, np.where(np.isnan(s), fresh.mean(), s)


def scaled(lam: Vector, who: Ids) -> Vector:
    """Weights of those present: λ_i·n/m.

    >>> scaled(np.array([0.5, 0.5]), np.array([1])).tolist()
    [1.0]
    """
    weights: Vector = lam[who] * (lam.size / len(who))
    return weights


def staleness(heard: Ids, who: Ids, round_: int) -> tuple[Ids, dict[str, float]]:
    """The round in which each client was last heard, after `who` answered in this one; and how long ago that is.

    A client never heard of has waited since before round 0.

    >>> staleness(np.array([4, -1, 2]), np.array([0]), 5)
    (array([ 5, -1,  2]), {'stale_mean': 3.0, 'stale_max': 6, 'unheard': 1})
    """
    now = heard.copy()
    now[who] = round_
    unheard = int(np.count_nonzero(now < 0))
    return now, {"stale_mean": float(round_ - now.mean()), "stale_max": int(round_ - now.min()), "unheard": unheard}
