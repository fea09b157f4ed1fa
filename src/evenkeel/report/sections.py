"""Which figures a page has, in which order, and what is said beside each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenkeel.data.table import shown
from evenkeel.report.blocks import Tables
from evenkeel.report.charts import clients, frontier, partition, rounds, weights
from evenkeel.report.charts.look import MOST_SERIES
from evenkeel.report.content import Content, Series
from evenkeel.report.gather import MOST_CLIENTS
from evenkeel.report.writing import percent

SHOWN = ("R", "mean", "worst20_loss", "gini")  # with their intervals, where there is something to compare


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure: `says` is how to read it, `about` whom it counts. `single` figures show one series at a time."""

    id: str
    title: str
    says: str
    about: str
    table: str
    spec: dict[str, Any]
    single: bool = False
    wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Figures under one heading."""

    id: str
    title: str
    figures: tuple[Figure, ...]


def about(series: Sequence[Series], *, short: bool = False) -> str:
    """Population, split and weighting of every series.

    >>> from evenkeel.indices import LossTable, audit
    >>> t = LossTable.of(loss=[1.0], split="test")
    >>> about([Series(name="a", table=t, audit=audit(t, draws=0))])
    'Population: all clients. Split: test. Each client counts the same.'
    """
    populations = " | ".join(dict.fromkeys(_population(s, short=short) for s in series))
    splits = " | ".join(dict.fromkeys(s.table.split for s in series))
    sized = any(s.audit.weighting == "size" for s in series)
    counts = "Clients count by size" if sized else "Each client counts the same"
    return f"Population: {populations}. Split: {splits}. {counts}."


def _population(s: Series, *, short: bool) -> str:
    """The population; in a figure's caption without the settings of its partition, which the page's head has."""
    told = shown(s.table.population, most=400)
    return f"{s.table.n:,} clients, {told.partition(';')[0]}" if short and ";" in told else told


def sections(content: Content, tables: Tables) -> tuple[Section, ...]:
    """Every section that has something to show."""
    drawn = content.series[:MOST_SERIES]
    found = (
        Section(id="frontier", title=_priced(tables), figures=_frontier(content, tables)),
        Section(id="clients", title="Who is worse off", figures=_clients(content, drawn)),
        Section(id="sure", title="How sure that is", figures=_intervals(content, drawn, tables)),
        Section(id="rounds", title="Round by round", figures=_rounds(drawn, tables)),
        Section(id="weights", title="Who got weight", figures=_weights(drawn, tables)),
        Section(id="data", title="Who has which data", figures=_data(drawn, tables)),
        Section(id="cost", title="What it took", figures=_cost(drawn, tables)),
    )
    return tuple(replace(s, figures=_even(_of_a_seed(content, s))) for s in found if s.figures)


def _priced(tables: Tables) -> str:
    return "What fairness costs" if "frontier" in tables else "How φ was chosen"


def _of_a_seed(content: Content, section: Section) -> tuple[Figure, ...]:
    """Where sentences are means over seeds, a figure of one seed says of which."""
    if content.seeded is None or section.id in {"sure", "frontier"}:
        return section.figures
    of = f" Seed {content.series[0].facts.get('seed', content.seeded.seeds[0])}."
    return tuple(replace(figure, about=figure.about + of) for figure in section.figures)


def _even(figures: Sequence[Figure]) -> tuple[Figure, ...]:
    """Two a row: where one narrow figure would stand alone, it takes the row."""
    narrow = [f for f in figures if not f.wide]
    alone = narrow[-1] if len(narrow) % 2 else None
    return tuple(replace(f, wide=True) if f is alone else f for f in figures)


def _clients(content: Content, drawn: Sequence[Series]) -> tuple[Figure, ...]:
    names, first = [s.name for s in drawn], drawn[0]
    n, told = max(s.table.n for s in drawn), about(drawn, short=True)
    tails = {"alpha": first.audit.alpha, "beta": first.audit.beta}
    every = clients.spacing(sum(s.table.n for s in drawn))
    some = f" One client in {every} has a point, the ends all have; any can be marked by name." if every > 1 else ""
    shaded = (
        f"The grey bands are the tails that R compares: best {percent(tails['beta'])}, worst {percent(tails['alpha'])}."
    )
    unweighted = about(drawn, short=True).replace("Clients count by size", "Each client is one point or step")
    found = [
        Figure(
            id="losses", title="Loss of every client", wide=True, table="clients", about=unweighted,
            says=f"A flat line: all clients alike. A steep right end: a few are far worse off. {shaded}{some}",
            spec=clients.in_order(names, "loss", n, **tails, every=every),
        ),
        Figure(
            id="lorenz", title="Lorenz curve of the losses", table="lorenz", about=told,
            says="The further below the dashed diagonal, the more of all loss a few clients bear.",
            spec=clients.lorenz(names),
        ),
        Figure(
            id="gap", title="Lorenz curve, less the diagonal", table="lorenz", about=told,
            says="The same, magnified: the area between curve and zero is half of the Gini coefficient.",
            spec=clients.lorenz_gap(names),
        ),
    ]  # fmt: skip
    if all(s.table.accuracy is not None for s in drawn):
        accuracy = Figure(
            id="accuracies", title="Accuracy of every client", wide=True, table="clients", about=unweighted,
            says=f"In the order of accuracy, which need not be that of the losses.{some}",
            spec=clients.in_order(names, "accuracy", n, **tails, every=every),
        )  # fmt: skip
        found.insert(1, accuracy)
    return tuple(found)


def _intervals(content: Content, drawn: Sequence[Series], tables: Tables) -> tuple[Figure, ...]:
    if len(drawn) < 2 or "intervals" not in tables:
        return ()
    names, level = [s.name for s in drawn], percent(drawn[0].audit.level)
    says = f"Points with {level} intervals: how the index would vary if other clients like these had come."
    told = about(drawn, short=True)
    if content.seeded is not None:
        n = len(content.seeded.seeds)
        says = f"Means over {n} seeds with {level} intervals: how sure a mean is, were other seeds drawn."
        told += f" Seeds {', '.join(map(str, content.seeded.seeds))}."
    titles = {
        "R": "Relative unfairness R",
        "mean": "Mean loss",
        "worst20_loss": "Loss of the worst-off",
        "gini": "Gini coefficient",
    }
    return tuple(
        Figure(
            id=f"sure-{name}", title=titles[name], says=says, about=told, table="intervals",
            spec=clients.intervals(names, name, _axis(titles[name]) if name != "R" else name),
        )
        for name in SHOWN
    )  # fmt: skip


def _axis(title: str) -> str:
    """A title inside a figure: no capital, but for names.

    >>> _axis("Mean loss"), _axis("Gini coefficient")
    ('mean loss', 'Gini coefficient')
    """
    return title if title.startswith("Gini") else title[0].lower() + title[1:]


def _has(tables: Tables, table: str, column: str) -> bool:
    return any(
        any(v is not None for v in block.columns[column]) for block in tables.get(table, ()) if column in block.columns
    )


_OVER_ROUNDS = (
    ("mean", "Mean loss", "Read every other index next to this one.", "~g"),
    ("R", "Relative unfairness R", "1 is equality; falling is fairer only if the mean loss falls as well.", "~g"),
    ("worst20_loss", "Loss of the worst-off", "Mean loss of the clients with the largest loss.", "~g"),
    ("worst20_accuracy", "Accuracy of the worst-off", "Mean accuracy of the clients with the lowest accuracy.", "%"),
)


def _rounds(drawn: Sequence[Series], tables: Tables) -> tuple[Figure, ...]:
    names, told = [s.name for s in drawn], about(drawn, short=True)
    found = [
        Figure(
            id=f"rounds-{column}", title=title, says=says, about=told, table="rounds",
            spec=rounds.over_rounds(names, column, title.lower() if column != "R" else "R", form=form),
        )
        for column, title, says, form in _OVER_ROUNDS
        if _has(tables, "rounds", column)
    ]  # fmt: skip
    if _has(tables, "rounds", "high"):
        says = "From the smallest to the largest n·λ. The dashed line at 1 is averaging; below 0, a weight is negative."
        weighted = [s.name for s in drawn if s.weights is not None] or names
        spec = rounds.weight_range(names, weighted)
        told = _training(drawn, " Each client has a weight of its own.")
        found.append(
            Figure(id="range", title="Range of the weights λ", says=says, about=told, table="rounds", spec=spec)
        )
    return tuple(found)


def _training(drawn: Sequence[Series], counts: str) -> str:
    """Whom a figure of the training is about; λ is steered by training losses, whatever split is evaluated."""
    return about(drawn, short=True).partition(" Split")[0] + " Split: train, whose losses steer λ." + counts


def _weights(drawn: Sequence[Series], tables: Tables) -> tuple[Figure, ...]:
    if "weights" not in tables:
        return ()
    n = max(len(s.weights.client) for s in drawn if s.weights is not None)
    some = f" The {MOST_CLIENTS} clients with the smallest and largest last weights." if n > MOST_CLIENTS else ""
    who = _training(drawn, " Each client has the weight that is shown." + some)
    return (
        Figure(
            id="weights", title="Weight of every client at the end", single=True, table="weights", about=who,
            says="Blue bars pull the model towards a client. Orange bars, below zero, push it away from the best-off.",
            spec=weights.last(),
        ),
        Figure(
            id="weights-map", title="Weights over the rounds", single=True, table="weights", about=who,
            says="One line a client: whose loss decided what was learned, and when.",
            spec=weights.over_time(),
        ),
    )  # fmt: skip


def _data(drawn: Sequence[Series], tables: Tables) -> tuple[Figure, ...]:
    n = max(s.table.n for s in drawn)
    some = f" {MOST_CLIENTS} of {n:,} clients, evenly taken." if n > MOST_CLIENTS else ""
    who = (
        about(drawn, short=True).partition(" Split")[0]
        + " Split: training and validation rows together. Each client counts the same."
        + some
    )
    found = []
    if "mix" in tables:
        says = "Rows of each client in each class, training and validation together. Even columns: clients are alike."
        spec = partition.mix_map()
        found.append(Figure(
            id="mix", title="Partition: clients × classes", says=says, about=who, table="mix", spec=spec, single=True,
        ))  # fmt: skip
    if "sizes" in tables:
        says = "Rows behind each client's loss."
        spec = partition.sizes()
        told = about(drawn, short=True) + some
        found.append(
            Figure(
                id="sizes", title="Size of every client", says=says, about=told, table="sizes", spec=spec, single=True
            )
        )
    return tuple(found)


def _cost(drawn: Sequence[Series], tables: Tables) -> tuple[Figure, ...]:
    names, who = (
        [s.name for s in drawn],
        about(drawn, short=True).partition(" Split")[0] + " Split: train. All clients together.",
    )
    found = []
    if _has(tables, "rounds", "sent"):
        says = "Bytes up and down since the start, by formula, whatever the transport."
        spec = rounds.over_rounds(names, "sent", "bytes sent", form="~s", zero=True)
        found.append(Figure(id="sent", title="Communication", says=says, about=who, table="rounds", spec=spec))
    if _has(tables, "rounds", "seconds"):
        says = "Time of each round's training step, on the machine named below."
        spec = rounds.over_rounds(names, "seconds", "seconds a round", form="~g", zero=True)
        found.append(Figure(id="seconds", title="Time", says=says, about=who, table="rounds", spec=spec))
    if any(v for b in tables.get("rounds", ()) for v in b.columns.get("absent", ())):
        says = "Clients that were asked and did not answer."
        found.append(
            Figure(
                id="absent", title="Absent clients", says=says, about=who, table="rounds", spec=rounds.absences(names)
            )
        )
    return tuple(found)


def _frontier(content: Content, tables: Tables) -> tuple[Figure, ...]:
    told, found = about(content.series, short=True), []
    if content.frontier is not None and "frontier" in tables:
        spec = frontier.frontier(content.setting, intervals="R_low" in content.frontier.columns)
        says = f"Down is better for everybody, left is fairer. Each point is a value of {content.setting}."
        found.append(
            Figure(
                id="frontier-figure",
                title="Mean loss against R",
                says=says,
                about=told,
                table="frontier",
                spec=spec,
                wide=True,
            )
        )
    if "curve" in tables:
        says = "What choosing φ predicts from the run at φ = 0, and what runs at other φ measured."
        spec = frontier.utility(content.chosen)
        found.append(
            Figure(id="utility", title="Choice of φ", says=says, about=told, table="curve", spec=spec, wide=True)
        )
    return tuple(found)
