"""What a reproduction was asked for, and what it may be asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkeel.errors import InputError
from evenkeel.paper.claims import Figure
from evenkeel.paper.setting import SPLITS, Setting

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of one reproduction. `split` left out is both, side by side; seeds are 0, 1, …, `seeds` − 1.

    >>> [s.slug for s in Asked(out=Path("runs"), local="steps").settings]
    ['mnist-shuffled-steps', 'mnist-class-ordered-steps']
    """

    out: Path
    dataset: str = "mnist"
    split: str | None = None
    local: str = "epochs"
    tuned: bool = False
    trials: int = 10
    seeds: int = 1
    quick: bool = False
    processes: int = 0
    console: "Console | None" = None

    @property
    def settings(self) -> tuple[Setting, ...]:
        """One setting a split."""
        splits = SPLITS if self.split is None else (self.split,)
        return tuple(Setting(dataset=self.dataset, split=s, local=self.local, quick=self.quick) for s in splits)

    def facts(self) -> dict[str, Any]:
        """What decides the result, as JSON takes it."""
        splits = [s.split for s in self.settings]
        own = {"dataset": self.dataset, "splits": splits, "local": self.local, "seeds": list(range(self.seeds))}
        return {**own, "tuned": self.tuned, "trials": self.trials if self.tuned else None, "quick": self.quick}


class Experiment(NamedTuple):
    """What is reproduced by running something: `takes` names the options of `Asked` that change it."""

    make: Callable[[Asked], Figure]
    takes: frozenset[str]
    whole: tuple[Mapping[str, Any], ...] = ({},)  # with which options it is part of `reproduce all`

    def demand(self, name: str, given: Mapping[str, Any]) -> None:
        """Refuse an option that would change nothing."""
        for key in given:
            if key not in self.takes:
                known = ", ".join(f"--{k}" for k in sorted(self.takes)) or "none"
                raise InputError(f"reproduce {name}: takes no --{key}; it takes {known}")


def stem(name: str, asked: Asked, takes: frozenset[str]) -> str:
    """The name of its files: what was asked, where that is not the default.

    >>> stem("table1", Asked(out=Path(), dataset="cifar10", split="shuffled"), frozenset({"dataset", "split"}))
    'table1-cifar10-shuffled'
    """
    parts = [name]
    parts += [getattr(asked, key) for key in ("dataset", "local") if key in takes]
    parts += [asked.split] if "split" in takes and asked.split else []
    parts += [key for key in ("tuned", "quick") if key in takes and getattr(asked, key)]
    return "-".join(parts)


def altered(asked: Asked, options: Mapping[str, Any]) -> Asked:
    """The same with other options.

    >>> altered(Asked(out=Path()), {"seeds": 3}).seeds
    3
    """
    return replace(asked, **options)
