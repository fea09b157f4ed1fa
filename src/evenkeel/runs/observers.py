"""Who watches a run: any object with these four methods. An exception from one stops the run, its state kept."""

import warnings
from collections.abc import Mapping
from typing import Any, Protocol

from evenkeel.runs.spec import Spec


class Observer(Protocol):
    """Told of a run as it goes."""

    def begin(self, spec: Spec, first: int) -> None:
        """The run starts, or goes on with row `first`; the last row is `spec.rounds`."""
        ...

    def round(self, row: Mapping[str, Any]) -> None:
        """A row of `rounds.parquet` is complete; what was not measured is not in it."""
        ...

    def warn(self, line: str) -> None:
        """Something to know that does not stop the run."""
        ...

    def end(self, outcome: str) -> None:
        """The run is over: "done", "failed" or "interrupted"."""
        ...


class Quiet:
    """Says nothing; a warning is a Python warning."""

    def begin(self, spec: Spec, first: int) -> None:
        """Nothing."""

    def round(self, row: Mapping[str, Any]) -> None:
        """Nothing."""

    def warn(self, line: str) -> None:
        """As Python warns."""
        warnings.warn(line, RuntimeWarning, stacklevel=3)

    def end(self, outcome: str) -> None:
        """Nothing."""
