"""The engine on another device: nothing near is mixed with what is far, and only what must cross does, once.

The far device is a fake (`far.py`): it shows where numbers cross, and cannot show speed. Tests of CUDA skip here.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from evenkeel.algorithms import Work, algorithm
from evenkeel.cluster.worker import Question, Share, Worker
from evenkeel.engine import Engine, Loop
from evenkeel.errors import InputError
from evenkeel.protocol import Key
from evenkeel.runs import Spec
from evenkeel.runs.parts import device
from evenkeel.tasks import build
from tests.algorithms.running import run
from tests.algorithms.test_contract import DATA
from tests.scale.far import DEVICE, Far, FarAway, Inline, far, near

FEW = Work(batch=3, steps=3, control_batch=3)
ROWS = Work(batch=0, steps=12, control_batch=0)  # so much work on so few rows that the first layer is in row space
NAMES = ["scaff-pd-ia", "scaffold-2020", "fedavg", "fedsgd", "drfa", "q-fedavg", "fedfv", "safl"]


def task_of(name="mlp", **options):
    shown = options if name != "mlp" else {"hidden": 5} | options
    return build(name, tuple(DATA.x.shape[1:]), DATA.classes, **shown)


def far_engine(task, data=DATA, **how):
    engine = Engine(task, data, workers=1, **how)
    engine.__dict__["pool"] = Inline()
    return engine


def far_run(task, alg, rounds, data=DATA, **how):
    """The end of a run on the far device, and what crossed in its last round."""
    with FarAway() as mode:
        there = replace(task, device=DEVICE)
        engine, start = far_engine(there, data, **how), far(task.init(0))
        before, _ = run(alg, engine, start, rounds - 1)
        mode.seen.there.clear(), mode.seen.back.clear(), mode.seen.waits.clear()
        states, _ = run(alg, far_engine(there, data, **how), start, rounds)
        seen = mode.seen
    return before, states, seen


@pytest.mark.parametrize("work", [FEW, ROWS])
@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm_runs_far_away_and_ends_where_it_does_here(name, work):
    task = task_of(dropout=0.5)
    alg = algorithm(name, DATA.train.sizes, work=work)
    states, _ = run(alg, Engine(task, DATA, workers=1), task.init(0), 3)
    _, away, _ = far_run(task, alg, 3)
    assert isinstance(away[-1].theta, Far)
    torch.testing.assert_close(near(away[-1].theta), states[-1].theta, atol=1e-6, rtol=1e-6)


def test_only_numbers_of_clients_come_back_and_only_what_was_drawn_goes_there():
    """A round of Scaff-PD-IA with one chunk of 6 clients: what crosses is a few numbers a client, never a vector."""
    task, alg = task_of(dropout=0.5), algorithm("scaff-pd-ia", DATA.train.sizes, work=FEW)
    rows, n, d = len(DATA.train.rows), DATA.n, task.d
    with FarAway() as mode:
        engine, start = far_engine(replace(task, device=DEVICE)), far(task.init(0))
        (first, *_), _ = run(alg, engine, start, 1)  # lays the rows out there, once
        mode.seen.there.clear(), mode.seen.back.clear(), mode.seen.waits.clear()
        run(alg, engine, first.theta, 1, seed=1)
        seen = mode.seen
    # probe: a loss a row; gradient: norm and loss a client; local: norm a client
    assert dict(seen.back) == {(rows, 1): 1, (n,): 3}
    # each ask with vectors: places and factors of its batches, masks, the weights of the sum; no rows
    assert dict(seen.there) == {(n, 1, 3): 2, (n, 1, 3, 5): 1, (n, 3, 3): 2, (n, 3, 3, 5): 1, (n,): 2}
    # one look a sum whether it is finite, one an ask whether θ is the same as before
    assert seen.waits == {"aten._local_scalar_dense": 2, "aten.equal": 3}
    assert not any(d in shape for shape in [*seen.back, *seen.there])


def test_a_worker_of_a_cluster_brings_what_it_is_sent_to_its_device():
    task = task_of(dropout=0.5)
    theta = task.init(0).numpy()
    asks = {
        "probe": ({}, ("theta",)),
        "gradient": ({"batch": 3}, ("theta",)),
        "local": ({"eta": 0.1, "batch": 3, "steps": 2, "control_batch": 3}, ("theta", "c")),
    }
    share = Share(first=0, last=DATA.n, expected="", memory=2**30)

    def told(device):
        worker, answers = Worker(), []
        worker.begin(share, replace(task, device=device), DATA)
        worker.engine.__dict__["pool"] = Inline()
        for phase, (config, names) in asks.items():
            weights = None if phase == "probe" else np.ones(DATA.n)
            q = Question(phase=phase, config=config, who=None, weights=weights, each={}, names=names)
            answers.append(worker.answer(q, Key(0, 1), *[theta] * len(names)))
        return answers

    here = told("cpu")
    with FarAway() as mode:
        away = told(DEVICE)
    for a, b in zip(here, away, strict=True):
        for mine, theirs in ((a.scalars, b.scalars), (a.vectors, b.vectors)):
            assert mine.keys() == theirs.keys()
            for name in mine:
                np.testing.assert_allclose(theirs[name], mine[name], rtol=1e-5, atol=1e-7)
    vectors = {"there": mode.seen.there[task.d,], "back": mode.seen.back[task.d,]}
    assert vectors == {"there": 4, "back": 2}  # θ with each ask and c; a sum of gradients and one of steps


def test_steps_cost_no_crossings():
    """Ten times the local steps cross as often: nothing is fetched or awaited inside of them."""
    counts = []
    for steps in (2, 20):
        work = Work(batch=3, steps=steps, control_batch=3)
        _, _, seen = far_run(task_of(dropout=0.0), algorithm("scaff-pd-ia", DATA.train.sizes, work=work), 2)
        counts.append([sum(c.values()) for c in (seen.there, seen.back, seen.waits)])
    assert counts[0] == counts[1]


def test_rows_that_stay_on_the_host_are_brought_batch_by_batch():
    task, alg = task_of(dropout=0.0), algorithm("scaff-pd-ia", DATA.train.sizes, work=FEW)
    states, _ = run(alg, Engine(task, DATA, workers=1), task.init(0), 3)
    _, away, seen = far_run(task, alg, 3, replace(DATA, digest="mapped"))
    torch.testing.assert_close(near(away[-1].theta), states[-1].theta, atol=1e-6, rtol=1e-6)
    assert all(shape[0] < len(DATA.x) or shape[1:] != DATA.x.shape[1:] for shape in seen.there)


def test_a_fake_that_hides_a_copy_would_be_seen():
    with FarAway() as mode:
        x = far(torch.ones(4))
        x.cpu()
        float(x.sum())
        x.copy_(torch.zeros(4))
        with pytest.raises(RuntimeError, match="near and far"):
            x + torch.ones(4)
    assert (dict(mode.seen.back), dict(mode.seen.there)) == ({(4,): 1}, {(4,): 1})
    assert mode.seen.waits == {"aten._local_scalar_dense": 1}


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="knows no such device"):
        device("gpu")
    assert Spec.of({"engine": {"device": "cpu"}}).digest() == Spec().digest()  # how, not what
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="sees no CUDA device"):
            device("cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device; there is none here")
@pytest.mark.parametrize("name", NAMES)
def test_cuda_ends_where_the_plain_loop_does(name):
    task = task_of(dropout=0.5)
    alg = algorithm(name, DATA.train.sizes, work=FEW)
    here, _ = run(alg, Loop(task, DATA), task.init(0), 3)
    there = replace(task, device="cuda")
    for data in (DATA, replace(DATA, digest="mapped")):
        states, _ = run(alg, Engine(there, data), task.init(0).cuda(), 3)
        torch.testing.assert_close(states[-1].theta.cpu(), here[-1].theta, atol=1e-4, rtol=1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device; there is none here")
def test_cuda_loads_through_pinned_memory():
    table = Engine(replace(task_of(), device="cuda"), replace(DATA, digest="mapped")).train
    picked = table._picked(table.x, torch.arange(4))
    assert picked.is_pinned()
    assert table.inputs(torch.arange(4)).device.type == "cuda"
