"""The paper's experiment as ordinary specs: six algorithms on one dataset, one split, one kind of local work."""

from collections.abc import Mapping
from typing import Any

from evenkeel.paper.printed import ALGORITHMS, CLIENTS, LOCAL, ROUNDS
from evenkeel.paper.setting import Setting
from evenkeel.runs import Spec

BATCH = 64  # the paper does not say
_SHRUNK = {"eta": 0.1, "tau": 0.5, "sigma": 1e-2}  # step sizes that learn something in the rounds of the quick form
_SHRUNK_ROUNDS = 20


def specs(s: Setting) -> dict[str, Spec]:
    """The six algorithms, in the table's order.

    >>> made = specs(Setting(dataset="mnist", split="class-ordered"))
    >>> made["scaffold"].get("algorithm.tau"), made["safl"].get("work.steps"), made["drfa"].get("work.epochs")
    (0.025, 1, 5)
    """
    return {name: Spec.of(_table(s, name)) for name in ALGORITHMS}


def _table(s: Setting, name: str) -> dict[str, Any]:
    """One algorithm's spec; SAFL takes one step whatever the others do."""
    count = {"steps": 1} if name == "safl" else {s.local: LOCAL}
    return {
        "name": name,
        "rounds": _SHRUNK_ROUNDS if s.quick else ROUNDS,
        "data": {"source": "digits"} if s.quick else {"source": s.dataset, "part": "train"},
        "partition": {"name": "dirichlet", "n": CLIENTS, "alpha": 0.5, "split": s.split, "fraction": 0.8},
        "task": {"model": "mlp", "hidden": 50, "dropout": 0.5},
        "algorithm": {"name": name, **_steps(s, name)},
        "work": {"batch": BATCH, "control_batch": BATCH, **count},
        "evaluation": {"every": 10, "splits": ["valid"]},
        "engine": {"workers": 1},  # the same bits however many processes share the work
    }


def _steps(s: Setting, name: str) -> Mapping[str, float]:
    own = ALGORITHMS[name]
    return {k: _SHRUNK.get(k, v) for k, v in own.items()} if s.quick else own
