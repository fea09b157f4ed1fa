"""The paper's figures, each by one function, each with printed against ours and a verdict that is computed.

To add one: a function that returns a `Figure`, its chart in `charts/`, and one line in `FIGURES`.
"""

from collections.abc import Callable, Mapping

from evenkeel.paper.claims import Claim, Figure, Table, number, verdict
from evenkeel.paper.fig1 import fig1
from evenkeel.paper.fig2 import fig2
from evenkeel.paper.fig3 import fig3

FIGURES: Mapping[str, Callable[[], Figure]] = {
    "fig1": fig1,
    "fig2": fig2,
    "fig3": fig3,
}

__all__ = ["FIGURES", "Claim", "Figure", "Table", "number", "verdict"]
