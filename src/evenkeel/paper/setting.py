"""What one table is measured under."""

from dataclasses import dataclass

from evenkeel.errors import InputError, nearest
from evenkeel.paper.printed import TABLE1

SPLITS = ("shuffled", "class-ordered")
LOCALS = ("epochs", "steps")


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
