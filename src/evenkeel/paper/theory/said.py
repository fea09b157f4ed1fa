"""What the theory's numbers say: each claim a statement of the paper against a comparison in code."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from evenkeel.paper.claims import Claim
from evenkeel.paper.theory import choice, gaps, monotone, skew

EXACT, NOISY = -1.8, -0.9  # slopes of log error on log round that count as R^−2 and R^−1
ROOT = (-0.75, -0.25)  # and of the gap on N, as N^−½
Row = Mapping[str, Any]


def claims(result: Row) -> Iterator[Claim]:
    """All of them, in the paper's order."""
    yield from weakly(result["monotone"])
    yield strictly(result["monotone"])
    yield from rates(result["convergence"])
    yield from chosen(result["choice"])
    yield from bounded(result["gaps"])
    yield from skewed(result["skewness"])


def weakly(paths: Mapping[str, Sequence[Row]]) -> Iterator[Claim]:
    """Theorem «mono:nonstrict»."""
    for name, points in paths.items():
        up = monotone.rises(points)
        seen = f"R {points[0]['R']:.4f} … {points[-1]['R']:.4f} over {len(points)} φ up to {points[-1]['phi']:g}"
        ours = f"{seen}; " + (f"rises at φ = {', '.join(f'{x:g}' for x in up)}" if up else "no rise")
        yield Claim(what=f"R in φ, {name}", printed="non-increasing", ours=ours, agrees=not up)


def strictly(paths: Mapping[str, Sequence[Row]]) -> Claim:
    """Theorem «mono:strict»: R falls wherever its assumption holds."""
    steps = {name: held(points) for name, points in paths.items()}
    flat = {name: monotone.flats(points) for name, points in paths.items()}
    flat = {name: points for name, points in flat.items() if points}
    total = sum(steps.values())
    ours = f"falls at {total - sum(map(len, flat.values()))} of {total} steps where the assumption holds"
    for name, points in flat.items():
        ours += (
            f"; {name}: stays {points[0]['R']:.4f} from φ = {points[0]['phi']:g}, gradient ≥ {points[0]['still']:.2g}"
        )
    what = "R in φ where Σa∇f ≠ 0 or Σb∇f ≠ 0 for all maximising a, b"
    return Claim(what=what, printed="strictly decreasing", ours=ours, agrees=not flat)


def held(points: Sequence[Row]) -> int:
    """Steps of φ at both ends of which the strict theorem's assumption holds."""
    return sum(min(a["still"], b["still"]) > monotone.AWAY for a, b in pairwise(points))


def rates(curves: Sequence[Row]) -> Iterator[Claim]:
    """Theorem «scaffpd» under its schedule."""
    for c in curves:
        if c["steps"] != "theorem":
            continue
        kind = "noisy" if c["noisy"] else "exact"
        over = f"R = {c['first']} … {c['last']}"
        spread = f" (seeds {', '.join(f'{s:.2f}' for s in c['slopes'])})" if len(c["slopes"]) > 1 else ""
        serves = "" if c["noisy"] else f"; C₂ = {c['c2']:.3g} serves every R"
        yield Claim(
            what=f"‖θ^R − θ*‖², {c['problem']}, φ = {c['phi']:g}, {kind} gradients",
            printed="≤ C₁δ²/R: slope −1" if c["noisy"] else "≤ C₂/R²: slope −2",
            ours=f"slope {c['slope']:.2f} over {over}{spread}{serves}",
            agrees=c["slope"] <= (NOISY if c["noisy"] else EXACT),
        )


def chosen(rows: Sequence[Row]) -> Iterator[Claim]:
    """Section «Selection of φ», where the solution at the chosen φ is certified."""
    for r in rows:
        if not r["certified"]:
            continue
        yield Claim(
            what=f"u at the chosen φ, {r['problem']}",
            printed="the least",
            ours=f"φ = {r['chosen']:.3g}: {r['u']:.4f}; best {r['best_u']:.4f} at {r['best_phi']:g}; "
            f"{r['zero_u']:.4f} at 0; {100 * r['excess']:.1f} % above the best",
            agrees=r["excess"] <= choice.GOOD,
        )


def bounded(rows: Sequence[Row]) -> Iterator[Claim]:
    """Theorem «generalization»."""
    runs = [(value, r["bound"]) for r in rows for value in r["gaps"]]
    within = sum(value <= bound for value, bound in runs)
    share = max(value / bound for value, bound in runs)
    yield Claim(
        what="largest gap over λ in Λ, fresh rows against training rows",
        printed="≤ the bound with probability .95",
        ours=f"within it in {within} of {len(runs)} runs, at most {100 * share:.0f} % of it",
        agrees=within >= 0.95 * len(runs),
    )
    sizes = dict.fromkeys((r["N"], r["n"]) for r in rows)
    lines = [[r for r in rows if (r["N"], r["n"]) == size] for size in sizes]
    up = [all(b[k] > a[k] for a, b in pairwise(line)) for line in lines for k in ("mean", "bound")]
    ours = "; ".join(
        f"N = {line[0]['N']}, n = {line[0]['n']}: " + " → ".join(f"{r['mean']:.3f}" for r in line) for line in lines
    )
    phis = ", ".join(f"{r['phi']:g}" for r in lines[0])
    yield Claim(what=f"gap at φ = {phis}", printed="increases with φ", ours=ours, agrees=all(up))
    rate = {phi: gaps.rate(rows, phi, lines[0][0]["n"]) for phi in gaps.PHIS}
    ours = ", ".join(f"φ = {phi:g}: {value:.2f}" for phi, value in rate.items())
    agrees = all(ROOT[0] <= value <= ROOT[1] for value in rate.values())
    yield Claim(what="slope of log gap on log N", printed="−½, up to logarithms", ours=ours, agrees=agrees)


