"""The paper's figures, each by one function, each with printed against ours and a verdict that is computed.

To add one: a function that returns a `Figure`, its chart in `charts/`, one line in `FIGURES`. One that takes options,
or runs something, is a line in `EXPERIMENTS` and a function of `Asked`; what it needs is imported when it is called.
"""

from collections.abc import Callable, Mapping

from evenkeel.paper.asked import Asked, Experiment, stem
from evenkeel.paper.claims import Claim, Figure, Table, number, verdict
from evenkeel.paper.fig1 import fig1
from evenkeel.paper.fig2 import fig2
from evenkeel.paper.fig3 import fig3

FIGURES: Mapping[str, Callable[[], Figure]] = {
    "fig1": fig1,
    "fig2": fig2,
    "fig3": fig3,
}


def _table1(asked: Asked) -> Figure:
    from evenkeel.paper.table1 import table1

    return table1(asked)


def _fig4(asked: Asked) -> Figure:
    from evenkeel.paper.lorenz import fig4

    return fig4(asked)


def _theory(asked: Asked) -> Figure:
    from evenkeel.paper.theory import theory

    return theory(quick=asked.quick)


_RUNS = frozenset({"dataset", "split", "local", "tuned", "trials", "seeds", "quick"})

EXPERIMENTS: Mapping[str, Experiment] = {
    "table1": Experiment(_table1, _RUNS, whole=({"dataset": "mnist"}, {"dataset": "cifar10", "local": "steps"})),
    "fig4": Experiment(_fig4, _RUNS),
    "theory": Experiment(_theory, frozenset({"quick"})),
}

__all__ = ["EXPERIMENTS", "FIGURES", "Asked", "Claim", "Experiment", "Figure", "Table", "number", "stem", "verdict"]
