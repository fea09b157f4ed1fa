"""From a page's content to the tables that its figures draw; at most `MOST_CLIENTS` clients in the maps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenkeel.data.table import shown
from evenkeel.indices import INDICES, LossTable
from evenkeel.report.blocks import Block, Values
from evenkeel.report.charts.look import MOST_SERIES
from evenkeel.report.content import Content, Mix, Series, Weights
from evenkeel.report.writing import percent

if TYPE_CHECKING:  # runs load torch, which an audit's page does without
    from evenkeel.runs.paired import Seeded

MOST_CLIENTS, MOST_ROUNDS = 200, 100
NAME = 80  # characters of a client's name in a figure
ROUNDS = ("mean", "R", "worst20_loss", "worst20_accuracy", "seconds", "absent")

Tables = dict[str, list[Block]]


def tables(content: Content) -> Tables:
    """Every table that the content can fill; an empty one is left out."""
    s = content.series[:MOST_SERIES]
    found = {
        "clients": [_clients(one) for one in s],
        "lorenz": [_lorenz(one) for one in s],
        "intervals": _seeded(content.seeded) or [_intervals(one) for one in s if one.audit.intervals],
        "rounds": [_rounds(one.name, _n(one), one.rounds) for one in s if one.rounds is not None],
        "weights": [_weights(one.name, one.weights) for one in s if one.weights is not None],
        "mix": [mix_block(one.name, one.mix) for one in s if one.mix is not None],
        "sizes": [_sizes(one.name, one.table, one.table.size) for one in s if one.table.size is not None],
        "frontier": _frame(content.frontier),
        "curve": _frame(content.curve),
    }
    return {name: blocks for name, blocks in found.items() if blocks}


def labels(names: Sequence[str]) -> list[str]:
    """Clients' names as figures show them: one short printable line each, and still no two alike.

    >>> labels(["a", "x" * 100 + "1", "x" * 100 + "2"])[1][-6:], labels(["x" * 100 + "1", "x" * 100 + "2"])[1][-8:]
    ('xxxxx…', ' (row 2)')
    """
    seen: set[str] = set()
    out = []
    for row, name in enumerate(names, start=1):
        short = shown(name, most=NAME)
        short = f"{short} (row {row})" if short in seen else short
        seen.add(short)
        out.append(short)
    return out


def _clients(s: Series) -> Block:
    t = s.table
    columns: dict[str, Values] = {"loss": t.loss, "at_loss": _share(t.loss)}
    if t.accuracy is not None:
        columns |= {"accuracy": t.accuracy, "at_accuracy": _share(-t.accuracy)}
    if t.size is not None:
        columns["size"] = t.size
    if s.mix is not None:
        columns["mix"] = _mixes(t, s.mix)
    return Block(over={"client": labels(t.client.tolist())}, columns=columns, fixed={"run": s.name, "n": t.n})


def _share(badness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where each client stands, best-off first, as a share of the clients."""
    at = np.empty(badness.size)
    at[np.argsort(badness, kind="stable")] = (np.arange(badness.size) + 0.5) / badness.size
    return at


def _mixes(table: LossTable, mix: Mix) -> list[str]:
    """Each client's classes in words, the commonest first."""
    row = {client: i for i, client in enumerate(mix.client)}
    return [_mixture(mix, row[client]) if client in row else "" for client in table.client.tolist()]


def _mixture(mix: Mix, i: int) -> str:
    counts = mix.counts[i]
    most = [k for k in np.argsort(-counts, kind="stable")[:3].tolist() if counts[k]]
    said = ", ".join(f"{mix.classes[k]}: {percent(round(counts[k] / counts.sum(), 2))}" for k in most)
    return f"{said}, others" if (counts > 0).sum() > len(most) else said


def _lorenz(s: Series) -> Block:
    x, share = np.array(s.audit.lorenz).T
    return Block(columns={"x": x, "share": share, "gap": share - x}, fixed={"run": s.name})


