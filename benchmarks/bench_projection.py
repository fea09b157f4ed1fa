"""Projection on Λ_φ: against one argsort of the same vector at n = 10⁶, and against the QP at n = 10⁴."""

import time

import numpy as np
import pytest

from evenkeel.sets import CVaR, Integrated
from evenkeel.sets.conic import project_blocks


def median_seconds(call, times):
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


VECTORS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tail": lambda rng, n: rng.pareto(1.5, size=n),
    "ties": lambda rng, n: np.round(rng.normal(size=n), 1),
    "training": lambda rng, n: 1 / n + 1e-3 * rng.gamma(2.0, size=n) / n,  # λ near uniform plus a small dual step
}


@pytest.mark.parametrize("kind", VECTORS)
def test_projection_of_a_million_against_argsort(benchmark, kind):
    n = 1_000_000
    z = VECTORS[kind](np.random.default_rng(0), n)
    s = Integrated(CVaR(n, 0.2), CVaR(n, 0.2), 0.2)
    ours = benchmark.pedantic(lambda: s.project(z), rounds=7, warmup_rounds=1)
    assert abs(ours.sum() - 1) < 1e-9
    sort = median_seconds(lambda: np.argsort(z), 5)
    mine = median_seconds(lambda: s.project(z), 5)
    benchmark.extra_info["argsort / projection"] = sort / mine
    print(f"\n{kind}: projection {mine * 1e3:.1f} ms, argsort {sort * 1e3:.1f} ms, ratio {sort / mine:.2f}")


def test_projection_of_ten_thousand_against_the_quadratic_programme(benchmark):
    n = 10_000
    z = np.random.default_rng(1).normal(size=n)
    s = Integrated(CVaR(n, 0.2), CVaR(n, 0.2), 0.2)
    parts = [(s.A.block(), 1 / (1 - s.phi)), (s.B.block(), -s.phi / (1 - s.phi))]
    benchmark.pedantic(lambda: s.project(z), rounds=20, warmup_rounds=2)
    qp, mine = median_seconds(lambda: project_blocks(z, parts), 3), median_seconds(lambda: s.project(z), 20)
    assert np.abs(project_blocks(z, parts) - s.project(z)).max() < 1e-6
    benchmark.extra_info["QP / projection"] = qp / mine
    print(f"\nprojection {mine * 1e3:.3f} ms, QP {qp * 1e3:.0f} ms, ratio {qp / mine:.0f}")
