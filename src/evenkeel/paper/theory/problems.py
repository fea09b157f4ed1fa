"""Strongly convex problems: quadratic clients, ridge on the penguins, logistic regression with l2 on the digits.

Features are scaled and l2 is chosen so that m/M is about .7. The convergence theorem's proof needs it: with κ > 0 it
covers φ < m/(4M + m) only, which is .15 here, and its rate begins after about 1/(κτ₀) rounds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from evenkeel.data.partitions import PARTITIONS
from evenkeel.data.shards import Federation, Shards
from evenkeel.data.sources import digits as digit_rows
from evenkeel.data.sources import penguins as penguin_rows
from evenkeel.draws import generator
from evenkeel.paper.theory.rows import Real, Rows
from evenkeel.sets import CVaR, Integrated
from evenkeel.tasks import Task, build


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Clients with their worst and best share `alpha`, and the batch that makes gradients noisy."""

    name: str
    meaning: str
    rows: Rows
    alpha: float
    batch: int

    def ambiguity(self, phi: float) -> Integrated:
        """Λ_φ(CVaR(α), CVaR(α))."""
        return Integrated(CVaR(self.rows.n, self.alpha), CVaR(self.rows.n, self.alpha), phi)

    @property
    def task(self) -> Task:
        """The same clients for the engine: one linear layer in double precision."""
        d, l2 = self.rows.d - 1, self.rows.l2
        if self.rows.binary:
            return build("logistic", (d,), 2, l2=l2, dtype=torch.float64)
        return build("ridge", (d,), 0, l2=l2, dtype=torch.float64)

    @property
    def federation(self) -> Federation:
        """Their rows, without the column of ones (it is the layer's bias)."""
        own = Shards.of([np.arange(a, b) for a, b in pairwise(np.cumsum([0, *map(len, self.rows.ys)]))])
        y = np.concatenate(self.rows.ys)
        return Federation(
            x=torch.from_numpy(np.concatenate([x[:, :-1] for x in self.rows.xs])),
            y=torch.from_numpy(y.astype(np.int64) if self.rows.binary else y),
            train=own,
            valid=own,
            names=tuple(f"client {i}" for i in range(self.rows.n)),
            classes=2 if self.rows.binary else 0,
            origin=self.meaning,
        )


@cache
def quadratic(l2: float = 0.5) -> Problem:
    """Eight clients with ten rows each; no two have the same Hessian, and its eigenvalues lie within .8 to 1.2 of 2."""
    rng, n, m, d = generator(0, "theory", "quadratic"), 8, 10, 3
    xs = []
    for _ in range(n):
        basis = np.linalg.qr(np.column_stack([np.ones(m), rng.normal(size=(m, d))]))[0][:, 1:]
        mixed = basis * np.sqrt(m * rng.uniform(0.8, 1.2, d)) @ np.linalg.qr(rng.normal(size=(d, d)))[0]
        xs.append(np.column_stack([mixed, np.ones(m)]))
    ys = [x @ rng.normal(size=d + 1) + rng.normal(size=m) * rng.uniform(0.2, 1.0) for x in xs]
    return Problem(
        name="quadratic",
        meaning=f"{n} clients, {m} rows each, {d + 1} parameters, l2 {l2:g}",
        rows=Rows(xs=xs, ys=ys, l2=l2),
        alpha=0.25,
        batch=2,
    )


@cache
def penguins(l2: float = 20.0) -> Problem:
    """The paper's regression (first ten of each species, A = B = the simplex), features and target standardised."""
    source = penguin_rows.load(first=10)
    groups = np.asarray(source.groups)
    x, y = _standard(source.x.double().numpy()), _standard(source.y.double().numpy())
    x = np.column_stack([x, np.ones(len(x))])
    return Problem(
        name="penguins",
        meaning=f"3 species, 10 birds each, 3 parameters, standardised, l2 {l2:g}",
        rows=Rows(xs=[x[groups == i] for i in range(3)], ys=[y[groups == i] for i in range(3)], l2=l2),
        alpha=1 / 3,
        batch=2,
    )


@cache
def digits(l2: float = 1.0) -> Problem:
    """Even or odd? 1,797 digits dealt to ten clients as the paper deals its images; eight principal components."""
    source, n, kept = digit_rows.load(), 10, 8
    pixels, labels = source.x.double().numpy().reshape(len(source), -1), source.y.numpy()
    centred = pixels - pixels.mean(axis=0)
    left = np.linalg.svd(centred, full_matrices=False)[0][:, :kept]
    x = np.column_stack([left * np.sqrt(len(left)), np.ones(len(left))])
    own = PARTITIONS["dirichlet"](labels, n, 0, alpha=0.5, cap=False, min_rows=20, redraws=50)
    parts = [own[i] for i in range(n)]
    return Problem(
        name="digits",
        meaning=f"even or odd, {n} clients by Dirichlet(.5), {kept + 1} parameters, l2 {l2:g}",
        rows=Rows(xs=[x[p] for p in parts], ys=[labels[p] % 2.0 for p in parts], l2=l2, binary=True),
        alpha=0.2,
        batch=8,
    )


def _standard(v: Real) -> Real:
    return np.asarray((v - v.mean(axis=0)) / v.std(axis=0))


class Chosen(NamedTuple):
    """A problem with the φ within the theorem's proof that it is run at, and one beyond."""

    build: Callable[[], Problem]
    phis: tuple[float, ...] = (0.0, 0.05)
    beyond: float = 0.3


PROBLEMS: Mapping[str, Chosen] = {
    "quadratic": Chosen(quadratic),
    "penguins": Chosen(penguins),
    "digits": Chosen(digits),
}
