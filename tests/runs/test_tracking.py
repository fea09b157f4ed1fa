"""Trackers read back with the tools' own readers: the same rounds as rounds.parquet, whatever stopped the run."""

import shutil
import sys

import polars as pl
import pytest

from evenkeel.errors import InputError, RunFailedError
from evenkeel.runs import Spec, execute, store, tracking
from evenkeel.runs.sections import OutputSection
from evenkeel.runs.tables import STEP, TIMES
from evenkeel.runs.tracking import event_files, mlflow_store
from tests.runs import tiny
from tests.runs.test_store import Watcher

BOTH = {"output__tracking": ["tensorboard", "mlflow"]}


@pytest.fixture(autouse=True)
def no_server(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)


def go(folder, changes=BOTH, **options):
    return execute(tiny.spec(**changes), folder, federation=tiny.federation(), **options)


def table(run):
    """The numbers of rounds.parquet: column -> {round: value}."""
    frame = run.rounds.with_columns(pl.col("skipped", "theta_bound").cast(pl.Float64))
    columns = {c: dict(zip(frame["round"], frame[c], strict=True)) for c in frame.columns if c != "round"}
    return {c: held for c, v in columns.items() if (held := {r: float(x) for r, x in v.items() if x is not None})}


def board(folder):
    """The scalars as TensorBoard shows them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / event_files.FOLDER), size_guidance={"scalars": 0})
    events.Reload()
    return events, {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def logged(folder):
    """The one run of the file store, and its metrics."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=(folder / mlflow_store.FOLDER).resolve().as_uri())
    experiment = client.get_experiment_by_name("evenkeel")
    (run,) = client.search_runs([experiment.experiment_id])
    history = {name: client.get_metric_history(run.info.run_id, name) for name in run.data.metrics}
    return run, {name: [(m.step, m.value) for m in held] for name, held in history.items()}


def test_tensorboard_reads_the_rounds_of_the_table(tmp_path):
    run = go(tmp_path / "run")
    events, scalars = board(run.folder)
    wanted = {f"{'rounds' if c in STEP else 'indices'}/{c}": held for c, held in table(run).items()}
    assert scalars.keys() == wanted.keys()
    for tag, held in wanted.items():
        assert dict(scalars[tag]) == pytest.approx(held, rel=1e-6), tag  # event files hold 32-bit numbers
        assert len(scalars[tag]) == len(held)
    shown = events.Tensors("spec/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "phi = 0.3" in shown


def test_mlflow_reads_the_rounds_of_the_table_and_the_spec(tmp_path):
    run = go(tmp_path / "run")
    found, metrics = logged(run.folder)
    wanted = table(run)
    assert {name: dict(held) for name, held in metrics.items()} == wanted
    assert all(len(held) == len(wanted[name]) for name, held in metrics.items())
    assert found.info.status == "FINISHED"
    assert found.info.run_name == run.name
    assert found.data.params["algorithm.phi"] == "0.3"
    assert found.data.params["rounds"] == "4"
    (artifact,) = (run.folder / "mlruns").rglob("spec.toml")
    assert Spec.load(artifact).digest() == run.spec.digest()


@pytest.mark.parametrize("harm", ["nothing", "lost tail", "all lost"])
def test_a_run_that_goes_on_has_every_round_once(tmp_path, harm):
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "run", observer=Watcher(stop_after=2))
    assert logged(tmp_path / "run")[0].info.status == "KILLED"
    (events,) = (tmp_path / "run" / "tensorboard").iterdir()
    if harm == "lost tail":
        events.write_bytes(events.read_bytes()[:-150])
        metric = next((tmp_path / "run" / "mlruns").rglob("metrics/lam_min"))
        metric.write_text("".join(metric.read_text().splitlines(keepends=True)[:1]))
    if harm == "all lost":
        shutil.rmtree(next((tmp_path / "run" / "mlruns").rglob("metrics")).parent)
        events.unlink()
    run = go(tmp_path / "run", resume=True)
    _, scalars = board(run.folder)
    found, metrics = logged(run.folder)
    assert found.info.status == "FINISHED"
    for column, held in table(run).items():
        assert [step for step, _ in scalars[f"{'rounds' if column in STEP else 'indices'}/{column}"]] == sorted(held)
        assert sorted(step for step, _ in metrics[column]) == sorted(held)
        if column not in TIMES:
            assert dict(metrics[column]) == held


def test_a_tracked_run_is_the_same_run(tmp_path):
    assert tiny.fingerprint(go(tmp_path / "a")) == tiny.fingerprint(go(tmp_path / "b", changes={}))
    assert tiny.spec(**BOTH).digest() == tiny.spec().digest()


def test_a_run_that_diverges_is_marked_failed(tmp_path):
    with pytest.raises(RunFailedError):
        go(tmp_path / "run", changes=BOTH | {"algorithm__tau": 1e30, "algorithm__eta": 1e10})
    assert logged(tmp_path / "run")[0].info.status == "FAILED"


def test_runs_share_the_store_that_the_environment_names(tmp_path, monkeypatch):
    from mlflow.tracking import MlflowClient

    uri = (tmp_path / "shared").as_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    for k in range(2):
        go(tmp_path / f"run-{k}", changes={"output__tracking": ["mlflow"]})
        assert not (tmp_path / f"run-{k}" / "mlruns").exists()
    client = MlflowClient(tracking_uri=uri)
    assert len(client.search_runs([client.get_experiment_by_name("mine").experiment_id])) == 2


@pytest.mark.parametrize("method", ["open", "row", "close"])
def test_a_tracker_that_breaks_is_dropped_with_one_warning_and_the_run_goes_on(tmp_path, monkeypatch, method):
    def broken(*_):
        raise OSError("no space left\nat all")

    monkeypatch.setattr(event_files.Tracker, method, broken)
    watcher = Watcher()
    run = go(tmp_path / "run", observer=watcher)
    assert run.finished
    assert watcher.lines == [
        "tracking by tensorboard stopped (no space left); the run goes on, its folder has all rounds"
    ]
    assert logged(run.folder)[0].info.status == "FINISHED"


@pytest.mark.parametrize("name", tracking.TRACKERS)
def test_without_its_package_a_tracker_is_refused_before_there_is_a_folder(tmp_path, monkeypatch, name):
    module = tracking.TRACKERS[name][0]
    monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard" if name == "tensorboard" else "mlflow.tracking", None)
    with pytest.raises(InputError, match=r"needs .* which is not installed .*pip install 'evenkeel\[track\]'"):
        go(tmp_path / "run", changes={"output__tracking": [name]})
    assert not store.begun(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_spec_knows_the_trackers_there_are():
    key = OutputSection.__dataclass_fields__["tracking"].metadata["key"]
    assert set(key.choices()) == tracking.TRACKERS.keys()
    with pytest.raises(InputError, match="did you mean 'tensorboard'"):
        tiny.spec(output__tracking=["tensorbord"])


def test_no_tracker_is_loaded_unless_asked_for(tmp_path):
    assert tracking.tracked(tiny.spec(), tmp_path, watcher := Watcher()) is watcher
    run = go(tmp_path / "run", changes={})
    assert not (run.folder / "tensorboard").exists()
    assert not (run.folder / "mlruns").exists()
