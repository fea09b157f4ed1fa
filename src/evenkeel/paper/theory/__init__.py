"""The paper's theory, measured: convergence, monotonicity, skewness, generalisation, the choice of φ."""

from collections.abc import Iterator, Mapping
from typing import Any

from evenkeel.paper.charts.theory import draw
from evenkeel.paper.claims import Figure, Table
from evenkeel.paper.theory import choice, convergence, gaps, monotone, said, skew

__all__ = ["theory"]


def theory(quick: bool = False) -> Figure:
    """Every statement of sections «mono», «convergence», «generalization» that numbers can test.

    `quick` runs fewer rounds, seeds and φ, in this process; the whole takes all cores.
    """
    paths = monotone.study(quick=quick)
    result = {
        "quick": quick,
        "monotone": paths,
        "convergence": convergence.study(quick=quick, workers=1 if quick else 0),
        "choice": choice.study(paths),
        "gaps": gaps.study(quick=quick),
        "skewness": skew.study(),
    }
    return Figure(
        title="The paper's theory, measured",
        draw=draw,
        claims=tuple(said.claims(result)),
        result=result,
        tables=tuple(_tables(result)),
        notes=tuple(said.notes(result)),
    )


def _tables(result: Mapping[str, Any]) -> Iterator[Table]:
    yield Table(
        title="Convergence to θ*",
        headings=("problem", "φ", "m", "M", "‖Λ‖₁", "κ", "steps", "gradients", "R", "slope", "last error"),
        rows=tuple(_curve(c) for c in result["convergence"]),
    )
    yield Table(
        title="Gap between fresh and training rows, largest over λ in Λ",
        headings=("N", "n", "φ", "s(Λ)", "measured", "bound"),
        rows=tuple(
            (str(r["N"]), str(r["n"]), f"{r['phi']:g}", f"{r['skewness']:.2f}", f"{r['mean']:.4f}", f"{r['bound']:.3f}")
            for r in result["gaps"]
        ),
    )


def _curve(c: Mapping[str, Any]) -> tuple[str, ...]:
    size = (f"{c['phi']:g}", f"{c['m']:.3g}", f"{c['M']:.3g}", f"{c['l1_norm']:.3f}", f"{c['kappa']:.3g}")
    kind = (c["steps"], "noisy" if c["noisy"] else "exact", f"{c['first']} … {c['last']}")
    return (c["problem"], *size, *kind, f"{c['slope']:.2f}", f"{c['end']:.1e}")
