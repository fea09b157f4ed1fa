"""The transport against the plain loop, and whole runs against the engine; bound to loopback; refusals."""

import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from evenkeel.cluster import Cluster, group, link
from evenkeel.data.mapped import write_federation
from evenkeel.engine import Absent, Engine, Loop
from evenkeel.errors import InputError, RunFailedError
from evenkeel.protocol import Key
from evenkeel.runs import Run, Spec, execute, federation_of, task_of
from tests.clients.toy import SIZES, federation
from tests.engine.test_engine import CONFIGS, TASKS, question, same
from tests.runs import tiny
from tests.runs_many import small
from tests.scale.test_stores import memory

from .sockets import children, listening

KEY = Key(17, 6)


@pytest.fixture(scope="module")
def toy(ray):
    task, row_shape, classes = TASKS["mlp"]
    data = federation(row_shape=row_shape, classes=classes, weighted=True)
    cluster = Cluster(task, data, workers=2)
    yield task, data, cluster
    cluster.close()


def test_every_phase_agrees_with_the_loop(toy):
    task, data, cluster = toy
    loop = Loop(task, data)
    for phase, config in CONFIGS:
        local = phase == "local"
        for given in ({}, {"weights": True, "c": local}, {"who": np.array([0, 1, 3]), "weights": True, "c": local}):
            ask = question(task, phase, config, **given)
            same(cluster.answer(ask, KEY), loop.answer(ask, KEY))
    for who in (None, np.array([4])):  # rows of each client's own; a worker without anybody to ask
        ask = question(task, "local", {"eta": 0.1, "steps": 2}, c=True, own=True, who=who)
        same(cluster.answer(ask, KEY), loop.answer(ask, KEY))


def test_who_is_there_is_settled_before_anybody_is_asked(toy):
    task, data, cluster = toy
    ask, away = question(task, "gradient", {"batch": 3}, weights=True), Absent(0.5)
    same(replace(cluster, attendance=away).answer(ask, KEY), Loop(task, data, attendance=away).answer(ask, KEY))


def test_shared_vectors_are_put_once_a_round_and_again_when_they_change(toy):
    task, _, cluster = toy
    before, theta = cluster.traffic.put, task.init(3)
    size = theta.numel() * theta.itemsize
    for phase in ("probe", "gradient", "local"):
        ask = question(task, phase, {"eta": 0.1, "steps": 1} if phase == "local" else {}, weights=True)
        cluster.answer(ask._replace(shared={"theta": theta}), KEY)
    assert cluster.traffic.put - before == size
    theta.mul_(2)
    first = question(task, "probe", {})._replace(shared={"theta": theta})
    same(cluster.answer(first, KEY), Loop(task, cluster.federation).answer(first, KEY))
    assert cluster.traffic.put - before == 2 * size


def test_what_a_worker_refuses_is_refused_here_in_its_words(toy):
    task, _, cluster = toy
    with pytest.raises(InputError, match="did you mean 'local'"):
        cluster.answer(question(task, "local", {"eta": 0.1, "steps": 1})._replace(phase="lokal"), KEY)
    wrong = {"theta": task.init(0) * float("nan")}
    with pytest.raises(RunFailedError, match="diverged: client 'site-0' round 6 loss nan"):
        cluster.answer(question(task, "probe", {})._replace(shared=wrong), KEY)


def test_a_worker_with_other_data_is_not_believed(ray):
    task, row_shape, classes = TASKS["linear"]
    data, other = (federation(row_shape=row_shape, classes=classes, seed=seed) for seed in (0, 1))
    cluster = Cluster(task, data, workers=1, load=lambda: other)
    with pytest.raises(RunFailedError, match="clients 0 to 4: the data at this worker are other ones"):
        cluster.answer(question(task, "probe", {}), KEY)


def test_more_workers_than_cores_are_refused_with_a_remedy(ray):
    task, row_shape, classes = TASKS["linear"]
    cluster = Cluster(task, federation(row_shape=row_shape, classes=classes), workers=len(SIZES))
    with pytest.raises(RunFailedError, match="5 workers on 4 cores: each needs one; add nodes"):
        cluster.answer(question(task, "probe", {}), KEY)


