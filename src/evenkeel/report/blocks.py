"""A page's data, once and by column: ten thousand weights take some bytes each, not a row of keys.

A table is a list of blocks. A block's rows are the product of its axes, the last running fastest (a run's weights
are rounds × clients); its columns have one value a row. An axis may carry several names, "place client", and then
holds a tuple of values at each place. Axes are kept once a page, however many blocks share them.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = Sequence[Any] | NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Rows that share something: `fixed` holds for all of them, `over` are the axes, `columns` the values."""

    over: Mapping[str, Values] = field(default_factory=dict)
    columns: Mapping[str, Values] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Rows of the block."""
        if self.over:
            return math.prod(len(axis) for axis in self.over.values())
        return len(next(iter(self.columns.values())))


Tables = Mapping[str, Sequence[Block]]


def encode(tables: Tables) -> dict[str, Any]:
    """The tables as JSON takes them: numbers in five digits, what is not finite as null, equal axes once.

    >>> coded = encode({"t": [Block(over={"client": ["a", "b"]}, columns={"loss": [1.0, 1 / 3]}, fixed={"run": "x"})]})
    >>> coded["axes"], coded["tables"]["t"][0]["columns"]
    ([['a', 'b']], [['loss', [1, 0.33333]]])
    """
    axes: dict[str, int] = {}
    held: list[Any] = []

    def place(axis: Values) -> int:
        values = _plain(axis)
        key = json.dumps(values)
        if key not in axes:
            axes[key] = len(held)
            held.append(values)
        return axes[key]

    def block(b: Block) -> dict[str, Any]:
        over = [[name.split(), place(axis)] for name, axis in b.over.items()]
        columns = [[name, _plain(values)] for name, values in b.columns.items()]
        return {"over": over, "columns": columns, "fixed": dict(b.fixed)}

    coded = {name: [block(b) for b in blocks] for name, blocks in tables.items()}
    return {"axes": held, "tables": coded}


def rows(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """The rows of a table as the page expands them; for pictures made without a browser.

    >>> rows([Block(over={"round": [1, 2], "place client": [(0, "a")]}, columns={"lam": [0.5, 1.0]})])[1]
    {'round': 2, 'place': 0, 'client': 'a', 'lam': 1}
    """
    return [row for block in blocks for row in _rows(block)]


def _rows(b: Block) -> list[dict[str, Any]]:
    axes = [[_named(name, value) for value in _plain(axis)] for name, axis in b.over.items()]
    places = product(*axes) if axes else ((),) * b.n
    columns = {name: _plain(values) for name, values in b.columns.items()}
    found = []
    for i, place in enumerate(places):
        row = dict(b.fixed)
        for held in place:
            row |= held
        found.append(row | {name: values[i] for name, values in columns.items()})
    return found


def _named(names: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - a cell
    several = names.split()
    return dict(zip(several, value, strict=True)) if len(several) > 1 else {names: value}


def _plain(values: Values) -> list[Any]:
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [_cell(v) for v in listed]


def _cell(x: Any) -> Any:  # noqa: ANN401 - a cell
    if isinstance(x, tuple):
        return [_cell(part) for part in x]
    if not isinstance(x, float):
        return x
    if not math.isfinite(x):
        return None
    short = float(f"{x:.5g}")
    if not math.isfinite(short):  # rounded up beyond the largest float
        return x
    return int(short) if short.is_integer() else short
