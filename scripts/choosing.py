"""The runs, tables and figures of docs/choosing.md: `python scripts/choosing.py`; what is done is not run again.

Every number on the page between the marks comes from here, out of the stored runs of the sweeps that the page shows.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import choosing_charts as charts
import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenkeel.indices import audit
from evenkeel.paper.charts.style import svg
from evenkeel.runs import Run
from evenkeel.runs.paired import Estimate, student

ROOT = Path(__file__).parents[1]
PAGE, IMAGES = ROOT / "docs" / "choosing.md", ROOT / "docs" / "images"
SPEC = "examples/synthetic.toml"
SWEEPS = {
    "alpha": [SPEC, "--over", "algorithm.alpha=0.05,0.1,0.2,0.5,1", "--set", "algorithm.phi=0", "--seeds", "5"],
    "phi": [SPEC, "--phi", "0,0.1,0.2,0.4,0.6", "--seeds", "5"],
    "digits": ["--preset", "digits", "--phi", "0,0.1,0.2,0.4,0.6", "--seeds", "5"],
    "beta": [SPEC, "--over", "algorithm.beta=0.1,0.2,0.5,1", "--seeds", "5"],
}
BASES = {"alpha": 1.0, "phi": 0.0, "digits": 0.0, "beta": 0.2}  # what every other value is compared with
SPLITS = ("train", "valid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One value of a sweep on one split: rows are seeds."""

    value: float
    split: str
    fifths: NDArray[np.float64]  # mean loss of each fifth of the clients, the best-off first
    mean: NDArray[np.float64]
    R: NDArray[np.float64]
    losses: tuple[NDArray[np.float64], ...]  # client by client; who has no validation rows is left out


def measured(place: Path) -> list[Measured]:
    """All of a sweep, ascending by value."""
    table = pl.read_parquet(place / "sweep.parquet")
    key = table.columns[0]
    found = []
    for value in sorted(table[key].unique()):
        runs = [Run.open(place / f) for f in table.filter(pl.col(key) == value).sort("seed")["folder"]]
        for split in SPLITS:
            losses = tuple(run.losses(split).loss for run in runs)
            found.append(
                Measured(
                    value=float(value),
                    split=split,
                    fifths=np.array([fifths(x) for x in losses]),
                    mean=np.array([x.mean() for x in losses]),
                    R=np.array([audit(run.losses(split), draws=0).R for run in runs]),
                    losses=losses,
                )
            )
    return found


def fifths(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean loss of each fifth of the clients, the best-off first; who stands on an edge counts in part.

    >>> fifths(np.array([3.0, 1.0, 2.0, 5.0, 4.0]))
    array([1., 2., 3., 4., 5.])
    """
    n = len(losses)
    sums = np.concatenate([[0.0], np.cumsum(np.sort(losses))])
    return np.diff(np.interp(np.linspace(0, n, 6), np.arange(n + 1), sums)) * 5 / n


def rows(found: list[Measured], split: str, first: float, name: str) -> list[str]:
    """A Markdown table: means over seeds, and paired changes against the base value with 95 % intervals."""
    own = {m.value: m for m in found if m.split == split}
    zero = own[first]
    lines = [
        f"| {name} | mean loss | worst fifth | best fifth | R | u | clients better off |",
        "|---|---|---|---|---|---|---|",
    ]
    for value, m in own.items():
        better = np.mean([(mine < base).mean() for mine, base in zip(m.losses, zero.losses, strict=True)])
        cells = [
            _cell(m.mean, zero.mean),
            _cell(m.fifths[:, 4], zero.fifths[:, 4]),
            _cell(m.fifths[:, 0], zero.fifths[:, 0]),
            f"{m.R.mean():.3g}",
            f"{(m.fifths[:, 4] / np.sqrt(m.fifths[:, 0])).mean():.3f}",
            "–" if m is zero else f"{better:.0%}",
        ]
        lines.append(f"| {value:g} | {' | '.join(cells)} |")
    return lines


def _cell(mine: NDArray[np.float64], base: NDArray[np.float64]) -> str:
    if mine is base or np.array_equal(mine, base):
        return f"{mine.mean():.3f}"
    change: Estimate = student(mine - base)
    return f"{mine.mean():.3f} ({change.mean:+.3f} ± {(change.high - change.low) / 2:.3f})"


def chosen(place: Path) -> list[str]:
    """What `evenkeel phi` makes of the run at φ = 0 under seed 0."""
    table = pl.read_parquet(place / "sweep.parquet").filter((pl.col("algorithm.phi") == 0) & (pl.col("seed") == 0))
    words = ["phi", str(place / table["folder"][0]), "--json"]
    said = json.loads(command(*words, capture_output=True, text=True).stdout)
    return [f"φ = {said['phi']:.2f}", *(f"- {note}" for note in said["notes"])]


def command(*words: str | Path, **how: Any) -> subprocess.CompletedProcess[Any]:  # noqa: ANN401 - subprocess's own
    """One command of evenkeel, as the page shows it."""
    return subprocess.run([sys.executable, "-m", "evenkeel", *words], check=True, cwd=ROOT, **how)  # noqa: S603 - ours


def _begin(name: str) -> str:
    return f"<!-- {name}: written by scripts/choosing.py -->"


def write(page: Path, parts: dict[str, list[str]]) -> None:
    """Put each part between its marks."""
    text = page.read_text("utf-8")
    for name, lines in parts.items():
        if _begin(name) not in text:
            continue  # a page need not show all
        begin, end = _begin(name), f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = "\n".join([before + begin, "", *lines, "", end + rest.split(end)[1]])
    page.write_text(text, "utf-8")


def main() -> None:
    """Run what is missing, then write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--out", type=Path, default=Path("runs/choosing"))
    out = options.parse_args().out.resolve()
    for name, words in SWEEPS.items():
        command("sweep", *words, "--out", out / name)
    held = {name: measured(out / name) for name in SWEEPS}
    parts = {
        f"{name} {split}": rows(found, split, BASES[name], "φ" if name in {"phi", "digits"} else charts.SIGNS[name])
        for name, found in held.items()
        for split in SPLITS
    }
    parts |= {f"chosen {name}": ["```text", *chosen(out / name), "```"] for name in ("phi", "digits")}
    write(PAGE, parts)
    drawn = {"sets": charts.sets(), "alpha": charts.fifths({"Synthetic": held["alpha"]}, "α")}
    drawn["phi"] = charts.fifths({"Synthetic": held["phi"], "Digits": held["digits"]}, "φ")
    for name, chart in drawn.items():
        (IMAGES / f"choosing-{name}.svg").write_text(svg(chart), "utf-8")


if __name__ == "__main__":
    main()
