"""What every registered algorithm must satisfy, on whatever transport."""

import inspect
import io

import numpy as np
import pytest
import torch

from evenkeel.algorithms import ALGORITHMS, Ball, Box, Work, algorithm
from evenkeel.data.shards import Federation, Shards
from evenkeel.engine import Absent, Engine, Loop
from evenkeel.errors import InputError
from evenkeel.protocol import Key, drive
from evenkeel.tasks import build
from tests.algorithms.running import run
from tests.clients.toy import federation

EVERY = sorted(ALGORITHMS)
DUAL = ["drfa", "safl", "scaff-pd", "scaff-pd-ia", "scaffold"]
DATA = federation(sizes=(7, 1, 12, 4, 9, 6))
TASK = build("mlp", (6,), 3, hidden=4, dtype=torch.float64)
THETA = TASK.init(0)


def made(name, **parameters):
    work = parameters.pop("work", Work(batch=3, steps=3, control_batch=3))
    alpha = {"alpha": 0.34} if name in {"drfa", "safl", "scaff-pd", "scaff-pd-ia"} else {}
    sigma = {"sigma": 0.05} if alpha else {}
    return algorithm(name, DATA.train.sizes, work=work, **alpha, **sigma, **parameters)


def tensors(state):
    return {name: getattr(state, name) for name in state.__dataclass_fields__}


def assert_same(one, other, tol=0.0):
    for name, value in tensors(one).items():
        if value is None:  # who was heard when, without cohorts
            assert tensors(other)[name] is None
            continue
        np.testing.assert_allclose(np.asarray(value), np.asarray(tensors(other)[name]), rtol=0, atol=tol, err_msg=name)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("work", [Work(batch=3, steps=3, control_batch=3), Work(batch=4, epochs=2, control_batch=0)])
def test_engine_agrees_with_the_loop(name, work):
    one, _ = run(made(name, work=work), Loop(TASK, DATA), THETA, 3)
    other, _ = run(made(name, work=work), Engine(TASK, DATA), THETA, 3)
    assert_same(one[1], other[1], 1e-10)
    assert_same(one[-1], other[-1], 1e-9)


@pytest.mark.parametrize("name", EVERY)
def test_engine_agrees_with_the_loop_when_clients_are_away(name):
    away = Absent(0.3)
    one, one_info = run(made(name), Loop(TASK, DATA, attendance=away), THETA, 4)
    other, other_info = run(made(name), Engine(TASK, DATA, attendance=away), THETA, 4)
    assert [i["who"].tolist() for i in one_info] == [i["who"].tolist() for i in other_info]
    assert_same(one[-1], other[-1], 1e-9)


@pytest.mark.parametrize("name", EVERY)
def test_a_saved_state_goes_on_bit_for_bit(name):
    alg, transport = made(name), Loop(TASK, DATA)
    states, _ = run(alg, transport, THETA, 4)
    box = io.BytesIO()
    torch.save(tensors(states[2]), box)
    box.seek(0)
    state = type(states[2])(**torch.load(box, weights_only=False))
    for r in (2, 3):
        key = Key(0, r)
        state = drive(alg.round(state, key), lambda ask, key=key: transport.answer(ask, key)).state
    assert_same(state, states[4])


@pytest.mark.parametrize("name", EVERY)
def test_a_round_leaves_its_state_untouched_and_repeats(name):
    alg, transport, key = made(name), Loop(TASK, DATA), Key(5, 0)
    state = alg.init(THETA.clone(), DATA.n)
    before = {k: np.asarray(v).copy() for k, v in tensors(state).items()}
    once, again = (drive(alg.round(state, key), lambda ask: transport.answer(ask, key)).state for _ in range(2))
    assert_same(once, again)
    for k, v in tensors(state).items():
        np.testing.assert_array_equal(np.asarray(v), before[k])


@pytest.mark.parametrize("name", DUAL)
def test_weights_sum_to_one_and_stay_in_their_set_every_round(name):
    alg = made(name)
    states, _ = run(alg, Loop(TASK, DATA, attendance=Absent(0.2)), THETA, 12)
    for state in states:
        assert abs(state.lam.sum() - 1) <= 1e-10
        assert alg.ambiguity.contains(state.lam, 1e-10)
    assert name == "scaffold" or np.ptp(states[-1].lam) > 1e-3  # the weights did move


def permuted(data, order):
    return Federation(
        x=data.x,
        y=data.y,
        train=Shards.of([data.train[i] for i in order]),
        valid=Shards.of([data.valid[i] for i in order]),
        names=tuple(data.names[i] for i in order),
        classes=data.classes,
    )


