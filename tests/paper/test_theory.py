"""`reproduce theory` in its quick form: what comes out, and that verdicts follow from the numbers."""

import json

import numpy as np
import pytest

from evenkeel.paper.charts.style import svg
from evenkeel.paper.theory import convergence, gaps, monotone, said, skew, theory
from evenkeel.paper.theory.problems import PROBLEMS
from evenkeel.paper.theory.saddle import solve


@pytest.fixture(scope="module")
def figure():
    return theory(quick=True)


def agreed(claims, *words):
    found = [c.agrees for c in claims if all(w in c.what for w in words)]
    assert found, words
    return found


def test_what_holds_and_what_does_not(figure):
    claims = figure.claims
    assert all(agreed(claims, "exact gradients"))
    assert len(agreed(claims, "exact gradients")) == 6
    assert all(agreed(claims, "noisy gradients"))
    assert all(agreed(claims, "R in φ, "))
    assert agreed(claims, "Σa∇f ≠ 0") == [False]  # the strict theorem has a counterexample
    assert agreed(claims, "less its printed form") == [False]
    assert agreed(claims, "in n, α and φ fixed") == [True]
    assert agreed(claims, "largest gap") == [True]


def test_exact_errors_end_far_below_the_square_of_the_rounds(figure):
    for c in figure.result["convergence"]:
        if not c["noisy"]:
            assert c["slope"] <= said.EXACT
            assert c["c2_at"] < c["last"] / 2  # one constant serves all later rounds
            assert c["inside"]
            assert c["certified"] < 1e-12


def test_everything_is_certified_and_unfairness_never_rises(figure):
    for points in figure.result["monotone"].values():
        assert all(p["certified"] < 1e-7 for p in points)
        assert max(np.diff([p["R"] for p in points])) <= 1e-7
        assert min(np.diff([p["max"] for p in points])) >= -1e-7  # the proof's first step


def test_it_can_be_drawn_from_its_json(figure):
    stored = json.loads(json.dumps({"result": dict(figure.result)}))
    text = svg(figure.draw(stored["result"]))
    assert text.startswith("<svg")
    assert "NaN" not in text


def curve(slope, *, noisy=False, steps="theorem"):
    r = np.arange(1, 1001)
    errors = np.append(1.0, r.astype(float) ** slope)
    return {
        "problem": "p",
        "phi": 0.1,
        "steps": steps,
        "noisy": noisy,
        "first": 10,
        "last": 1000,
        "slopes": [slope],
        "slope": convergence.fitted(errors, 10, 1000, 0.0),
        "c2": 1.0,
    }


@pytest.mark.parametrize(
    ("slope", "noisy", "agrees"),
    [(-2.0, False, True), (-1.7, False, False), (-1.0, True, True), (-0.8, True, False), (-1.0, False, False)],
)
def test_a_rate_is_judged_by_its_slope(slope, noisy, agrees):
    (claim,) = said.rates([curve(slope, noisy=noisy)])
    assert claim.agrees is agrees
    assert not list(said.rates([curve(slope, noisy=noisy, steps="constant")]))


def test_errors_below_the_proven_accuracy_do_not_help_a_slope():
    errors = np.append(1.0, np.arange(1, 1001.0) ** -6)
    assert convergence.fitted(errors, 10, 1000, 0.0) == pytest.approx(-6, abs=0.01)
    assert convergence.fitted(errors, 10, 1000, 1e-6) == pytest.approx(0, abs=1e-9)


def test_the_constant_of_the_theorem_is_the_quotient_it_says():
    problem = PROBLEMS["quadratic"].build()
    saddle, rows = solve(problem.rows, problem.ambiguity(0.05)), problem.rows
    lam = problem.ambiguity(0.05).project(np.full(rows.n, 1 / rows.n))
    zero = np.zeros(rows.d)
    start = 0.5 * np.sum(saddle.theta**2) + 0.5 * np.sum((saddle.lam - lam) ** 2)
    start += saddle.lam @ rows.losses(zero) - lam @ rows.losses(saddle.theta)
    errors = np.array([9.0, 0.5, 0.25])
    np.testing.assert_allclose(convergence.bound(problem, 0.05, saddle, errors) * start, [0.5, 1.0])


def point(phi, R, still=1.0):
    return {"phi": phi, "R": R, "still": still}


def test_rises_and_flats_are_told_from_falls():
    points = [point(0.0, 3.0), point(0.1, 2.0), point(0.2, 2.0), point(0.3, 2.0, still=0.0), point(0.4, 2.5)]
    assert monotone.rises(points) == [0.4]
    assert [p["phi"] for p in monotone.flats(points)] == [0.2]
    (weak,) = said.weakly({"p": points})
    assert not weak.agrees
    assert not said.strictly({"p": points}).agrees
    assert said.strictly({"p": points[:2]}).agrees


def row(N, phi, gap, bound):
    return {"N": N, "n": 20, "phi": phi, "gaps": [gap], "mean": gap, "bound": bound}


def test_a_gap_above_its_bound_or_falling_in_phi_is_said():
    sizes = (50, 200)
    good = [row(N, phi, (1 + phi) / N**0.5, 5 * (1 + phi) / N**0.5) for N in sizes for phi in gaps.PHIS]
    assert [c.agrees for c in said.bounded(good)] == [True, True, True]
    assert gaps.rate(good, 0.2, 20) == pytest.approx(-0.5)
    above = [{**r, "bound": r["mean"] / 2} for r in good]
    assert [c.agrees for c in said.bounded(above)] == [False, True, True]
    backward = [{**r, "mean": 1 / r["mean"]} for r in good]
    assert [c.agrees for c in said.bounded(backward)] == [True, False, False]


def test_the_skewness_claim_turns_on_the_order_in_n():
    fine = [{"n": n, "exact": 5 + 1 / n, "printed": 5.0} for n in skew.SIZES]
    off = [{"n": n, "exact": 5.6, "printed": 5.0} for n in skew.SIZES]
    assert skew.order(fine, "printed") < skew.MOST < skew.order(off, "printed")
