"""A run folder: readable without us, whole at any moment, for one process at a time."""

import errno
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from evenkeel.algorithms import ALGORITHMS
from evenkeel.engine import Loop
from evenkeel.errors import InputError, RunFailedError
from evenkeel.protocol import Ask, Key
from evenkeel.runs import Quiet, Run, Spec, algorithm_of, checkpoint, execute, store, task_of
from evenkeel.runs.tables import CLIENTS, ROUNDS
from tests.algorithms.running import run as plain_run
from tests.runs import tiny


class Watcher(Quiet):
    """Collects warnings; stops the run where it is told to."""

    def __init__(self, stop_after=None, error=KeyboardInterrupt):
        self.lines, self.rows, self.stop_after, self.error = [], [], stop_after, error

    def warn(self, line):
        self.lines.append(line)

    def round(self, row):
        self.rows.append(row)
        if row["round"] == self.stop_after:
            raise self.error


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def go(folder, name="scaff-pd-ia", **options):
    changes = options.pop("changes", {})
    return execute(tiny.spec(name, **changes), folder, federation=tiny.federation(), **options)


def test_a_run_is_what_a_plain_loop_over_rounds_gives(tmp_path):
    spec, data = tiny.spec(), tiny.federation()
    task = task_of(spec, data)
    states, infos = plain_run(algorithm_of(spec, data), Loop(task, data), task.init(0), spec.rounds)
    run = go(tmp_path / "run")
    assert torch.equal(run.theta, states[-1].theta)
    assert np.array_equal(run.lam, states[-1].lam)
    rows = run.rounds
    assert rows["round"].to_list() == list(range(spec.rounds + 1))
    for r, (state, info) in enumerate(zip(states, infos, strict=False)):
        row = rows.row(r, named=True)
        assert row["lam_min"] == state.lam.min()
        assert row["lam_l1"] == sum(abs(w) for w in state.lam)
        assert row["loss_max"] == max(info["loss"])
    assert rows["seconds"].null_count() == 1  # the last row has no step


def test_what_is_stored_of_a_round_is_what_scoring_its_theta_gives(tmp_path):
    spec, data = tiny.spec(), tiny.federation()
    run = go(tmp_path / "run")
    task = task_of(spec, data)
    for split in ("valid", "train"):
        told = Loop(task, data).answer(Ask("score", {"theta": run.theta}, config={"split": split}), Key(0, 0))
        rows = run.clients.filter(pl.col("round") == spec.rounds, pl.col("split") == split)
        assert rows["loss"].to_list() == told["loss"].tolist()
        assert rows["accuracy"].to_list() == told["accuracy"].tolist()
        assert rows["size"].to_list() == [len(getattr(data, split)[i]) for i in range(data.n)]
        assert rows["client"].to_list() == list(data.names)
    last = run.rounds.row(spec.rounds, named=True)
    losses = run.clients.filter(pl.col("round") == spec.rounds, pl.col("split") == "valid")["loss"].to_list()
    assert last["mean"] == pytest.approx(sum(losses) / 5, rel=1e-12)
    # alpha = beta = 1/4 of five clients: the worst one and a quarter of the next
    high, low = sorted(losses, reverse=True), sorted(losses)
    assert last["R"] == pytest.approx((high[0] + high[1] / 4) / (low[0] + low[1] / 4), rel=1e-9)
    assert pytest.approx(last["R"], rel=1e-12) == run.audit(draws=0).R
    assert run.audit(draws=0).split == "valid"


def test_evaluations_are_at_the_rounds_that_the_spec_says_and_at_the_last(tmp_path):
    run = go(tmp_path / "run", changes={"evaluation__every": 3})
    assert run.rounds.filter(pl.col("mean").is_not_null())["round"].to_list() == [0, 3, 4]
    assert run.clients["round"].unique(maintain_order=True).to_list() == [0, 3, 4]


