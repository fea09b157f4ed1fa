"""Stores answer as the same rows in memory do, and nobody looks at rows of clients that are not asked."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from evenkeel.algorithms import Work, algorithm
from evenkeel.data.build import build
from evenkeel.data.columns import Column
from evenkeel.data.mapped import Block, dealt, open_store, write, write_federation
from evenkeel.data.source import from_tensors
from evenkeel.engine import Engine
from evenkeel.errors import InputError
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import build as task_of
from tests.algorithms.running import run


def memory(n=30, rows=400):
    gen = np.random.default_rng(0)
    x = gen.normal(size=(rows, 6)).astype(np.float32)
    return build(from_tensors(x, gen.integers(0, 3, rows), classes=3), partition="dirichlet", n=n)


def test_a_run_on_a_store_ends_in_the_same_bits_as_in_memory(tmp_path):
    data = memory()
    stored = open_store(write_federation(tmp_path / "store", data, at_once=7))
    task = task_of("mlp", (6,), 3, hidden=5, dropout=0.5)
    alg = algorithm("scaff-pd-ia", data.train.sizes, cohort=8, work=Work(batch=4, steps=3, control_batch=4))
    states = [run(alg, Engine(task, f, workers=1), task.init(0), 6)[0][-1] for f in (data, stored)]
    assert torch.equal(states[0].theta, states[1].theta)
    np.testing.assert_array_equal(states[0].lam, states[1].lam)


def test_a_store_holds_what_was_written(tmp_path):
    data = memory()
    stored = open_store(write_federation(tmp_path / "store", data, at_once=7))
    assert list(stored.names) == list(data.names)
    assert (stored.classes, stored.origin) == (data.classes, data.origin)
    for ours, theirs in ((data.train, stored.train), (data.valid, stored.valid)):
        for i in range(data.n):
            torch.testing.assert_close(stored.x[theirs[i]], data.x[ours[i]])
            torch.testing.assert_close(stored.y[theirs[i]], data.y[ours[i]])
    same = open_store(write_federation(tmp_path / "again", data, at_once=30))
    assert same.digest == stored.digest  # blocks are how it was written, not what


def test_one_changed_row_is_another_digest(tmp_path):
    data = memory()
    digest = open_store(write_federation(tmp_path / "a", data)).digest
    data.x[17, 2] += 1
    assert open_store(write_federation(tmp_path / "b", data)).digest != digest


def resident():
    """Bytes of memory this process has, mapped pages that were read included."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_a_round_of_a_store_larger_than_memory_reads_the_asked_rows_alone(tmp_path):
    """64 GiB of rows in a sparse file: whoever touched them all would be seen, or end the process."""
    clients, width = 2**20, 2**14
    for name, dtype, row in (("x", np.float32, (width,)), ("y", np.int64, ())):
        with Column(tmp_path / f"{name}.npy", dtype, row) as column:
            column.rows = clients
        head = (tmp_path / f"{name}.npy").stat().st_size
        os.truncate(tmp_path / f"{name}.npy", head + clients * int(np.prod(row)) * np.dtype(dtype).itemsize)
    tables = {"train": (0, clients), "train_offsets": (0, clients + 1), "valid": (0, 0)}
    for name, (low, high) in tables.items():
        np.save(tmp_path / f"{name}.npy", np.arange(low, high))
    np.save(tmp_path / "valid_offsets.npy", np.zeros(clients + 1, np.int64))
    files = ["x", "y", *tables, "valid_offsets"]
    facts = {"format": 1, "classes": 2, "origin": "zeros", "files": files, "named": False, "digest": "0"}
    (tmp_path / "store.json").write_text(json.dumps(facts))

    data, task = open_store(tmp_path), task_of("linear", (width,), 2)
    engine, alg = Engine(task, data, workers=1), algorithm("scaff-pd-ia", np.ones(clients), cohort=50)
    before = resident()
    _, infos = run(alg, engine, task.init(0), 2)
    assert len(infos[-1]["who"]) in (49, 50)
    assert infos[-1]["unheard"] == clients - len(infos[0]["who"]) - len(infos[1]["who"])
    assert resident() - before < 2**30  # λ, losses, offsets of 2²⁰ clients are 8 MiB each
    probe = engine.answer(Ask("probe", {"theta": torch.zeros(task.d)}, who=np.array([7, clients - 1])), Key(0, 0))
    np.testing.assert_allclose(probe["loss"], np.log(2), rtol=1e-6)


def test_blocks_are_dealt_by_client_and_row_not_by_block():
    x, sizes = np.arange(12.0)[:, None], np.array([5, 1, 6])
    whole = dealt(x, x[:, 0], sizes, first=0)
    parts = [dealt(x[:6], x[:6, 0], sizes[:2], first=0), dealt(x[6:], x[6:, 0], sizes[2:], first=2)]
    np.testing.assert_array_equal(whole.x, np.concatenate([p.x for p in parts]))
    assert whole.train.tolist() == [4, 1, 4]
    assert sorted(whole.y[:5]) == [0, 1, 2, 3, 4]


GOOD = Block(np.zeros((3, 2), np.float32), np.array([0, 1, 1]), np.array([2]), np.array([1]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.full((3, 2), np.nan, np.float32)}, "x holds NaN or infinity"),
        ({"y": np.array([0, 2, 1])}, "labels must lie in 0…1"),
        ({"train": np.array([0]), "valid": np.array([3])}, "without training rows"),
        ({"valid": np.array([2])}, "must be as many"),
        ({"names": ("a", "b")}, "2 names for 1 clients"),
    ],
)
def test_rows_that_memory_would_refuse_are_refused_when_written(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        write(tmp_path / "store", [GOOD._replace(**change)], classes=2, origin="")


def test_no_store_a_folder_in_use_and_a_short_file_are_refused(tmp_path):
    with pytest.raises(InputError, match="holds no store"):
        open_store(tmp_path)
    place = write(tmp_path / "store", [GOOD], classes=2, origin="")
    with pytest.raises(InputError, match="is there already"):
        write(place, [GOOD], classes=2, origin="")
    os.truncate(place / "x.npy", (place / "x.npy").stat().st_size - 4)
    with pytest.raises(InputError, match="cannot be mapped"):
        open_store(place)
