"""A federation on disk, for more clients than memory holds: rows and row tables are files mapped into memory.

The store is a folder of .npy files: `x`, `y`, perhaps `row_weight`; `train` and `valid` (row numbers, client after
client) with `train_offsets` and `valid_offsets`; perhaps `names`; and `store.json`, written last. A client's rows lie
side by side, those that train first. Only what is asked is read: a cohort of 1,000 touches the pages of 1,000 clients.

>>> import tempfile
>>> from evenkeel.data.build import build
>>> from evenkeel.data.source import from_tensors
>>> small = build(from_tensors([[float(i)] for i in range(10)], [0, 1] * 5), partition="iid", n=2)
>>> found = open_store(write_federation(Path(tempfile.mkdtemp()) / "store", small))
>>> found.n, found.x[found.train[1]].equal(small.x[small.train[1]]), found.names[1]
(2, True, 'client-1')
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from evenkeel.data.columns import Column, mapped
from evenkeel.data.names import Names
from evenkeel.data.options import number
from evenkeel.data.shards import Federation, Shards
from evenkeel.draws import bits
from evenkeel.errors import InputError
from evenkeel.protocol import Key

MANIFEST, FORMAT = "store.json", 1
Ids = NDArray[np.int64]


class Block(NamedTuple):
    """Some clients: their rows client after client, each client's training rows first, and how many of each."""

    x: NDArray[Any]
    y: NDArray[Any]
    train: Ids
    valid: Ids
    names: tuple[str, ...] = ()
    row_weight: NDArray[Any] | None = None


def dealt(x: Any, y: Any, sizes: Ids, *, first: int, fraction: float = 0.8, seed: int = 0) -> Block:  # noqa: ANN401
    """A block of clients numbered from `first` with so many rows each: shuffled, then ⌊fraction·m⌋ of m rows train.

    Each client keeps a training row. The order is a value of (seed, client, row), not of the block.

    >>> dealt(np.zeros((6, 1)), np.zeros(6), np.array([5, 1]), first=0).train.tolist()
    [4, 1]
    """
    number("fraction", fraction, 1e-9, 1 - 1e-9, "0.8 trains on four rows of five")
    owner = np.repeat(np.arange(first, first + len(sizes)), sizes)
    row = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = np.lexsort((bits(Key(seed, 0), "store/split", owner, row), owner))
    train = np.clip((fraction * sizes + 1e-9).astype(np.int64), 1, np.maximum(sizes - 1, 1))
    return Block(np.asarray(x)[order], np.asarray(y)[order], train, sizes - train)


def write(folder: str | Path, blocks: Iterable[Block], *, classes: int, origin: str) -> Path:
    """Write a store block by block; memory holds one block. `classes` is 0 for a regression."""
    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise InputError(f"{place}: is there already; give a folder that does not exist yet")
    place.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        columns, names = _columns(files, place, blocks, classes)
    if not columns or columns["train_offsets"].rows < 2:
        raise InputError(f"{place}: no clients; give at least one block")
    if names:
        _write_names(place, names, columns["train_offsets"].rows - 1)
    digest = hashlib.sha256("".join(columns[name].digest.hexdigest() for name in sorted(columns)).encode())
    digest.update("\0".join(names).encode())
    facts = {"format": FORMAT, "classes": classes, "origin": origin, "files": sorted(columns), "named": bool(names)}
    (place / MANIFEST).write_text(json.dumps(facts | {"digest": digest.hexdigest()}, indent=2) + "\n", "utf-8")
    return place


def _columns(
    files: ExitStack, place: Path, blocks: Iterable[Block], classes: int
) -> tuple[dict[str, Column], list[str]]:
    """All columns, filled."""
    columns: dict[str, Column] = {}
    names: list[str] = []
    ends = {"rows": 0, "train": 0, "valid": 0}

    def column(name: str, dtype: Any, row: tuple[int, ...] = ()) -> Column:  # noqa: ANN401 — what np.dtype takes
        if name not in columns:
            columns[name] = files.enter_context(Column(place / f"{name}.npy", dtype, row))
            if name.endswith("_offsets"):
                columns[name].add([0])
        return columns[name]

    for block in blocks:
        _refuse(block, classes, str(place))
        x = np.asarray(block.x)
        column("x", np.float16 if x.dtype == np.float16 else np.float32, x.shape[1:]).add(x)
        column("y", np.int64 if classes else np.float32).add(block.y)
        if block.row_weight is not None:
            column("row_weight", np.float32).add(block.row_weight)
        sizes = block.train + block.valid
        first = ends["rows"] + np.cumsum(sizes) - sizes
        for part, start, count in (("train", first, block.train), ("valid", first + block.train, block.valid)):
            column(part, np.int64).add(_ranges(start, count))
            column(f"{part}_offsets", np.int64).add(ends[part] + np.cumsum(count))
            ends[part] += int(count.sum())
        ends["rows"] += int(sizes.sum())
        names += block.names
    return columns, names