def skewed(rows: Sequence[Row]) -> Iterator[Claim]:
    """Proposition «skewness»."""
    last = [r["points"][-1] for r in rows]
    left = ", ".join(f"{p['exact'] - p['printed']:.3f}" for p in last)
    shares = ", ".join(f"{r['alpha']:g}" for r in rows)
    beyond = ", ".join(f"{1 - 2 * r['alpha']:.3f}" for r in rows)
    yield Claim(
        what=f"s(Λ) less its printed form, α = {shares}",
        printed="O(1/n)",
        ours=f"{left} at n = {last[0]['n']:,}; 1 − 2α = {beyond}",
        agrees=all(skew.order(r["points"], "printed") < skew.MOST for r in rows),
    )
    worst = max(skew.order(r["points"], "mended") for r in rows)
    yield Claim(
        what="s(Λ) in n, α and φ fixed",
        printed="independent of n, up to O(1/n)",
        ours=f"n·|s − (1 + φ²)/((1 − φ)²α)| ≤ {worst:.2f} for n = {rows[0]['points'][0]['n']} … {last[0]['n']:,}",
        agrees=worst < skew.MOST,
    )
    same = sorted((r for r in rows if r["alpha"] == rows[0]["alpha"]), key=lambda r: float(r["phi"]))
    values = [r["points"][-1]["exact"] for r in same]
    ours = ", ".join(f"φ = {r['phi']:g}: {value:.3f}" for r, value in zip(same, values, strict=True))
    agrees = all(b > a for a, b in pairwise(values))
    yield Claim(what=f"s(Λ) in φ, α = {rows[0]['alpha']:g}", printed="increases", ours=ours, agrees=agrees)


def notes(result: Row) -> Iterator[str]:
    """What else is worth knowing, each sentence from the numbers."""
    curves = result["convergence"]
    worst = max(c["certified"] for c in curves)
    conic = max(c["conic"] for c in curves)
    yield (
        f"Every θ* is proven to within ‖θ − θ*‖² ≤ {worst:.0e}; before Newton's last steps Clarabel's own θ was within "
        f"{conic:.0e} of it."
    )
    steady = [c for c in curves if c["steps"] == "constant" and not c["noisy"] and "appendix" in met(c)]
    if steady:
        said = ", ".join(f"{c['problem']} φ = {c['phi']:g}: {c['slope']:.1f}" for c in steady)
        yield f"Constant steps, exact gradients (no rate is printed): slopes {said}."
    beyond = [c for c in curves if c["steps"] == "constant" and not c["noisy"] and "appendix" not in met(c)]
    if beyond:
        said = ", ".join(f"{c['problem']} φ = {c['phi']:g}: {c['slope']:.1f}" for c in beyond)
        yield f"Beyond the proof's condition on ‖Λ‖₁ (κ < 0), constant steps, exact gradients: slopes {said}."
    rough = [c for c in curves if c["steps"] == "constant" and c["noisy"]]
    if rough:
        said = ", ".join(f"{c['problem']}: {c['slope']:.2f}" for c in rough)
        stuck = all(c["slope"] > NOISY for c in rough)
        why = ": only the theorem's shrinking steps reach 1/R" if stuck else ""
        yield f"Constant steps, noisy gradients: slopes {said}{why}."
    literal = [c for c in curves if c["steps"] == "literal"]
    if literal:
        said = ", ".join(f"{c['problem']} {c['slope']:.2f}" for c in literal)
        wait = min(1 / (c["kappa"] * c["tau_0"]) for c in literal)
        yield (
            f"With τ₀ = 1/(1200M‖Λ‖₁) as printed: slopes {said} over R = {literal[0]['first']} … {literal[0]['last']}. "
            f"That is no contradiction: this schedule's rate begins after 1/(κτ₀) rounds, {wait:,.0f} at the least."
        )
    for r in result["choice"]:
        if not r["certified"]:
            yield (
                f"{r['problem']}: φ = {r['chosen']:.3g} is chosen, where a logistic solution with this l2 is not "
                f"certified (up to {r['used']:g} it is), so no claim is made."
            )
    yield from _rows_or_clients(result["gaps"])


def _rows_or_clients(rows: Sequence[Row]) -> Iterator[str]:
    """As many rows in all, in fewer or in more clients."""
    total = {(r["N"], r["n"]): r for r in rows if r["phi"] == 0.2}
    few, many = total.get((200, 20)), total.get((50, 80))
    if few and many:
        worse = few["mean"] < many["mean"] and few["bound"] < many["bound"]
        why = (
            " Clients do not stand in for rows: λ may pick the unluckiest, and log 𝒩(Λ) grows with n." if worse else ""
        )
        yield (
            f"4,000 rows in all, φ = .2: gap {few['mean']:.3f} (bound {few['bound']:.2f}) for 20 clients of 200, "
            f"{many['mean']:.3f} (bound {many['bound']:.2f}) for 80 of 50.{why}"
        )


def met(curve: Row) -> list[str]:
    """The conditions on ‖Λ‖₁ that hold."""
    return [name for name, holds in curve["conditions"].items() if holds]