def test_the_folder_is_readable_with_other_programs(tmp_path):
    run = go(tmp_path / "run")
    spec = Spec.load(tmp_path / "run" / "spec.toml")
    assert spec.digest() == tiny.spec().digest()
    env = json.loads((tmp_path / "run" / "env.json").read_text())
    assert {"evenkeel", "commit", "python", "packages", "device", "threads", "data", "sessions"} <= env.keys()
    model = task_of(spec, tiny.federation()).fresh(9)
    model.load_state_dict(load_file(tmp_path / "run" / "final.safetensors"))
    assert torch.equal(torch.cat([p.detach().reshape(-1) for p in model.parameters()]), run.theta)
    assert pl.read_parquet(tmp_path / "run" / "rounds.parquet").schema == pl.Schema(dict(ROUNDS))
    assert pl.read_parquet(tmp_path / "run" / "clients.parquet").schema == pl.Schema(dict(CLIENTS))
    about = pl.read_parquet_metadata(tmp_path / "run" / "rounds.parquet")
    assert about["split"] == "valid"
    assert about["weighting"] == "clients"
    assert "30" not in about["population"] or about["population"] == tiny.federation().origin


def test_bytes_follow_the_formula_of_algorithm_1(tmp_path):
    run = go(tmp_path / "run", changes={"work__steps": 1})
    d, n = run.theta.numel(), 5
    row = run.rounds.row(0, named=True)
    assert row["bytes_down"] == n * (4 * d + 4 * d)  # theta once, c
    # loss; c_i (and its norm's 8 bytes where the step reports one); delta, norm, steps
    vectors, scalars = 2 * 4 * d * n, row["bytes_up"] - 2 * 4 * d * n
    assert row["bytes_up"] == vectors + scalars
    assert scalars % (8 * n) == 0
    assert 3 <= scalars // (8 * n) <= 5


def test_clients_that_miss_a_round_are_counted_and_still_measured(tmp_path):
    run = go(tmp_path / "run", "absent")
    assert run.rounds["absent"].sum() > 0
    assert run.clients.height == 3 * 2 * 5
    assert run.clients["loss"].null_count() == 0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_stops_and_goes_on_without_changing_a_bit(tmp_path, name):
    table = {**tiny.spec().table(), "algorithm": {"name": name}, "rounds": 3}
    spec, data = Spec.of(table), tiny.federation()
    whole = execute(spec, tmp_path / "whole", federation=data)
    with pytest.raises(KeyboardInterrupt):
        execute(spec, tmp_path / "cut", federation=data, observer=Watcher(stop_after=1))
    cut = execute(spec, tmp_path / "cut", federation=data, resume=True)
    assert tiny.fingerprint(cut) == tiny.fingerprint(whole)
    assert [s["round"] for s in cut.env["sessions"]] == [0, 2]


def test_the_start_that_was_handed_in_is_kept_for_a_resume(tmp_path):
    theta = task_of(tiny.spec(), tiny.federation()).init(77)
    whole = go(tmp_path / "whole", start=theta)
    assert tiny.fingerprint(whole) != tiny.fingerprint(go(tmp_path / "other"))
    slow = {"output__checkpoint": 1e9}
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "cut", start=theta, observer=Watcher(stop_after=0), changes=slow)
    for file in checkpoint.found(tmp_path / "cut"):
        file.unlink()
    assert tiny.fingerprint(go(tmp_path / "cut", resume=True, changes=slow)) == tiny.fingerprint(whole)


