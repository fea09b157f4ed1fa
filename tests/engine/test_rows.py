"""The first layer by rows on federations, rounds and settings that nobody chose: it must agree with the plain loop."""

import numpy as np
import pytest
import torch

from evenkeel.engine import Absent, Engine, Loop, rowspace
from evenkeel.errors import NobodyAnsweredError
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import build
from tests.engine.test_engine import F64, federation

KINDS = {"mlp": 3, "logistic": 3, "ridge": 0, "linear": 0}


def drawn(rng):
    """A task, its rows, and who is there."""
    kind = str(rng.choice(list(KINDS)))
    how = {"hidden": int(rng.integers(1, 7)), "dropout": float(rng.choice([0, 0.5]))} if kind == "mlp" else {}
    l2 = 0.0 if kind == "linear" else float(rng.choice([0, 0.3]))
    task = build(kind, (6,), KINDS[kind], l2=l2, dtype=F64, **how)
    sizes = tuple(int(s) for s in rng.integers(1, 14, rng.integers(1, 9)))
    data = federation(row_shape=(6,), classes=KINDS[kind], sizes=sizes, weighted=bool(rng.integers(2)))
    return task, data, Absent(0.3) if rng.integers(2) else None


def asks(rng, task, n, seed):
    """A round: perhaps a probe, perhaps a gradient, local steps."""
    theta, control = {"theta": task.init(seed)}, int(rng.integers(0, 9))
    weights = rng.normal(size=n) if rng.integers(4) else None
    if rng.integers(2):
        yield Ask("probe", theta)
    if rng.integers(2):
        yield Ask("gradient", theta, weights=weights, config={"batch": control})
    work = {"steps": int(rng.integers(1, 6))} if rng.integers(2) else {"epochs": int(rng.integers(1, 3))}
    more = {"snapshot": int(rng.integers(0, 4))} if rng.integers(3) == 0 else {"divisor": float(rng.integers(0, 3))}
    config = {"eta": 0.05, "batch": int(rng.integers(0, 9)), "control_batch": control, **work, **more}
    c = {"c": torch.from_numpy(rng.normal(size=task.d) / 10)} if rng.integers(4) else {}
    own = {"c_i": torch.from_numpy(rng.normal(size=(n, task.d)) / 10)} if c and rng.integers(4) == 0 else {}
    yield Ask("local", theta | c, own, weights=weights, config=config)


@pytest.mark.parametrize("seed", range(24))
def test_whatever_is_asked_the_loop_says_the_same(monkeypatch, seed):
    monkeypatch.setattr(rowspace.Work, "cheaper_in_rows", lambda work: True)
    rng = np.random.default_rng(seed)
    task, data, there = drawn(rng)
    workers, memory = int(rng.integers(1, 4)), int(rng.choice([2**31, 40_000]))
    engine = Engine(task, data, workers=workers, memory=memory, attendance=there)
    engine.path.kept.gram_room = int(rng.choice([0, 500, 2**20]))
    loop = Loop(task, data, attendance=there)
    for r in range(3):
        for ask in asks(rng, task, data.n, r):
            try:
                right = loop.answer(ask, Key(1, r))
            except NobodyAnsweredError:
                continue
            found = engine.answer(ask, Key(1, r))
            assert np.array_equal(found.who, right.who)
            assert found.values.keys() == right.values.keys()
            for name, value in right.values.items():
                np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-10, err_msg=name)
