"""Table 1: six algorithms on one dataset, both splits side by side; printed, ours, interval, inside or outside."""

from collections.abc import Iterator, Mapping
from typing import Any

from evenkeel.paper import judged
from evenkeel.paper.asked import Asked
from evenkeel.paper.charts.table import draw
from evenkeel.paper.claims import Claim, Figure, Table
from evenkeel.paper.judged import Against, better
from evenkeel.paper.printed import COLUMNS, TABLE1
from evenkeel.paper.trained import Trained, trained
from evenkeel.runs.paired import difference
from evenkeel.runs.tune import TUNED

AVERAGING = ("fedavg", "scaffold")
COLLAPSE = {"accuracy": 0.75, "R": 5.0}
NEAR = 0.03
Found = Mapping[str, Mapping[str, Against]]


def table1(asked: Asked) -> Figure:
    """Run what is not there yet, and hold every number against print."""
    made = trained(asked)
    found = {t.setting.split: judged.rows(t.seeded, TABLE1[asked.dataset]) for t in made}
    return Figure(
        title=f"Table 1: {made[0].setting.words.partition(',')[0]}, five local {asked.local}, {_seeds(asked)}",
        draw=draw,
        claims=tuple(c for t in made for c in claims(t, found[t.setting.split], tuned=asked.tuned)),
        result={**asked.facts(), "splits": {t.setting.split: _held(t, found[t.setting.split]) for t in made}},
        tables=(_table(found, quick=asked.quick), *((_steps(made[0]),) if asked.tuned else ())),
        notes=tuple(_notes(made, asked)),
    )


def claims(t: Trained, found: Found, *, tuned: bool) -> Iterator[Claim]:
    """What the paper prints and says, as far as this setting can speak of it."""
    where, s, own = t.setting.split, t.seeded, "scaff-pd-ia"
    others = tuple(name for name in s.values if name != own)
    if not t.setting.quick:
        yield from judged.numbers(found, where)
        if tuned:
            yield judged.at_once(found[own], f"{where}: tuned Scaff-PD-IA, the printed row at once")
        if t.setting.dataset == "mnist" and where == "class-ordered" and not tuned:
            yield from _collapse(found)
    for index, name in (("R", "R"), ("gini", "Gini")):
        yield better(s, (own, index), ("scaff-pd",), f"{where}: Scaff-PD-IA's {name} below Scaff-PD's", "smaller")
        yield better(
            s, (own, index), AVERAGING, f"{where}: Scaff-PD-IA's {name} below the averaging methods'", "smaller"
        )
        yield better(s, (own, index), others, f"{where}: Scaff-PD-IA's {name} below all others'", "smallest")
    yield better(s, (own, "accuracy"), others, f"{where}: Scaff-PD-IA's accuracy above all others'", "best")
    yield from _sentences(t)


def _collapse(found: Found) -> Iterator[Claim]:
    accuracy, R = found["fedavg"]["accuracy"], found["fedavg"]["R"]
    yield Claim(
        what="class-ordered: FedAvg collapses (accuracy at most .75, R at least 5)",
        printed=f"{accuracy.printed}, {R.printed}",
        ours=f"{accuracy.ours.mean:.4f}, {R.ours.mean:.3f}",
        agrees=accuracy.ours.mean <= COLLAPSE["accuracy"] and R.ours.mean >= COLLAPSE["R"],
    )
    accuracies = ("accuracy", "worst20_accuracy", "best20_accuracy")
    yield judged.near(found["safl"], accuracies, NEAR, f"class-ordered: SAFL's accuracies within {NEAR:g} of print")


def _sentences(t: Trained) -> Iterator[Claim]:
    """The text beside the table, which says another thing of each dataset."""
    where, s, own = t.setting.split, t.seeded, "scaff-pd-ia"
    worst = f"{where}: Scaff-PD-IA's worst 20 % above"
    if t.setting.dataset == "mnist":
        yield better(s, (own, "worst20_accuracy"), ("safl", "drfa"), f"{worst} SAFL's and DRFA's", "better")
        return
    yield better(s, (own, "worst20_accuracy"), ("drfa", "scaff-pd"), f"{worst} DRFA's and Scaff-PD's", "dominates")
    what = f"{where}: Scaff-PD-IA's accuracy above DRFA's and Scaff-PD's"
    yield better(s, (own, "accuracy"), ("drfa", "scaff-pd"), what, "dominates")


def _seeds(asked: Asked) -> str:
    steps = "tuned step sizes" if asked.tuned else "the paper's step sizes"
    if asked.quick:
        steps = "quick form"
    return f"{steps}, {asked.seeds} seed{'s' if asked.seeds > 1 else ''}"


def _held(t: Trained, found: Found) -> dict[str, Any]:
    own = {name: {c: list(t.seeded.values[name][c]) for c in COLUMNS} for name in t.seeded.values}
    gaps = {
        name: {c: difference(own["scaff-pd-ia"][c], own[name][c], t.seeded.level).to_dict() for c in COLUMNS}
        for name in own
        if name != "scaff-pd-ia"
    }
    return {
        "about": dict(t.seeded.about),
        "level": t.seeded.level,
        "specs": {name: _sizes(t, name) for name in own},
        "rows": {name: {c: a.to_dict() for c, a in row.items()} for name, row in found.items()},
        "values": own,
        "scaff-pd-ia less": gaps,
    }


def _sizes(t: Trained, name: str) -> dict[str, Any]:
    algorithm = t.specs[name].resolved().algorithm.options
    return {key: algorithm[key] for key in (*TUNED, "alpha", "beta", "phi") if key in algorithm}


def _table(found: Mapping[str, Found], *, quick: bool) -> Table:
    """A line of print and one of ours a split, for each algorithm."""
    lines = []
    for name, row in next(iter(found.values())).items():
        ours = [(split, *map(_cell, of[name].values())) for split, of in found.items()]
        both = ours if quick else [("printed", *(a.printed for a in row.values())), *ours]
        lines += [("" if k else name, *cells) for k, cells in enumerate(both)]
    return Table(headings=("algorithm", "split", *COLUMNS.values()), rows=tuple(lines))


def _cell(a: Against) -> str:
    """The mean; with several seeds half its interval, and whether print is inside the range of one further run."""
    if a.inside is None:
        return judged.said(a.ours.mean)
    return f"{judged.said(a.ours.mean)} ±{judged.said(a.ours.high - a.ours.mean)} {'in' if a.inside else 'out'}"


def _steps(t: Trained) -> Table:
    keys = (*TUNED, "phi", "alpha")
    lines = [(name, *(f"{_sizes(t, name)[k]:.4g}" if k in _sizes(t, name) else "" for k in keys)) for name in t.specs]
    return Table(title="Step sizes", headings=("algorithm", *keys), rows=tuple(lines))


def _notes(made: tuple[Trained, ...], asked: Asked) -> Iterator[str]:
    n = asked.seeds
    if n > 1:
        yield (
            f"± is half the 95 % t interval of the mean over n = {n} seeds, 0 to {n - 1}, each its own partition, "
            "split and start; «in»: the printed number lies where one further run would, x̄ ± t·s·√(1 + 1/n)."
        )
    else:
        yield "One seed (0): no intervals, so no printed number is judged; --seeds 2 or more judges them."
    if asked.quick:
        yield "Quick form: digits and other step sizes, so nothing here is comparable with print."
    yield f"{made[0].setting.words.partition(',')[0]}; 100 clients, each counts the same; validation rows."
    for t in made[:1]:
        yield from t.notes
