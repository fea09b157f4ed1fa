"""MLflow: one of its runs for each of ours, in a file store at DIR/mlruns, or where MLFLOW_TRACKING_URI says.

MLflow keeps its file store in maintenance mode and asks for consent by a variable, set here for the local store only.
Its telemetry is off unless the user turned it on.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # read when MLflow is imported

from mlflow.entities import Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

import evenkeel
from evenkeel.runs import store
from evenkeel.runs.spec import Spec
from evenkeel.runs.tracking import Row, numbers

FOLDER, ID = "mlruns", "mlflow-run.txt"
EXPERIMENT = "evenkeel"
_OFTEN = 1.0  # seconds between two writes
_MOST = 500  # numbers in a write; the server takes at most 1,000
_STATUS = {"done": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}


class Tracker:
    """One metric a column, the step being the round; every key of the spec is a parameter."""

    def __init__(self) -> None:
        self.waiting: list[Metric] = []
        self.written = 0.0

    def open(self, spec: Spec, folder: Path, rows: Sequence[Row]) -> None:
        """A new run, or the one that was begun: steps that it has are not written twice."""
        self.client = MlflowClient(tracking_uri=_place(folder))
        begun = _begun(self.client, folder)
        self.run = begun or _begin(self.client, spec, folder)
        self.known = _known(self.client, begun) if begun else {}
        for row in rows:
            self.row(row)

    def row(self, row: Row) -> None:
        """Keep it for the next write."""
        now, step = round(time.time() * 1000), int(row["round"])
        for name, value in numbers(row).items():
            if step not in self.known.get(name, ()):
                self.waiting.append(Metric(name, value, now, step))
        if time.monotonic() - self.written > _OFTEN:
            self._write()

    def close(self, outcome: str) -> None:
        """Write what is left, and how it ended."""
        self._write()
        self.client.set_terminated(self.run.info.run_id, _STATUS[outcome])

    def _write(self) -> None:
        while self.waiting:
            self.client.log_batch(self.run.info.run_id, metrics=self.waiting[:_MOST])
            self.waiting = self.waiting[_MOST:]
        self.written = time.monotonic()


def _place(folder: Path) -> str:
    """The user's own server or store; else a file store in the run's folder."""
    if uri := os.environ.get("MLFLOW_TRACKING_URI"):
        return uri
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    return (folder / FOLDER).resolve().as_uri()


def _begin(client: MlflowClient, spec: Spec, folder: Path) -> Run:
    """A run with the spec as its parameters; its number is kept beside the spec."""
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    known = client.get_experiment_by_name(name)
    experiment = known.experiment_id if known else client.create_experiment(name)
    run = client.create_run(experiment, run_name=spec.name, tags={"evenkeel": evenkeel.__version__})
    client.log_batch(run.info.run_id, params=[Param(key, str(value)) for key, value in _flat(spec).items()])
    client.log_artifact(run.info.run_id, str(folder / store.SPEC))
    store.write(folder / ID, run.info.run_id.encode())
    return run


def _begun(client: MlflowClient, folder: Path) -> Run | None:
    """The run that this folder's run began, if its store still has it."""
    try:
        number = (folder / ID).read_text("ascii")
        client.update_run(number, status="RUNNING")
        return client.get_run(number)
    except (FileNotFoundError, MlflowException):
        return None


def _known(client: MlflowClient, run: Run) -> dict[str, set[int]]:
    """The steps that each metric has."""
    number = run.info.run_id
    return {name: {m.step for m in client.get_metric_history(number, name)} for name in run.data.metrics}


def _flat(spec: Spec) -> dict[str, Any]:
    """The resolved spec by dotted keys."""
    table = spec.resolved().table()
    nested = {f"{section}.{k}": v for section, held in table.items() if isinstance(held, dict) for k, v in held.items()}
    return {k: v for k, v in table.items() if not isinstance(v, dict)} | nested
