"""Trackers: a run's rounds where TensorBoard and MLflow read them, named in `output.tracking`.

The run folder is the truth and a tracker a copy of its rounds: a run that goes on first hands over every round that its
checkpoint holds, so that a kill leaves no gap; a tracker that fails is dropped with a warning, and the run goes on.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from evenkeel.errors import InputError
from evenkeel.runs import checkpoint, store
from evenkeel.runs.observers import Observer
from evenkeel.runs.spec import Spec

TRACKERS: Mapping[str, tuple[str, str]] = {  # name -> module with a class Tracker, and the package it rests on
    "tensorboard": ("evenkeel.runs.tracking.event_files", "tensorboard"),
    "mlflow": ("evenkeel.runs.tracking.mlflow_store", "mlflow-skinny"),
}
Row = Mapping[str, Any]


class Tracker(Protocol):
    """Keeps rounds somewhere else. A row is one of `rounds.parquet`; what was not measured is not in it."""

    def open(self, spec: Spec, folder: Path, rows: Sequence[Row]) -> None:
        """The run in this folder begins, or goes on after these rows; some of them may be kept already."""
        ...

    def row(self, row: Row) -> None:
        """One more row."""
        ...

    def close(self, outcome: str) -> None:
        """The run is over: "done", "failed" or "interrupted"."""
        ...


def tracked(spec: Spec, folder: Path, observer: Observer) -> Observer:
    """The observer, with the trackers that the spec names before it."""
    if not spec.output.tracking:
        return observer
    return Tracked(folder, {name: _tracker(name) for name in spec.output.tracking}, observer)


def _tracker(name: str) -> Tracker:
    module, package = TRACKERS[name]
    try:
        made: Tracker = import_module(module).Tracker()
    except ImportError as error:
        missing = f"output.tracking = {name!r} needs {package}, which is not installed ({error})"
        raise InputError(f"{missing}: pip install 'evenkeel[track]'") from None
    return made


class Tracked:
    """An observer that tells the trackers first: the one behind it may stop the run, and no row may be lost by that."""

    def __init__(self, folder: Path, trackers: Mapping[str, Tracker], observer: Observer) -> None:
        self.folder, self.trackers, self.observer = folder, dict(trackers), observer

    def begin(self, spec: Spec, first: int) -> None:
        """Hand over the rows that there are."""
        rows = _before(self.folder, first)
        self._all("open", spec, self.folder, rows)
        self.observer.begin(spec, first)

    def round(self, row: Row) -> None:
        """Pass it on."""
        self._all("row", row)
        self.observer.round(row)

    def warn(self, line: str) -> None:
        """For the observer alone."""
        self.observer.warn(line)

    def end(self, outcome: str) -> None:
        """Pass it on."""
        self._all("close", outcome)
        self.observer.end(outcome)

    def _all(self, method: str, *what: object) -> None:
        for name, tracker in [*self.trackers.items()]:
            try:
                getattr(tracker, method)(*what)
            except Exception as error:  # noqa: BLE001 — whatever another tool breaks, the run goes on
                del self.trackers[name]
                reason = str(error).split("\n", 1)[0] or type(error).__name__
                self.observer.warn(f"tracking by {name} stopped ({reason}); the run goes on, its folder has all rounds")


def _before(folder: Path, first: int) -> list[Row]:
    """The rows before `first`, from the checkpoint that the run goes on from."""
    last = checkpoint.newest(folder, lambda _: None) if first else None
    if last is None:
        return []
    table = pl.read_parquet(last.tables[store.ROUNDS]).filter(pl.col("round") < first)
    return [{k: v for k, v in row.items() if v is not None} for row in table.to_dicts()]


def numbers(row: Row) -> dict[str, float]:
    """What can be drawn over rounds.

    >>> numbers({"round": 3, "R": 2.0, "skipped": False, "absent": 1})
    {'R': 2.0, 'skipped': 0.0, 'absent': 1.0}
    """
    return {name: float(value) for name, value in row.items() if name != "round"}