def _ranges(start: Ids, count: Ids) -> Ids:
    """start_i, start_i + 1, … for each client, one after the other.

    >>> _ranges(np.array([0, 7]), np.array([2, 1])).tolist()
    [0, 1, 7]
    """
    return np.repeat(start - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))


def _refuse(block: Block, classes: int, name: str) -> None:
    """What `Source` refuses of rows in memory is refused here when they are written."""
    rows = int((block.train + block.valid).sum())
    if not rows == len(block.x) == len(block.y):
        raise InputError(f"{name}: {len(block.x)} rows of x, {len(block.y)} of y, {rows} owned: must be as many")
    if bool((block.train < 1).any()) or bool((block.valid < 0).any()):
        raise InputError(f"{name}: a client without training rows: each needs at least one; leave it out")
    for what, values in (("x", block.x), ("y", block.y), ("row_weight", block.row_weight)):
        if values is not None and not bool(np.isfinite(np.sum(values, dtype=np.float64))):
            raise InputError(f"{name}: {what} holds NaN or infinity: must be finite; fill it in or drop the row")
    if classes and (np.min(block.y) < 0 or np.max(block.y) >= classes):
        raise InputError(f"{name}: labels must lie in 0…{classes - 1}; number them from 0, or raise classes")
    if block.names and len(block.names) != len(block.train):
        raise InputError(f"{name}: {len(block.names)} names for {len(block.train)} clients: must be as many")


def _write_names(place: Path, names: list[str], n: int) -> None:
    table = np.array([name.encode() for name in names])
    if len(table) != n or len(np.unique(table)) < n:
        raise InputError(f"{place}: {len(set(names))} different names for {n} clients: must be one each; rename")
    np.save(place / "names.npy", table)


def write_federation(folder: str | Path, federation: Federation, *, at_once: int = 10_000) -> Path:
    """Write a federation that is in memory; so many clients a block."""
    return write(folder, _blocks(federation, at_once), classes=federation.classes, origin=federation.origin)


def _blocks(federation: Federation, at_once: int) -> Iterator[Block]:
    for first in range(0, federation.n, at_once):
        ids = range(first, min(first + at_once, federation.n))
        rows = np.concatenate([part[i] for i in ids for part in (federation.train, federation.valid)])
        at = torch.from_numpy(rows)
        yield Block(
            federation.x[at].numpy(),
            federation.y[at].numpy(),
            federation.train.sizes[ids.start : ids.stop],
            federation.valid.sizes[ids.start : ids.stop],
            tuple(federation.names[i] for i in ids),
            None if federation.row_weight is None else federation.row_weight[at].numpy(),
        )


def open_store(store: str | Path) -> Federation:
    """The federation of a store, mapped: nothing is read but the offsets, when they are used."""
    place = Path(store)
    try:
        facts = json.loads((place / MANIFEST).read_text("utf-8"))
        if facts["format"] != FORMAT:
            raise ValueError(f"format {facts['format']}, not {FORMAT}")
    except (OSError, ValueError, KeyError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"{place}: holds no store ({reason.lower()}); `evenkeel.data.mapped.write` makes one"
        ) from None
    held = {name: mapped(place / f"{name}.npy") for name in facts["files"]}
    train, valid = (Shards(rows=held[part], offsets=held[f"{part}_offsets"]) for part in ("train", "valid"))
    names = mapped(place / "names.npy") if facts["named"] else None
    return Federation(
        x=torch.from_numpy(held["x"]),
        y=torch.from_numpy(held["y"]),
        train=train,
        valid=valid,
        names=Names(train.n, names),
        classes=facts["classes"],
        row_weight=torch.from_numpy(held["row_weight"]) if "row_weight" in held else None,
        origin=facts["origin"],
        digest=facts["digest"],
    )


STORES: dict[str, Callable[..., Federation]] = {"mapped": open_store}  # whole federations by name, as SOURCES are rows
