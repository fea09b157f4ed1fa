"""A comparison as a table for a paper: Markdown and LaTeX, one row a run, mean ± half its interval.

The best mean of each column is bold; a star marks a difference to the first run whose interval leaves out 0.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from evenkeel.indices import INDICES
from evenkeel.runs.paired import Estimate, Seeded

COLUMNS = ("accuracy", "mean", "worst20_loss", "worst20_accuracy", "best20_accuracy", "R", "gini")


class Marks(NamedTuple):
    """How a format writes bold, a star and plus-minus."""

    bold: str
    star: str
    within: str


_MARKDOWN = Marks("**{}**", "\\*", " ± ")
_LATEX = Marks("\\textbf{{{}}}", "$^{*}$", " $\\pm$ ")
_SPECIAL = {c: "\\" + c for c in "#$%&_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def lower_is_better(index: str) -> bool:
    """Which way an index is better; accuracy, which is no index of inequality, is better high.

    >>> lower_is_better("R"), lower_is_better("accuracy")
    (True, False)
    """
    return INDICES[index].lower_is_better if index in INDICES else False


def verdict(gap: Estimate, index: str) -> str:
    """Better, worse or unclear, by whether the interval of a paired difference leaves out 0.

    >>> verdict(Estimate(-1.0, -2.0, -0.5, 5), "R"), verdict(Estimate(0.1, -1.0, 1.0, 5), "R")
    ('better', 'unclear')
    """
    if not (gap.high < 0 or gap.low > 0):
        return "unclear"
    return "better" if (gap.high < 0) == lower_is_better(index) else "worse"


def columns(s: Seeded) -> tuple[str, ...]:
    """The columns of a printed table that were measured."""
    return tuple(c for c in COLUMNS if c in s.indices)


def markdown(s: Seeded) -> str:
    """The table in Markdown.

    >>> print(markdown(Seeded(seeds=(0,), values={"a|b": {"R": [2.0]}})).splitlines()[2])
    | a\\|b | **2.000** |
    """
    heads = columns(s)
    rows = [["run", *heads], ["---"] + ["---:"] * len(heads)]
    rows += [[_cell(run), *(_value(s, run, h, _MARKDOWN) for h in heads)] for run in s.values]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + f"\n\n{caption(s)}\n"


def latex(s: Seeded) -> str:
    """The table in LaTeX, for `booktabs`.

    >>> "\\\\toprule" in latex(Seeded(seeds=(0,), values={"a": {"R": [2.0]}}))
    True
    """
    heads = columns(s)
    lines = [
        "% needs \\usepackage{booktabs}",
        "% " + caption(s),
        "\\begin{tabular}{l" + "r" * len(heads) + "}",
        "\\toprule",
        _row(["run", *(escaped(h) for h in heads)]),
        "\\midrule",
        *(_row([escaped(run), *(_value(s, run, h, _LATEX) for h in heads)]) for run in s.values),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def caption(s: Seeded) -> str:
    """What the numbers are.

    >>> caption(Seeded(seeds=(3,), values={"a": {"R": [2.0]}}))
    'One seed (3), so no intervals. Bold: best mean.'
    """
    if len(s.seeds) == 1:
        return f"One seed ({s.seeds[0]}), so no intervals. Bold: best mean."
    star = f" Star: the {s.level * 100:g} % interval of the paired difference to {_line(s.first)} leaves out 0."
    interval = f"Mean ± half the {s.level * 100:g} % t interval over {len(s.seeds)} seeds. Bold: best mean."
    return interval + (star if s.others else "")


def escaped(text: str) -> str:
    """Text as LaTeX prints it.

    >>> escaped("50 % & a_b")
    '50 \\\\% \\\\& a\\\\_b'
    """
    return "".join(_SPECIAL.get(c, c) for c in _line(text))


def number(x: float) -> str:
    """A number in four digits.

    >>> number(0.12345), number(12.3456), number(math.inf)
    ('0.1235', '12.35', 'inf')
    """
    return f"{x:#.4g}".rstrip(".") if math.isfinite(x) else str(x)


def _value(s: Seeded, run: str, index: str, marks: Marks) -> str:
    estimate = s.mean(run, index)
    text = number(estimate.mean)
    if len(s.values) == 1 or run == best(s, index):
        text = marks.bold.format(text)
    if not math.isnan(estimate.high):
        text += f"{marks.within}{estimate.high - estimate.mean:.2g}"
    clear = run != s.first and verdict(s.gap(run, index), index) != "unclear"
    return text + marks.star if clear else text


def best(s: Seeded, index: str) -> str:
    """The run with the best mean, the first of equals; "" where no mean is a number.

    >>> best(Seeded(seeds=(0,), values={"a": {"R": [2.0]}, "b": {"R": [1.5]}}), "R")
    'b'
    """
    sign = 1 if lower_is_better(index) else -1
    means = {run: sign * s.mean(run, index).mean for run in s.values}
    known = {run: m for run, m in means.items() if not math.isnan(m)}
    return min(known, key=known.__getitem__) if known else ""


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _line(text).replace("\\", "\\\\").replace("|", "\\|")
