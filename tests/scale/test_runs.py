"""Runs of many clients by their spec: stores, cohorts, panels, traces; what the folder says, and going on."""

import numpy as np
import polars as pl
import pytest

from evenkeel.data.mapped import write_federation
from evenkeel.engine import read_trace
from evenkeel.errors import InputError
from evenkeel.protocol import Key
from evenkeel.runs import Spec, execute
from evenkeel.runs.parts import federation_of
from tests.scale.test_stores import memory

ROUNDS = 6


@pytest.fixture
def spec(tmp_path):
    write_federation(tmp_path / "store", memory())
    (tmp_path / "run.toml").write_text(
        f"""rounds = {ROUNDS}
        data = {{ source = "mapped", store = "store" }}
        task = {{ model = "linear" }}
        algorithm = {{ name = "scaff-pd-ia", cohort = 8, sigma = 0.01, tau = 0.1, eta = 0.1 }}
        work = {{ batch = 4, steps = 2, control_batch = 4 }}
        evaluation = {{ every = 3, clients = 11 }}
        engine = {{ workers = 1 }}
        output = {{ checkpoint = 0 }}
        """
    )
    return Spec.load(tmp_path / "run.toml")


def test_a_run_of_cohorts_tells_staleness_and_scores_the_same_panel_each_time(spec, tmp_path):
    run = execute(spec, tmp_path / "run")
    steps = run.rounds[:ROUNDS]
    assert set(steps["asked"]) <= {7, 8}
    assert steps["unheard"][:4].to_list() == sorted(steps["unheard"][:4], reverse=True)
    assert steps["unheard"][3:].to_list() == [0, 0, 0]  # a pass is four rounds
    assert steps["stale_max"].max() <= 6
    panels = run.clients.group_by("round", "split").agg("client")["client"].to_list()
    assert len(panels) == 6
    assert all(panel == panels[0] and len(panel) == 11 for panel in panels)
    assert "a panel of 11 of them" in run.losses().population
    assert len(run.lam) == 30  # λ is of all
    assert run.lam.sum() == pytest.approx(1)


def test_it_goes_on_from_a_checkpoint_to_the_same_bits(spec, tmp_path):
    class Stop:
        def begin(self, spec, first): ...
        def warn(self, line): ...
        def end(self, outcome): ...

        def round(self, row):
            if row["round"] == 3:
                raise KeyboardInterrupt

    whole = execute(spec, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        execute(spec, tmp_path / "cut", observer=Stop())
    cut = execute(spec, tmp_path / "cut", resume=True)
    assert cut.theta.equal(whole.theta)
    np.testing.assert_array_equal(cut.lam, whole.lam)
    columns = ["stale_mean", "stale_max", "unheard", "loss_mean"]
    assert cut.rounds.select(columns).equals(whole.rounds.select(columns))


def test_a_full_run_has_no_staleness_to_tell(spec, tmp_path):
    run = execute(spec.replace("algorithm.cohort", None).replace("evaluation.clients", None), tmp_path / "run")
    assert run.rounds["stale_max"].null_count() == ROUNDS + 1
    assert set(run.clients.group_by("round", "split").len()["len"]) == {30}


@pytest.mark.parametrize("form", ["csv", "parquet", "npy"])
def test_a_trace_says_who_is_there(spec, tmp_path, form):
    rng = np.random.default_rng(0)
    there = rng.random((5, 30)) < 0.6
    names = federation_of(spec).names
    stays = [(names[i], r, r) for r, i in np.argwhere(there).tolist()]
    if form == "npy":
        np.save(tmp_path / "trace.npy", there)
    else:
        table = pl.DataFrame(stays, schema=["client", "first", "last"], orient="row")
        getattr(table, f"write_{form}")(tmp_path / f"trace.{form}")
    attendance = read_trace(tmp_path / f"trace.{form}", names)
    for r in range(12):
        here = attendance(Key(0, r), "probe", np.arange(30))
        assert here.tolist() == np.flatnonzero(there[r % 5]).tolist()
    traced = spec.replace("clients.trace", str(tmp_path / f"trace.{form}"))
    run = execute(traced.replace("algorithm.cohort", None), tmp_path / "run")
    assert run.rounds["absent"][:ROUNDS].to_list() == [int((~there[r % 5]).sum()) for r in range(ROUNDS)]
    assert set(run.clients.group_by("round", "split").len()["len"]) == {11}  # the absent are scored


def test_stays_that_overlap_or_hold_one_another_count_once(tmp_path):
    pl.DataFrame({"client": [1, 1, 0], "first": [0, 2, 4], "last": [6, 3, 9]}).write_csv(tmp_path / "t.csv")
    trace = read_trace(tmp_path / "t.csv", ("a", "b"))
    found = [trace(Key(0, r), "probe", np.arange(2)).tolist() for r in range(10)]
    assert found == [[1]] * 4 + [[0, 1]] * 3 + [[0]] * 3


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"client": ["nobody"], "first": [0], "last": [1]}, "there is no such client"),
        ({"client": [30], "first": [0], "last": [1]}, "there is no such client"),
        ({"client": [0], "first": [3], "last": [1]}, "ends before it begins"),
        ({"client": [0], "first": [-3], "last": [1]}, "whole numbers from 0"),
        ({"client": [0], "first": [0]}, "must have columns"),
    ],
)
def test_a_trace_that_makes_no_sense_is_refused(tmp_path, rows, message):
    pl.DataFrame(rows).write_csv(tmp_path / "trace.csv")
    with pytest.raises(InputError, match=message):
        read_trace(tmp_path / "trace.csv", memory().names)


def test_a_grid_of_another_width_no_file_and_no_table_are_refused(tmp_path):
    np.save(tmp_path / "grid.npy", np.ones((3, 4), bool))
    (tmp_path / "junk.parquet").write_bytes(b"no table")
    for name in ("grid.npy", "junk.parquet", "none.csv"):
        with pytest.raises(InputError, match=name):
            read_trace(tmp_path / name, memory().names)


def test_a_store_is_dealt_out_already(spec):
    with pytest.raises(InputError, match="dealt out already"):
        spec.replace("partition.n", 10)
