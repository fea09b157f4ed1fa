"""Theorem «generalization»: the gap between fresh rows and training rows of synthetic clients, against its bound.

Each client of Synthetic(.5, .5) has its own linear rule in five features; one linear classifier is trained for all by
Scaff-PD-IA on N rows a client. The loss of the theorem is 0 or 1, and 𝒢, the errors of half-spaces, has VC dimension
six. Measured is max over λ in Λ of L_λ(h) − L_λ,Nn(h) at the trained h, L_λ from 20,000 fresh rows a client; the
theorem bounds it for all h at once, so the trained one is a lower end.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from evenkeel.algorithms import Work
from evenkeel.algorithms.primal_dual import scaff_pd_ia
from evenkeel.data.shards import Federation, Shards
from evenkeel.data.sources.synthetic import draw
from evenkeel.engine import Engine
from evenkeel.protocol import Ask, Key, drive
from evenkeel.sets import CVaR, Integrated
from evenkeel.tasks import build
from evenkeel.theory import gap

FEATURES, ALPHA, DELTA, EPS = 5, 0.2, 0.05, 0.01
FRESH = {"quick": 4000, "full": 20_000}
ROUNDS = {"quick": 20, "full": 40}
PHIS = (0.0, 0.2, 0.5)


class Size(NamedTuple):
    """N rows for each of n clients."""

    N: int
    n: int


SIZES = {"quick": (Size(50, 20), Size(200, 20)), "full": (Size(50, 20), Size(200, 20), Size(800, 20), Size(50, 80))}
SEEDS = {"quick": 2, "full": 5}


def study(*, quick: bool = False) -> list[dict[str, Any]]:
    """For each size and φ: the gaps measured over seeds, and the bound."""
    how = "quick" if quick else "full"
    rows = []
    for size in SIZES[how]:
        drawn = [federation(size, FRESH[how], seed) for seed in range(SEEDS[how])]
        for phi in PHIS:
            ambiguity = Integrated(CVaR(size.n, ALPHA), CVaR(size.n, ALPHA), phi)
            found = [measured(f, ambiguity, ROUNDS[how], seed) for seed, f in enumerate(drawn)]
            rows.append(
                {
                    **size._asdict(),
                    "phi": phi,
                    "skewness": ambiguity.skewness,
                    "gaps": found,
                    "mean": float(np.mean(found)),
                    "bound": gap(ambiguity, N=size.N, vc=FEATURES + 1, eps=EPS, delta=DELTA),
                }
            )
    return rows


def federation(size: Size, fresh: int, seed: int) -> Federation:
    """Training rows first, then fresh rows of the same clients, as validation."""
    clients = [
        draw(seed, k, rows=size.N + fresh, alpha=0.5, beta=0.5, features=FEATURES, classes=2) for k in range(size.n)
    ]
    starts = np.arange(size.n) * (size.N + fresh)
    return Federation(
        x=torch.from_numpy(np.concatenate([c.x for c in clients])),
        y=torch.from_numpy(np.concatenate([c.y for c in clients])),
        train=Shards.of([np.arange(s, s + size.N) for s in starts]),
        valid=Shards.of([np.arange(s + size.N, s + size.N + fresh) for s in starts]),
        names=tuple(f"client {k}" for k in range(size.n)),
        classes=2,
        origin=f"synthetic(0.5, 0.5), {size.n} clients, {size.N} training and {fresh} fresh rows each",
    )


def measured(clients: Federation, ambiguity: Integrated, rounds: int, seed: int) -> float:
    """max over λ in Λ of Σλ_i(fresh error − training error), at the model trained with this Λ."""
    task = build("logistic", (FEATURES,), 2, l2=1e-3, dtype=torch.float64)
    algorithm = scaff_pd_ia(
        clients.n,
        alpha=ALPHA,
        phi=ambiguity.phi,
        sigma=0.05,
        tau=0.5,
        eta=0.1,
        work=Work(batch=0, steps=2, control_batch=0),
    )
    engine = Engine(task, clients, workers=1)
    state = algorithm.init(task.init(seed), clients.n)
    for r in range(rounds):
        key = Key(seed, r)
        state = drive(algorithm.round(state, key), partial(engine.answer, key=key)).state
    train, fresh = (
        np.asarray(engine.answer(Ask("score", {"theta": state.theta}, config={"split": s}), Key(seed, rounds))["error"])
        for s in ("train", "valid")
    )
    return ambiguity.support(fresh - train)


def rate(rows: Sequence[Mapping[str, Any]], phi: float, n: int, key: str = "mean") -> float:
    """The slope of log gap on log N."""
    chosen = [r for r in rows if r["phi"] == phi and r["n"] == n]
    return float(np.polyfit(np.log([r["N"] for r in chosen]), np.log([r[key] for r in chosen]), 1)[0])