@pytest.mark.parametrize("harm", ["cut", "flip", "empty"])
@pytest.mark.parametrize("how_many", [1, 2])
def test_a_harmed_checkpoint_is_passed_over_with_a_warning(tmp_path, harm, how_many):
    whole = tiny.fingerprint(go(tmp_path / "whole"))
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "run", observer=Watcher(stop_after=2))
    for file in checkpoint.found(tmp_path / "run")[:how_many]:
        content = bytearray(file.read_bytes())
        if harm == "flip":
            content[len(content) // 2] ^= 1
        file.write_bytes(b"" if harm == "empty" else content[: len(content) // 2] if harm == "cut" else content)
    watcher = Watcher()
    assert tiny.fingerprint(go(tmp_path / "run", resume=True, observer=watcher)) == whole
    assert len(watcher.lines) == how_many
    assert "truncated or altered" in watcher.lines[0]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_single_bit_can_change_unseen(tmp_path, where, bit):
    folder = tmp_path / "run"
    (folder / store.STATE).mkdir(parents=True, exist_ok=True)
    for old in checkpoint.found(folder):
        old.unlink()
    state = {"theta": torch.arange(5.0), "lam": np.linspace(-1, 1, 3), "round": 3}
    good = checkpoint.Checkpoint(round=3, state=state, tables={"a": b"xyz"}, facts={})
    file = checkpoint.keep(folder, good)
    content = bytearray(file.read_bytes())
    content[int(where * len(content))] ^= 1 << bit
    file.write_bytes(content)
    lines = []
    assert checkpoint.newest(folder, lines.append) is None
    assert len(lines) == 1


def test_a_checkpoint_is_read_as_it_was_written(tmp_path):
    state = {
        "theta": torch.randn(7, dtype=torch.float64),
        "empty": torch.zeros((0, 7)),
        "lam": np.array([np.nan, -0.0, 1e-300]),
        "when": np.array([-1, 2**40]),
        "round": 12,
    }
    good = checkpoint.Checkpoint(round=12, state=state, tables={"a.parquet": b"\0\1"}, facts={"k": "v"})
    again = checkpoint.decode(checkpoint.encode(good))
    assert again.round == 12
    assert again.tables == good.tables
    assert again.facts == good.facts
    for name, value in state.items():
        read = again.state[name]
        assert type(read) is type(value)
        if isinstance(value, np.ndarray):
            assert read.dtype == value.dtype
            assert read.tobytes() == value.tobytes()
        elif isinstance(value, torch.Tensor):
            assert read.dtype == value.dtype
            assert read.shape == value.shape
            assert torch.equal(read, value)
        else:
            assert read == value


def test_only_two_checkpoints_are_kept(tmp_path):
    go(tmp_path / "run")
    assert len(checkpoint.found(tmp_path / "run")) == 2


@pytest.mark.parametrize("k", range(1, 20, 3))
def test_a_full_disk_stops_the_run_cleanly_and_it_goes_on_later(tmp_path, monkeypatch, k):
    whole, calls = tiny.fingerprint(go(tmp_path / "whole")), iter(range(10**6))
    fsync = os.fsync

    def full(handle):
        if next(calls) >= k:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RunFailedError, match=r"the disk is full.*last good state is kept") as caught:
            go(tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "run").rglob(".part-*"))
    watcher = Watcher()
    assert tiny.fingerprint(go(tmp_path / "run", resume=True, observer=watcher)) == whole
    assert watcher.lines == []


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting a small disk takes root on Linux")
def test_a_disk_that_is_really_full_stops_the_run_with_its_last_state_whole(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(disk)]).returncode:
        pytest.skip("this machine does not let us mount")
    try:
        big = {"task__hidden": 600, "rounds": 40}
        with pytest.raises(RunFailedError, match="the disk is full"):
            go(disk / "run", changes=big)
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        watcher = Watcher()
        again = tiny.fingerprint(go(disk / "run", resume=True, changes=big, observer=watcher))
        assert watcher.lines == []
        assert again == tiny.fingerprint(go(tmp_path / "whole", changes=big))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


HOLD = """
import sys, time
from pathlib import Path
from evenkeel.runs import store
with store.held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(300)
"""


def test_a_second_process_on_the_same_folder_is_refused_and_death_frees_it(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "run")], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout.readline() == b"held\n"
            for resume in (False, True):
                with pytest.raises(InputError, match="another process is running there"):
                    go(tmp_path / "run", resume=resume)
        finally:
            other.kill()
    assert go(tmp_path / "run").finished