def _intervals(s: Series) -> Block:
    held = [name for name in s.audit.intervals if name in INDICES]
    low, high = zip(*(s.audit.intervals[name] for name in held), strict=True)
    value = [getattr(s.audit, name) for name in held]
    return Block(columns={"index": held, "value": value, "low": low, "high": high}, fixed={"run": s.name})


def _seeded(seeded: "Seeded | None") -> list[Block]:
    """Means over seeds with their intervals, where there are several seeds."""
    if seeded is None:
        return []
    held = [name for name in seeded.indices if name in INDICES]
    found = {run: [seeded.mean(run, name) for name in held] for run in seeded.values}
    return [
        Block(
            columns={
                "index": held,
                "value": [e.mean for e in means],
                "low": [e.low for e in means],
                "high": [e.high for e in means],
            },
            fixed={"run": run},
        )
        for run, means in found.items()
    ]


def thinned(n: int, most: int) -> NDArray[np.int64]:
    """At most `most` of n places, evenly, with the first and the last.

    >>> thinned(5, 3).tolist(), thinned(2, 3).tolist()
    ([0, 2, 4], [0, 1])
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def _rounds(run: str, n: int, rounds: pl.DataFrame) -> Block:
    keep = rounds[thinned(rounds.height, 4 * MOST_ROUNDS).tolist()]
    columns = {name: keep[name].to_list() for name in ROUNDS if name in keep.columns}
    if "lam_max" in rounds.columns and rounds["lam_max"].null_count() < rounds.height:
        columns |= {end: (keep[f"lam_{of}"] * n).to_list() for end, of in (("low", "min"), ("high", "max"))}
    if "bytes_up" in rounds.columns:
        sent = (rounds["bytes_up"] + rounds["bytes_down"]).cum_sum()  # null in the last row, which takes no step
        columns["sent"] = sent[thinned(rounds.height, 4 * MOST_ROUNDS).tolist()].to_list()
    return Block(columns={"round": keep["round"].to_list(), **columns}, fixed={"run": run})


def _n(s: Series) -> int:
    """Among how many clients the weights are shared out: those without rows in the split, too."""
    return s.table.n if s.weights is None else s.weights.n


def _weights(run: str, w: Weights) -> Block:
    """The clients with the smallest and the largest last weights, where there are too many for all of them."""
    order = np.argsort(w.lam[-1], kind="stable")
    if order.size > MOST_CLIENTS:
        order = np.concatenate([order[: MOST_CLIENTS // 2], order[-MOST_CLIENTS // 2 :]])
    when = thinned(len(w.round), MOST_ROUNDS)
    names = np.array(labels(w.client), dtype=object)[order]
    axes: dict[str, Values] = {"round": w.round[when], "place client": list(enumerate(names.tolist()))}
    return Block(
        over=axes,
        columns={"lam": w.lam[when][:, order].ravel()},
        fixed={"run": run, "n": w.n, "end": int(w.round[-1])},
    )


def mix_block(run: str, mix: Mix) -> Block:
    """Rows of each client in each class, the largest clients first."""
    total = mix.counts.sum(axis=1)
    order = np.argsort(-total, kind="stable")
    order = order[thinned(order.size, MOST_CLIENTS)]
    names = labels(mix.client)
    axes = {
        "place client total": [(p, names[i], int(total[i])) for p, i in enumerate(order.tolist())],
        "class": mix.classes,
    }
    return Block(over=axes, columns={"count": mix.counts[order].ravel()}, fixed={"run": run})


def _sizes(run: str, table: LossTable, size: NDArray[np.float64]) -> Block:
    order = np.argsort(-size, kind="stable")
    order = order[thinned(order.size, MOST_CLIENTS)]
    names = labels(table.client.tolist())
    axis = [(p, names[i]) for p, i in enumerate(order.tolist())]
    return Block(over={"place client": axis}, columns={"rows": size[order]}, fixed={"run": run})


def _frame(frame: pl.DataFrame | None) -> list[Block]:
    return [] if frame is None or frame.is_empty() else [Block(columns={c: frame[c].to_list() for c in frame.columns})]
