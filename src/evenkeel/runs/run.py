"""A run on disk: `Run.open(folder)` reads what is there, also while the run goes on."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray
from torch import Tensor

from evenkeel import indices
from evenkeel.errors import InputError
from evenkeel.indices.sample import Options
from evenkeel.runs import checkpoint, measure, store, tables
from evenkeel.runs.observers import Quiet
from evenkeel.runs.spec import Spec

_AGAIN = f"resume the run, which writes it again; of a finished one remove {store.FINAL} before"


@dataclass(frozen=True)
class Run:
    """What a run left in its folder."""

    folder: Path

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """The run in a folder."""
        place = Path(folder)
        if not store.begun(place):
            raise InputError(f"{place}: holds no run (there is no {store.SPEC}); give the folder of one")
        return cls(place)

    @cached_property
    def spec(self) -> Spec:
        """The spec as it was resolved."""
        return Spec.load(self.folder / store.SPEC)

    @property
    def name(self) -> str:
        """What the run is called."""
        return self.spec.name

    @property
    def finished(self) -> bool:
        """Whether all rounds are done."""
        return (self.folder / store.FINAL).exists()

    @property
    def env(self) -> Mapping[str, Any]:
        """What it was computed with."""
        file = self.folder / store.ENV
        try:
            facts: Mapping[str, Any] = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{file}: cannot be read ({_reason(error)}); put it back, or start the run anew") from None
        return facts

    @property
    def rounds(self) -> pl.DataFrame:
        """One row a round (`evenkeel.runs.tables`), as far as the run has come."""
        return _table(self.folder / store.ROUNDS, tables.rounds([]))

    @property
    def clients(self) -> pl.DataFrame:
        """One row an evaluated round, part and client."""
        return _table(self.folder / store.CLIENTS, tables.clients([]))

    @cached_property
    def _last(self) -> checkpoint.Checkpoint:
        last = checkpoint.newest(self.folder, Quiet().warn)
        if last is None:
            raise InputError(f"{self.folder}: has no state yet; wait for the first checkpoint, or resume the run")
        return last

    @property
    def theta(self) -> Tensor:
        """The last θ, flat."""
        if not self.finished:
            theta: Tensor = self._last.state["theta"]
            return theta
        return checkpoint.flat(self.folder / store.FINAL)

    @property
    def lam(self) -> NDArray[np.float64] | None:
        """The last λ; None where the algorithm has none."""
        if not self.finished or self.spec.evaluation.clients:  # the table has a panel's alone
            return self._last.state.get("lam")
        last = self.clients.filter(pl.col("round") == pl.col("round").max())
        weights = last.filter(pl.col("split") == last["split"][0])["lam"]
        return None if weights.null_count() else weights.to_numpy().copy()

    def state_dict(self) -> dict[str, Tensor]:
        """The trained model's parameters and buffers: `model.load_state_dict(run.state_dict())`."""
        if not self.finished:
            raise InputError(f"{self.folder}: is not finished; continue it with --resume {self.folder}")
        return checkpoint.tensors(self.folder / store.FINAL)

    def losses(self, split: str | None = None) -> indices.LossTable:
        """The last evaluation, one row a client that has rows there; the validation part unless the spec says so."""
        part = split or self.spec.evaluation.split
        rows = self.clients.filter(pl.col("split") == part, pl.col("loss").is_not_null())
        if self.clients.is_empty():
            raise InputError(f"{self.folder}: has stored no evaluation yet; wait for the first, or resume the run")
        if rows.is_empty():
            raise InputError(f"{self.folder}: was not evaluated on {part!r}; evaluation.splits names what is")
        rows = rows.filter(pl.col("round") == pl.col("round").max())
        return indices.LossTable.of(
            client=rows["client"].to_list(),
            loss=rows["loss"].to_numpy(),
            accuracy=None if rows["accuracy"].null_count() else rows["accuracy"].to_numpy(),
            size=rows["size"].to_numpy(),
            population=measure.population(str(self.env["data"]), self.spec.evaluation.clients),
            split=part,
        )

    def audit(self, *, split: str | None = None, **options: Unpack[Options]) -> indices.Audit:
        """Every index of the last evaluation; shares, φ and weighting are the spec's unless given."""
        how = self.spec.evaluation
        defaults: Options = {
            "alpha": how.alpha,
            "beta": how.beta,
            "phi": how.phi,
            "weighting": "size" if how.weighting == "size" else "clients",
        }
        defaults.update(options)
        return indices.audit(self.losses(split), **defaults)


def _table(file: Path, empty: pl.DataFrame) -> pl.DataFrame:
    """A table, read at once, so that a writer that replaces the file does not matter."""
    try:
        return pl.read_parquet(io.BytesIO(file.read_bytes()))
    except FileNotFoundError:
        return empty
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{file}: cannot be read ({_reason(error)}); {_AGAIN}") from None


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).splitlines()[0].lower()
