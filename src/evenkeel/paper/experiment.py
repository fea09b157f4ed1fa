"""The paper's experiment as ordinary specs: six algorithms on one dataset, one split, one kind of local work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenkeel.errors import InputError, nearest
from evenkeel.paper.printed import ALGORITHMS, CLIENTS, LOCAL, ROUNDS, TABLE1
from evenkeel.runs import Spec

SPLITS = ("shuffled", "class-ordered")
LOCALS = ("epochs", "steps")
BATCH = 64  # the paper does not say
_SHRUNK = {"eta": 0.1, "tau": 0.5, "sigma": 1e-2}  # step sizes that learn something in the rounds of the quick form
_SHRUNK_ROUNDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What one table is measured under; `quick` puts scikit-learn's digits in the dataset's place, to try things out.

    >>> Setting(dataset="mnist", split="shuffled", local="steps").slug
    'mnist-shuffled-steps'
    """

    dataset: str
    split: str = "shuffled"
    local: str = "epochs"
    quick: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (
            ("dataset", self.dataset, TABLE1),
            ("split", self.split, SPLITS),
            ("local", self.local, LOCALS),
        ):
            if value not in known:
                raise InputError(f"--{name} {value}: no such {name}; {nearest(value, known)}")

    @property
    def slug(self) -> str:
        """A name for its folder."""
        return "-".join([self.dataset, self.split, self.local, *(["quick"] if self.quick else [])])

    @property
    def words(self) -> str:
        """What it is, for a heading."""
        where = f"digits in the place of {self.dataset}" if self.quick else self.dataset
        return f"{where}, {self.split} split, five local {self.local}"


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
    }


def _steps(s: Setting, name: str) -> Mapping[str, float]:
    own = ALGORITHMS[name]
    return {k: _SHRUNK.get(k, v) for k, v in own.items()} if s.quick else own
