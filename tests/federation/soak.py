"""Forty-two faults in one run, with Flower's own clocks: `make soak`. It must end with the bits of a run without any.

From the second round on every site has a fault in every exchange: it raises, dies, hangs, hangs deaf to signals, is
slow, loses its node, its executor or both; in some rounds the server or SuperLink is killed besides, or the server in
the middle of writing a checkpoint. What happens where is drawn from a seed, so that a failure can be repeated.
"""

import json
import random
import time
from collections import Counter

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from evenkeel.federation.journal import read
from tests.federation.deployed import Deployment
from tests.federation.faulty import done
from tests.federation.small import spec
from tests.federation.storms import absent, killed, longest, ordered, site, unlike

NAMES = tuple(f"client-{i}" for i in range(6))
ROUNDS, SEED = 4, 1
DEADLINE, RETRIES = 320.0, 3  # four attempts of 80 s
MOST = 3000.0  # seconds that all of it may take
AT_SITES = ("raise", "die", "hang", "deaf", "slow", "node", "executor", "both")


def at_site(kind, client, phase, round_):
    """One fault of this kind."""
    whom = {"node": ["node"], "executor": ["executor"], "both": ["node", "executor"]}
    if kind in whom:
        return killed([f"{what}-{client}" for what in whom[kind]], client, phase, round_)
    return site(kind, client, phase, round_, seconds=8)


def planned(seed):
    """(kind, fault) of a whole storm; each kind as often as any other, in an order of the seed's."""
    draw = random.Random(seed)
    moments = [(client, phase, r) for r in range(1, ROUNDS) for phase in ("probe", "local") for client in NAMES]
    kinds = [AT_SITES[k % len(AT_SITES)] for k in range(len(moments))]
    draw.shuffle(kinds)
    plan = [(kind, at_site(kind, *moment)) for kind, moment in zip(kinds, moments, strict=True)]
    for kind, phase, round_ in (
        ("server", "probe", 1),
        ("superlink", "local", 1),
        ("server", "local", 2),
        ("superlink", "probe", 3),
    ):
        plan.append((kind, killed([kind], draw.choice(NAMES), phase, round_)))
    plan += [("mid-checkpoint", {"side": "server", "act": "write", "k": k}) for k in (5, 9)]
    draw.shuffle(plan)
    return plan


def test_a_run_through_forty_faults_ends_with_the_bits_of_one_without(tmp_path, capsys):
    plan, begun, tended = planned(SEED), time.monotonic(), []
    made = spec("scaff-pd-ia", len(NAMES), rounds=ROUNDS, engine__deadline=DEADLINE, engine__retries=RETRIES)
    with Deployment(tmp_path / "home", NAMES, hurried=False) as deployment:
        numbers = ordered(deployment.home, [fault for _, fault in plan])
        runs, run = deployment.through(made, tmp_path / "run", MOST, tended)
        happened = set(done(deployment.home))
    told = {
        "faults": Counter(kind for number, (kind, _) in zip(numbers, plan, strict=True) if number in happened),
        "injected": len(happened),
        "flower_runs": runs,
        "restarted": Counter(name.partition("-")[0] for name in tended),
        "seconds": round(time.monotonic() - begun),
        "longest_exchange": longest(tmp_path / "run"),
        "without": {f"round {r}, {phase}": who for (r, phase), who in absent(tmp_path / "run").items()},
        "journal": Counter(line["event"] for line in read(tmp_path / "run")),
    }
    with capsys.disabled():
        print(json.dumps(told, indent=2))
    assert len(happened) >= 40
    assert told["longest_exchange"] < DEADLINE + 60  # what a call to SuperLink may take
    assert unlike(run, made, tmp_path / "run", tmp_path / "loop") == []