def test_a_folder_that_holds_a_run_or_other_files_is_not_written_into(tmp_path):
    go(tmp_path / "run")
    before = {f: f.read_bytes() for f in (tmp_path / "run").rglob("*") if f.is_file()}
    with pytest.raises(InputError, match="holds a run; continue it with --resume"):
        go(tmp_path / "run")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files"):
        go(tmp_path / "notes")
    assert [f.name for f in (tmp_path / "notes").iterdir()] == ["a.txt"]
    with pytest.raises(InputError, match="is a file"):
        go(tmp_path / "notes" / "a.txt")
    assert before == {f: f.read_bytes() for f in (tmp_path / "run").rglob("*") if f.is_file()}


def test_a_finished_run_is_only_opened(tmp_path):
    go(tmp_path / "run")
    before = {f: f.stat().st_mtime_ns for f in (tmp_path / "run").rglob("*") if f.is_file()}
    assert go(tmp_path / "run", resume=True).finished
    assert before == {f: f.stat().st_mtime_ns for f in (tmp_path / "run").rglob("*") if f.is_file()}


def test_a_run_does_not_go_on_with_another_spec_or_other_data(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "run", observer=Watcher(stop_after=1))
    with pytest.raises(InputError, match=r"algorithm\.phi = 0\.4: the run began with 0\.3"):
        go(tmp_path / "run", resume=True, changes={"algorithm__phi": 0.4})
    with pytest.raises(InputError, match="data are other ones"):
        execute(tiny.spec(), tmp_path / "run", resume=True, federation=tiny.federation(rows=13))


def test_another_version_is_said_when_a_run_goes_on(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "run", observer=Watcher(stop_after=1))
    env = json.loads((tmp_path / "run" / "env.json").read_text())
    env["packages"]["torch"] = "1.0"
    (tmp_path / "run" / "env.json").write_text(json.dumps(env))
    watcher = Watcher()
    go(tmp_path / "run", resume=True, observer=watcher)
    assert len(watcher.lines) == 1
    assert "torch 1.0" in watcher.lines[0]


def test_a_run_that_diverges_names_the_client_and_the_round_and_keeps_its_last_good_state(tmp_path):
    wild = {"algorithm__tau": 1e30, "algorithm__eta": 1e10}
    with pytest.raises(RunFailedError, match=r"client 'c\d' round \d .*last good state is kept") as caught:
        go(tmp_path / "run", changes=wild)
    assert "\n" not in str(caught.value)
    run = Run.open(tmp_path / "run")
    assert not run.finished
    assert bool(torch.isfinite(run.theta).all())
    with pytest.raises(InputError, match="not finished"):
        run.state_dict()
    with pytest.raises(RunFailedError) as again:
        go(tmp_path / "run", changes=wild, resume=True)
    assert str(again.value) == str(caught.value)


def test_an_observer_that_fails_stops_the_run_with_its_state_kept(tmp_path):
    whole = tiny.fingerprint(go(tmp_path / "whole"))
    with pytest.raises(ZeroDivisionError):
        go(tmp_path / "run", observer=Watcher(2, ZeroDivisionError), changes={"output__checkpoint": 1e9})
    assert Run.open(tmp_path / "run").rounds.height == 3
    assert tiny.fingerprint(go(tmp_path / "run", resume=True)) == whole


def test_what_a_program_handed_in_cannot_be_resumed_without_it(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "run", observer=Watcher(stop_after=1))
    with pytest.raises(InputError, match="from that program"):
        execute(Run.open(tmp_path / "run").spec, tmp_path / "run", resume=True)


def test_a_folder_without_a_run_is_one_line(tmp_path):
    with pytest.raises(InputError, match="holds no run"):
        Run.open(tmp_path)


def test_a_run_without_weights_has_none(tmp_path):
    run = go(tmp_path / "run", "fedfv")
    assert run.lam is None
    assert run.rounds["lam_min"].null_count() == run.rounds.height


def test_quiet_warns_as_python_does():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        Quiet().warn("a line")
    assert [str(w.message) for w in seen] == ["a line"]
