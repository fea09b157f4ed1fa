"""What is measured on the way: losses and indices at an evaluated round, weights, and bytes by formula."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenkeel import indices
from evenkeel.data.shards import Federation
from evenkeel.draws import cohort
from evenkeel.errors import InputError, RunFailedError
from evenkeel.indices.audits import AUDITED
from evenkeel.protocol import Ask, Key, Replies, Transport
from evenkeel.runs.sections import EvaluationSection
from evenkeel.runs.tables import CLIENTS

Vector = NDArray[np.float64]
_SCALAR = 8  # bytes of a loss or a norm


@dataclass(frozen=True, slots=True)
class Scored:
    """One part of every client asked, scored at one θ; clients without rows there have no loss.

    `who` are the clients asked: all, or a panel drawn once.
    """

    split: str
    loss: Vector
    accuracy: Vector
    size: Vector
    who: NDArray[np.int64]
    population: str

    def names(self, federation: Federation) -> list[str]:
        """The names of those asked."""
        return [federation.names[i] for i in self.who.tolist()]

    def table(self, federation: Federation) -> indices.LossTable:
        """The clients that have rows, as the audit takes them."""
        there = self.size > 0
        if not there.any():
            raise InputError(f'evaluation.split = "{self.split}": no client has rows there; give the other part')
        accuracy = self.accuracy[there]
        return indices.LossTable.of(
            client=np.array(self.names(federation), dtype=object)[there],
            loss=self.loss[there],
            accuracy=None if np.isnan(accuracy).any() else accuracy,
            size=self.size[there],
            population=self.population,
            split=self.split,
        )


def population(origin: str, panel: int) -> str:
    """On whom numbers were measured, in words.

    >>> population("penguins", 0), population("", 1000)
    ('penguins', 'all clients; a panel of 1,000 of them, drawn once')
    """
    return (origin or "all clients") + (f"; a panel of {panel:,} of them, drawn once" if panel else "")


def score(  # noqa: PLR0917
    transport: Transport,
    federation: Federation,
    theta: Any,  # noqa: ANN401 — a tensor
    key: Key,
    split: str,
    panel: int = 0,
) -> Scored:
    """Ask clients for their loss on one part, all or a panel; a loss that is not finite ends the run.

    The panel is a value of the seed alone, so that rounds are compared on the same clients.
    """
    who = cohort(Key(key.seed, 0), "panel", federation.n, panel) if panel else None
    told = transport.answer(Ask("score", {"theta": theta}, who=who, config={"split": split}), key)
    loss, accuracy, size = (np.asarray(told[name], np.float64) for name in ("loss", "accuracy", "size"))
    everyone = np.arange(federation.n) if who is None else who
    scored = Scored(split, loss, accuracy, size, everyone, population(federation.origin, panel))
    wrong = np.flatnonzero((scored.size > 0) & ~np.isfinite(scored.loss))
    if len(wrong):
        name, bad = federation.names[everyone[wrong[0]]], loss[wrong[0]]
        raise RunFailedError(
            f"diverged: client {name!r} round {key.round} {split} loss {bad}; the last good state is kept"
        )
    return scored


def measured(scored: Scored, federation: Federation, how: EvaluationSection) -> dict[str, float]:
    """Every index of one scored part, and the mean accuracy."""
    table = scored.table(federation)
    audit = indices.audit(
        table,
        draws=0,
        alpha=how.alpha,
        beta=how.beta,
        phi=how.phi,
        weighting="size" if how.weighting == "size" else "clients",
    )
    found = {name: value for name in AUDITED if (value := getattr(audit, name)) is not None}
    if table.accuracy is not None:
        found["accuracy"] = float(np.average(table.accuracy, weights=table.size if how.weighting == "size" else None))
    return found


def per_client(round_: int, scored: Scored, federation: Federation, lam: Vector | None) -> pl.DataFrame:
    """The clients' rows of one scored part."""
    asked = len(scored.who)
    frame = pl.DataFrame(
        {
            "round": np.full(asked, round_, np.int64),
            "split": [scored.split] * asked,
            "client": scored.names(federation),
            "size": scored.size.astype(np.int64),
            "loss": scored.loss,
            "accuracy": scored.accuracy,
            "lam": np.full(asked, np.nan) if lam is None else lam[scored.who],
        },
        schema=dict(CLIENTS),
    )
    return frame.with_columns(pl.col("loss", "accuracy", "lam").fill_nan(None))


def weights(lam: Vector | None) -> dict[str, float]:
    """The range of λ, how many are negative, and Σ|λ|.

    >>> weights(np.array([1.5, -0.5]))
    {'lam_min': -0.5, 'lam_max': 1.5, 'lam_negative': 1, 'lam_l1': 2.0}
    """
    if lam is None:
        return {}
    return {
        "lam_min": float(lam.min()),
        "lam_max": float(lam.max()),
        "lam_negative": int((lam < 0).sum()),
        "lam_l1": float(np.abs(lam).sum()),
    }


def losses(loss: Vector | None) -> dict[str, float]:
    """Mean and range over the clients heard of.

    >>> losses(np.array([1.0, np.nan, 3.0]))
    {'loss_mean': 2.0, 'loss_min': 1.0, 'loss_max': 3.0}
    """
    heard = np.empty(0) if loss is None else loss[np.isfinite(loss)]
    if not len(heard):
        return {}
    return {"loss_mean": float(heard.mean()), "loss_min": float(heard.min()), "loss_max": float(heard.max())}


def staleness(info: Mapping[str, Any]) -> dict[str, float]:
    """How long ago the clients were last heard, where a round asked a cohort.

    >>> staleness({"stale_max": 3, "stale_mean": 1.5, "unheard": 0, "loss": None}), staleness({})
    ({'stale_mean': 1.5, 'stale_max': 3, 'unheard': 0}, {})
    """
    return {name: info[name] for name in ("stale_mean", "stale_max", "unheard") if name in info}


@dataclass(slots=True)
class Meter:
    """What one round would send over a network, and who missed it.

    Down, each client asked: every shared tensor once a round, and its own rows of `each`. Up, each client that answers:
    8 bytes a scalar, and its own vector even where only a weighted sum is kept.
    """

    n: int
    down: int = 0
    up: int = 0
    _sent: list[Any] = field(default_factory=list)
    _asked: NDArray[np.bool_] = field(init=False)
    _missed: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self._asked, self._missed = np.zeros(self.n, np.bool_), np.zeros(self.n, np.bool_)

    def asks(self, ask: Ask) -> None:
        """Count an ask; until somebody answers, all have missed it."""
        who = np.arange(self.n) if ask.who is None else ask.who
        fresh = [t for t in ask.shared.values() if all(t is not old for old in self._sent)]
        self._sent += fresh
        self.down += len(who) * sum(_bytes(t) for t in fresh) + sum(_bytes(rows) for rows in ask.each.values())
        self._asked[who] = True
        self._missed[who] = True

    def hears(self, ask: Ask, replies: Replies) -> None:
        """Count the answers."""
        m = len(replies.who)
        for value in replies.values.values():
            if isinstance(value, np.ndarray):
                self.up += m * _SCALAR
            else:
                self.up += _bytes(value) * (m if ask.weights is not None else 1)
        self._missed[replies.who] = False

    def row(self) -> dict[str, int]:
        """The counts under their columns."""
        asked, absent = int(self._asked.sum()), int(self._missed.sum())
        return {"asked": asked, "absent": absent, "bytes_down": self.down, "bytes_up": self.up}


def _bytes(tensor: Any) -> int:  # noqa: ANN401 — a tensor or an array
    return int(tensor.nbytes)
