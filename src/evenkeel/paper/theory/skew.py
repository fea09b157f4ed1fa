"""Proposition «skewness»: s(Λ_φ(CVaR(α), CVaR(α))) exactly, at a corner, against its asymptotic form over n."""

from typing import Any

from evenkeel.sets import CVaR, Integrated
from evenkeel.theory import cvar_skewness, printed_skewness

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
MOST = 30.0  # n times a difference may not exceed this if the difference is to count as O(1/n)
SHARES = ((0.2, 0.2), (0.237, 0.2), (0.2, 0.5), (0.45, 0.2))  # α and φ; αn is whole for .2 only


def study() -> list[dict[str, Any]]:
    """Exact, printed and mended, for each n.

    >>> first = study()[0]["points"][0]
    >>> first["n"], round(first["exact"], 9), round(first["printed"], 9), round(first["mended"], 9)
    (10, 8.125, 7.525, 8.125)
    """
    return [{"alpha": a, "phi": phi, "points": [_point(n, a, phi) for n in SIZES]} for a, phi in SHARES]


def _point(n: int, alpha: float, phi: float) -> dict[str, Any]:
    exact = Integrated(CVaR(n, alpha), CVaR(n, alpha), phi).skewness
    return {"n": n, "exact": exact, "printed": printed_skewness(alpha, phi), "mended": cvar_skewness(alpha, phi)}


def order(points: list[dict[str, Any]], form: str) -> float:
    """max n·|exact − form|: finite for every n alike if the difference is O(1/n).

    >>> points = [{"n": n, "exact": 1 + 3 / n, "form": 1.0} for n in (10, 100)]
    >>> round(order(points, "form"), 9)
    3.0
    """
    return float(max(p["n"] * abs(p["exact"] - p[form]) for p in points))