@pytest.mark.parametrize("name", sorted(set(EVERY) - {"drfa"}))  # DRFA draws its walkers by number
def test_permuting_clients_permutes_their_weights_and_nothing_else(name):
    order = np.random.default_rng(0).permutation(DATA.n)
    alg = made(name, work=Work(batch=0, steps=2, control_batch=0, dropout=False))
    one, _ = run(alg, Loop(TASK, DATA), THETA, 4)
    other, _ = run(alg, Loop(TASK, permuted(DATA, order)), THETA, 4)
    np.testing.assert_allclose(one[-1].theta, other[-1].theta, atol=1e-10)
    if name in DUAL:
        np.testing.assert_allclose(one[-1].lam[order], other[-1].lam, atol=1e-10)


@pytest.mark.parametrize("name", EVERY)
def test_the_region_holds_and_the_round_says_when_it_binds(name):
    tight, wide = float(torch.linalg.vector_norm(THETA)) * 0.9, 1e6
    bound, infos = run(made(name, region=Ball(tight)), Loop(TASK, DATA), THETA, 2)
    assert all(float(torch.linalg.vector_norm(s.theta)) <= tight * (1 + 1e-12) for s in bound[1:])
    assert infos[0]["theta_bound"]
    free, free_infos = run(made(name, region=Box(-wide, wide)), Loop(TASK, DATA), THETA, 2)
    assert not any(i["theta_bound"] for i in free_infos)
    assert_same(free[-1], run(made(name), Loop(TASK, DATA), THETA, 2)[0][-1])


@pytest.mark.parametrize("name", ["fedsgd", "fedavg", "scaffold-2020", "q-fedsgd", "q-fedavg", "fedfv", "drfa"])
def test_a_cohort_is_as_large_as_asked_and_changes_from_round_to_round(name):
    _, infos = run(made(name, cohort=2), Loop(TASK, DATA), THETA, 8)
    sizes = {len(i["who"]) for i in infos}
    assert sizes == {2} if name != "drfa" else sizes <= {1, 2}  # DRFA draws with replacement
    assert len({tuple(i["who"]) for i in infos}) > 1


def test_an_unknown_name_or_parameter_is_refused_with_the_nearest_one():
    with pytest.raises(InputError, match="did you mean 'scaff-pd-ia'"):
        algorithm("scaff-pd-ai", DATA.train.sizes)
    with pytest.raises(InputError, match="unknown parameter 'ph'; did you mean 'phi'"):
        algorithm("scaff-pd-ia", DATA.train.sizes, ph=0.2)
    with pytest.raises(InputError, match="unknown parameter 'cohorts'; did you mean 'cohort'"):
        algorithm("fedavg", DATA.train.sizes, cohorts=2)
    with pytest.raises(InputError, match="q-fedavg: unknown parameter 'local'"):
        algorithm("q-fedavg", DATA.train.sizes, local=False)


@pytest.mark.parametrize("name", EVERY)
def test_a_hyper_parameter_that_breaks_its_rule_is_refused_before_any_round(name):
    entry = ALGORITHMS[name]
    takes = set(inspect.signature(entry.takes).parameters) | set(entry.more)
    nan, inf = float("nan"), float("inf")
    wrong = {
        "eta": (0.0, -1.0, nan, inf, "x"),
        "sigma": (-1.0, nan, inf),
        "psi": (-1.0, nan),
        "tau": (-1.0, nan, "x"),
        "rate": (0.0, nan),
        "q": (-1.0, nan, inf),
        "cohort": (-1, 1.5, True),
        "memory": (-1, 0.5),
        "alpha": (-0.1, 1.1, nan),
        "phi": (1.0, -0.1, nan),
    }
    if name in {"scaffold", "scaff-pd", "scaff-pd-ia"}:
        wrong["eta"] = wrong["eta"][1:]  # a schedule may stand still; the client step refuses it
    for option in takes & wrong.keys():
        for value in wrong[option]:
            with pytest.raises(InputError, match=rf"(?m)^[^\n]*{option} = [^\n]*$"):
                algorithm(name, DATA.train.sizes, **{option: value})


@pytest.mark.parametrize("given", [{"batch": -1}, {"steps": -1}, {"epochs": 1.5}, {"divisor": -1}, {"epochs": 0}])
def test_local_work_that_nobody_could_do_is_refused(given):
    with pytest.raises(InputError, match=next(iter(given))):
        Work(**given)
