"""What a page is told: loss tables with their audits, and what a run has stored beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenkeel.indices import Audit, Comparison, LossTable

if TYPE_CHECKING:  # runs load torch, which an audit's page does without
    from evenkeel.runs.paired import Seeded


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mix:
    """Rows of each client in each class (n × classes), in the order of `client`."""

    client: tuple[str, ...]
    classes: tuple[str, ...]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """The dual weights λ of these clients after each stored round (rounds × clients); all n of a run, or a panel."""

    round: NDArray[np.int64]
    client: tuple[str, ...]
    lam: NDArray[np.float64]
    n: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """One thing to compare: a run, a group of clients, or a whole table.

    `useless` says why it has learned nothing, if it has. `rounds` has a row a round: round and whatever of mean, R,
    worst20_loss, worst20_accuracy, lam_min, lam_max, seconds, bytes_up, bytes_down, absent was stored. `facts` are
    short statements of what was run, `spec` the resolved file, `again` the command that runs it once more.
    """

    name: str
    table: LossTable
    audit: Audit
    useless: str = ""
    state: str = ""
    rounds: pl.DataFrame | None = None
    weights: Weights | None = None
    mix: Mix | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    spec: str = ""
    again: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A live page before there is anything to show; `says` is why."""

    title: str
    says: str
    made: str = ""
    live: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Content:
    """A whole page. `says` are the sentences under the headline, `how` is what they and the figures rest on; `noun`
    is what a series is here.

    `frontier` (label, order, mean, R, and the ends of their intervals where there are several seeds) is a sweep over
    `setting`; `curve` (phi, u, kind) is how φ was `chosen`. `seeded` holds the indices under several seeds. `notes`
    say what makes the numbers hard to compare. A `live` page asks for what is new.
    """

    title: str
    headline: str
    says: tuple[str, ...] = ()
    how: str = ""
    noun: Literal["run", "group", "table"] = "table"
    series: tuple[Series, ...]
    comparison: Comparison | None = None
    seeded: "Seeded | None" = None
    notes: tuple[str, ...] = ()
    frontier: pl.DataFrame | None = None
    setting: str = ""
    curve: pl.DataFrame | None = None
    chosen: float | None = None
    made: str = ""
    live: bool = False
