"""The figures as a whole: what they claim, and that the verdict follows from the numbers."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from evenkeel.paper import FIGURES, Claim, number, verdict
from evenkeel.paper.fig3 import _claims, _sign


@pytest.fixture(scope="module")
def fig3():
    return FIGURES["fig3"]()


@pytest.mark.parametrize(
    ("printed", "ours", "agrees"),
    [
        ("7.081", 7.0814999, True),
        ("7.081", 7.0816, False),
        ("7.081", 7.0805001, True),
        ("7", 7.4, True),
        ("7", 7.6, False),
    ],
)
def test_a_number_agrees_if_it_rounds_to_the_printed_one(printed, ours, agrees):
    assert number("x", printed, ours).agrees is agrees


def test_the_verdict_counts():
    yes, no = (Claim(what="", printed="", ours="", agrees=a) for a in (True, False))
    assert verdict([yes, yes]) == "agrees with the paper in all 2 points"
    assert verdict([yes, no, no]) == "agrees with the paper in 1 of 3 points"


def test_figure_1_agrees_in_both_printed_sums():
    figure = FIGURES["fig1"]()
    assert figure.agrees
    assert [c.printed for c in figure.claims[:2]] == ["7.081", "7.105"]


def test_figure_2_has_the_corners_of_the_definition():
    # every (a − φb)/(1 − φ) with a, b corners of CVaR(.5), orders of (2/3, 1/3, 0); their hull
    corners = np.array(list(permutations([2 / 3, 1 / 3, 0.0])))
    for s in FIGURES["fig2"]().result["sets"]:
        sums = np.array([(a - s["phi"] * b) / (1 - s["phi"]) for a in corners for b in corners])
        found = np.array(s["vertices"])
        assert len(found) == 6
        assert found.sum(axis=1) == pytest.approx(1)
        for v in np.random.default_rng(0).normal(size=(200, 3)):
            assert (found @ v).max() == pytest.approx((sums @ v).max())


def test_figure_3_is_exact_on_the_grid_and_never_below_the_box(fig3):
    for reading in fig3.result["readings"].values():
        for g, c in zip(reading["grid"], reading["continuous"], strict=True):
            assert c["certified"]
            assert g["objective"] >= c["bound"]
            assert g["R"] == max(g["losses"].values()) / min(g["losses"].values())
            assert np.abs(np.array(g["theta"]) * 1000 - np.round(np.array(g["theta"]) * 1000)).max() < 1e-9


def test_unfairness_falls_with_phi_under_the_models_sign_and_not_under_the_printed_one(fig3):
    readings = fig3.result["readings"]
    for kind in ("grid", "continuous"):
        R = [p["R"] for p in readings["model"][kind]]
        assert max(np.diff(R)) < 1e-6
        assert R[0] > 4 * R[-1] > 4 - 1e-9
    assert len({p["R"] for p in readings["printed"]["grid"]}) == 1


def test_the_claims_follow_the_numbers():
    def points(*ratios, theta=(-30.0, 0.5, 0.5)):
        return [{"phi": k / 100, "R": r, "theta": [theta[0] + k, *theta[1:]]} for k, r in enumerate(ratios)]

    assert all(c.agrees for c in _claims(points(3.0, 2.0, 1.0)))
    assert [c.agrees for c in _claims(points(3.0, 2.0, 2.0))] == [True, False, True]
    assert [c.agrees for c in _claims(points(2.0, 3.0, 1.0))] == [False, False, False]
    assert "same grid point" not in _claims(points(3.0, 2.0, 2.0))[1].ours
    assert _sign(points(3.0, 2.0)).agrees
    assert not _sign(points(2.0, 2.0)).agrees


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_can_be_drawn_from_its_json(name, fig3):
    import json

    from evenkeel.paper.charts.style import svg

    figure = fig3 if name == "fig3" else FIGURES[name]()
    stored = SimpleNamespace(**json.loads(json.dumps({"result": figure.result})))
    text = svg(figure.draw(stored.result))
    assert text.startswith("<svg")
    assert "NaN" not in text