@pytest.mark.parametrize("name", ["scaff-pd-ia", "scaffold-2020", "fedfv", "absent"])
def test_a_run_on_the_cluster_is_the_run_of_the_engine(ray, tmp_path, name):
    data = tiny.federation()
    given = {"data": data, "task__dtype": "float64"}
    alone, spread = (
        execute(
            tiny.spec(
                name, **{k: v for k, v in given.items() if k != "data"}, engine__transport=how, engine__workers=2
            ),
            tmp_path / how,
            federation=data,
        )
        for how in ("engine", "ray")
    )
    torch.testing.assert_close(spread.theta, alone.theta, rtol=1e-10, atol=1e-12)
    if alone.lam is not None:
        np.testing.assert_allclose(spread.lam, alone.lam, rtol=1e-10, atol=1e-12)
    columns = ["asked", "absent", "bytes_down", "bytes_up"]
    assert spread.rounds[columns].equals(alone.rounds[columns])
    assert {f.name for f in spread.folder.iterdir()} == {f.name for f in alone.folder.iterdir()}


@pytest.mark.parametrize("source", ["penguins", "mapped"])
def test_workers_that_load_what_the_spec_names_have_the_same_bits_as_those_that_are_sent_it(ray, tmp_path, source):
    spec, who = Spec.preset("penguins"), None
    if source == "mapped":  # a cohort of a store: neither is all of it read, nor are all asked
        write_federation(tmp_path / "store", memory())
        store = {"source": "mapped", "store": str(tmp_path / "store")}
        spec, who = Spec.of({"data": store, "task": {"model": "linear"}}), np.array([2, 3, 17, 29])
    data = federation_of(spec)
    task = task_of(spec, data)
    ask = question(task, "gradient", {"batch": 5}, n=data.n, who=who, weights=True)
    told = []
    for load in (partial(federation_of, spec), None):
        cluster = Cluster(task, data, workers=2, load=load)
        told.append(cluster.answer(ask, KEY))
        cluster.close()
    alone = Engine(task, data, workers=1).answer(ask, KEY)
    for name in alone.values:
        assert np.array_equal(told[0][name], told[1][name])
        np.testing.assert_allclose(told[0][name], alone[name], rtol=1e-5, atol=1e-6)


def test_a_worker_that_cannot_begin_says_why_at_once(ray, monkeypatch):
    """As on a node where evenkeel is not installed."""

    class Missing:
        def __init__(self):
            raise ModuleNotFoundError("No module named 'evenkeel'")

        def ready(self): ...
        def begin(self, *rows): ...

    monkeypatch.setattr(group, "Worker", Missing)
    task, row_shape, classes = TASKS["linear"]
    cluster = Cluster(task, federation(row_shape=row_shape, classes=classes), workers=1)
    with pytest.raises(RunFailedError, match=r"cannot begin \(.*No module named 'evenkeel'\); each node needs"):
        cluster.answer(question(task, "probe", {}), KEY)


def test_one_cluster_takes_runs_sweeps_and_searches_by_its_address(ray, tmp_path):
    """Each command in a process of its own, as a shell would start it; sweeps and searches end in the same bits."""
    address = ray.get_runtime_context().gcs_address
    (file,) = small.written(tmp_path, small.spec())
    commands = {"run": [], "sweep": ["--phi", "0,0.2"], "tune": ["--trials", "2"]}
    for name, more in commands.items():
        words = [name, file, *more, "--quiet", "--out"]
        there = [*words, tmp_path / "there" / name, "--on", "ray", "--address", address]
        if name == "run":
            there += ["--workers", "2"]
        done = subprocess.run([sys.executable, "-m", "evenkeel", *there], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert small.command(*words, tmp_path / "here" / name).exit_code == 0
    folders = [f.parent.relative_to(tmp_path / "here") for f in (tmp_path / "here").rglob("env.json")]
    assert len(folders) >= 5
    for folder in folders:
        here, there = (Run.open(tmp_path / where / folder) for where in ("here", "there"))
        if folder.parts[0] == "run":
            torch.testing.assert_close(there.theta, here.theta, rtol=1e-5, atol=1e-6)
        else:
            assert tiny.fingerprint(there) == tiny.fingerprint(here)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_everything_that_listens_does_so_on_loopback(toy):
    _, _, cluster = toy
    assert cluster.group
    found = listening(children())
    assert len(found) >= 4  # the store of facts, the node, the workers
    assert {host for host, _ in found} <= {"127.0.0.1", "::1"}


def test_without_ray_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'evenkeel\[ray\]'"):
        link.imported()


def test_a_cluster_that_is_not_there_is_one_line(monkeypatch):
    class Nobody:
        @staticmethod
        def is_initialized():
            return False

        @staticmethod
        def init(**_):
            raise ConnectionError("ray cannot find a node\nand a page of advice")

    monkeypatch.setattr(link, "imported", lambda: Nobody)
    with pytest.raises(
        InputError, match=r"no Ray cluster answers there from this machine \(ray cannot find a node\); "
    ):
        link.take("10.9.8.7:6379", 1)
