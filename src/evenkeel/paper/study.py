"""The protocol study: which of the choices that the paper leaves open bring our numbers nearest to its Table 1.

Each variant is ordinary run folders, so the study goes on where it stopped, and what Table 1 ran is not run again.
The distance of an algorithm from print is √mean_c((ours_c − printed_c)/s_c)² over the five columns, s_c the spread
(standard deviation) of the printed column over the six algorithms.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from evenkeel.paper.dual_loss import DualLoss
from evenkeel.paper.judged import said
from evenkeel.paper.printed import ALGORITHMS, COLUMNS, TABLE1
from evenkeel.paper.variants import PROTOCOLS, VARIANTS, Variant, variant
from evenkeel.runs import Run, execute, parts
from evenkeel.runs.board import Board
from evenkeel.runs.compare import last
from evenkeel.runs.jobs import Job, complete, demand_done, finished, folder
from evenkeel.runs.observers import Observer
from evenkeel.runs.pool import processes, spread


@dataclass(frozen=True, slots=True)
class Piece:
    """One run of a variant: a piece of work for `pool.spread`."""

    job: Job
    dual: str = "train"

    def __call__(self, observer: Observer) -> Path:
        """The folder of the finished run."""
        if self.dual == "train":
            return complete(self.job, observer).folder
        spec = self.job.spec
        rows = parts.federation_of(spec)
        task = parts.task_of(spec, rows)
        told = DualLoss(parts.transport_of(spec, task, rows, 1), self.dual, spec.work.batch)
        made = execute(
            spec, self.job.folder, resume=True, observer=observer, federation=rows, task=task, transport=told
        )
        return made.folder


def pieces(name: str, v: Variant, out: Path) -> tuple[Piece, ...]:
    """The runs of a variant. Table 1's own are where `reproduce table1` puts them."""
    plain = not v.changes and v.dual == "train"
    home = out / "runs" / v.setting.slug if plain else out / "study" / name
    made = v.specs(name)
    return tuple(
        Piece(Job(label=f"{name} {a} seed {seed}", spec=spec, folder=folder(home, a, spec)), v.dual)
        for seed in v.seeds
        for a in v.algorithms
        for spec in (made[a].replace("seed", seed),)
    )


def study(names: Sequence[str], out: Path, *, console: Console | None = None, asked: int = 0) -> None:
    """Run what is missing of these variants, on all cores."""
    all_ = [p for name in names for p in pieces(name, variant(name), out)]
    left = {p.job.label: p for p in all_ if not finished(p.job)}
    if left:
        rounds = sum(p.job.spec.rounds for p in left.values())
        with Board(console or Console(quiet=True), len(left), rounds) as board:
            demand_done(dict(spread(left, board, processes(asked, len(left)))))


def found(name: str, out: Path) -> dict[str, dict[str, Any]]:
    """What a variant's finished runs measured: means over its seeds, each algorithm's distance from print."""
    v, held = variant(name), {}
    for a in v.algorithms:
        own = [p.job for p in pieces(name, v, out) if p.job.label.startswith(f"{name} {a} ")]
        rows = [last(Run.open(job.folder)) for job in own if finished(job)]
        if rows:
            means = {c: float(np.mean([row[c] for row in rows])) for c in COLUMNS}
            ends = {c: (min(row[c] for row in rows), max(row[c] for row in rows)) for c in COLUMNS}
            held[a] = {"seeds": len(rows), **means, "ends": ends, "distance": distance(v.setting.dataset, a, means)}
    return held


def distance(dataset: str, algorithm: str, ours: Mapping[str, float]) -> float:
    """How far from print, in spreads of the printed columns.

    >>> distance("mnist", "safl", {c: float(getattr(TABLE1["mnist"]["safl"], c)) for c in COLUMNS})
    0.0
    """
    table = {c: np.array([float(getattr(row, c)) for row in TABLE1[dataset].values()]) for c in COLUMNS}
    printed = TABLE1[dataset][algorithm]
    off = [(ours[c] - float(getattr(printed, c))) / table[c].std() for c in COLUMNS]
    return float(np.sqrt(np.mean(np.square(off))))


def table(out: Path, names: Sequence[str] = tuple(VARIANTS)) -> Iterator[str]:
    """The result as Markdown, a line a variant and algorithm; variants that were not run are named last."""
    yield "| variant | what it is | algorithm | seeds | " + " | ".join(COLUMNS.values()) + " | distance |"
    yield "|---|---|---|---:|" + "---:|" * (len(COLUMNS) + 1)
    missing = []
    for name in names:
        held = found(name, out)
        missing += [] if held else [name]
        for k, (a, row) in enumerate(held.items()):
            head = (name, variant(name).what) if not k else ("", "")
            cells = (said(row[c]) for c in COLUMNS)
            yield f"| {head[0]} | {head[1]} | {a} | {row['seeds']} | {' | '.join(cells)} | {row['distance']:.2f} |"
    if missing:
        yield ""
        yield f"Not run: {', '.join(missing)}."
    if rows := list(whole(out)):
        yield from ("", "| protocol | " + " | ".join(ALGORITHMS) + " | mean |")
        yield from ("|---|" + "---:|" * (len(ALGORITHMS) + 1), *rows)


def whole(out: Path) -> Iterator[str]:
    """Whole protocols: each algorithm's distance from print, and their mean, where all six were run."""
    for words, names in PROTOCOLS.items():
        measured = [found(name, out) for name in names]
        own = [next((held[a]["distance"] for held in measured if a in held), None) for a in ALGORITHMS]
        far = [d for d in own if d is not None]
        if len(far) == len(own):
            yield f"| {words} | " + " | ".join(f"{d:.2f}" for d in far) + f" | **{np.mean(far):.2f}** |"
