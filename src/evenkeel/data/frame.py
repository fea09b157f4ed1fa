"""Your own table, one row an example: `from_frame` makes a `Source` of a data frame, a CSV or a Parquet file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import torch

from evenkeel.data.source import Source
from evenkeel.data.table import Sheet, load, shown
from evenkeel.errors import InputError, nearest

MOST_CATEGORIES = 256
_ABSENT = ["", "na", "n/a", "nan", "null"]


def from_frame(
    table: object,
    *,
    client: str,
    target: str,
    features: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    weight: str | None = None,
    kind: Literal["auto", "classes", "number"] = "auto",
    standardize: bool = False,
) -> Source:
    """A polars or pandas frame, or the path of a CSV or Parquet file, as a source with a client for each row.

    Features are all other columns unless named; text, truth values and the `categorical` ones become one column for
    each value (one-hot). `standardize` brings number columns to mean 0 and deviation 1 over all rows of all clients.
    Text, truth values and 0/1 targets are classes, fractions a regression; other whole numbers need `kind`.

    >>> t = pl.DataFrame({"shop": ["a", "b", "a"], "size": [1.0, 2.0, 3.0], "hue": ["red", "blue", "red"],
    ...                   "price": [9.5, 8.0, 7.5]})
    >>> s = from_frame(t, client="shop", target="price")
    >>> s.features, s.x.tolist()[0], s.group_names
    (('size', 'hue=blue', 'hue=red'), [1.0, 0.0, 1.0], ('a', 'b'))
    """
    sheet = _sheet(table)
    marks = (client, target, *([weight] if weight else []))
    _refuse_unknown(sheet, [*marks, *(features or ()), *categorical])
    names = [c for c in sheet.columns if c not in marks] if features is None else list(features)
    if not names or set(names) & set(marks) or len(set(names)) < len(names):
        raise InputError(
            f"{sheet.name}: features {names}: must be other columns than {list(marks)}, each once, at least one"
        )
    _refuse_missing(sheet, [*marks, *names])
    columns: dict[str, pl.Series] = {}
    for name in names:
        columns |= _columns(sheet, name, one_hot=name in categorical, standardize=standardize)
    x = np.column_stack([s.cast(pl.Float64).to_numpy() for s in columns.values()])
    y, class_names = _target(sheet, target, kind)
    groups, group_names = _codes(sheet.frame[client])
    return Source(
        x=torch.from_numpy(x.astype(np.float32)),
        y=torch.from_numpy(y),
        classes=len(class_names),
        name=sheet.name,
        groups=groups,
        group_names=group_names,
        class_names=class_names,
        features=tuple(columns),
        row_weight=torch.from_numpy(_numbers(sheet, weight).astype(np.float32)) if weight else None,
    )


def _sheet(table: object) -> Sheet:
    """Whatever was given as a sheet with typed columns, which knows where each row stands."""
    if isinstance(table, (str, Path)):
        read = load(str(table))
        text = not str(table).lower().endswith((".parquet", ".pq"))
        return replace(read, name=Path(table).name, frame=_typed(read.frame) if text else read.frame)
    if type(table).__module__.split(".")[0] == "pandas":
        # Through plain lists, because polars reads pandas' own columns only with pyarrow at hand.
        frame: Any = table
        table = pl.DataFrame(frame.astype(object).where(frame.notna(), None).to_dict(orient="list"))
    table = table.collect() if isinstance(table, pl.LazyFrame) else table
    if not isinstance(table, pl.DataFrame):
        raise InputError(f"table is a {type(table).__name__}: must be a polars or pandas frame, or a path")
    if table.height == 0:
        raise InputError("table has no rows: give at least one row a client")
    return Sheet(name="table", frame=table, records=np.arange(table.height), place=lambda i: f"row {i}")


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    """Text cells as numbers, column by column, where all cells that are not missing are numbers."""
    return pl.DataFrame([_typed_column(column) for column in frame])


def _typed_column(column: pl.Series) -> pl.Series:
    text = column.str.strip_chars()
    text = text.set(text.str.to_lowercase().is_in(_ABSENT), None)
    for dtype in (pl.Int64, pl.Float64):
        numbers = text.cast(dtype, strict=False)
        if numbers.null_count() == text.null_count():
            return numbers
    return text


def _refuse_unknown(sheet: Sheet, names: Sequence[str]) -> None:
    for name in names:
        if name not in sheet.columns:
            raise InputError(f"{sheet.name}: no column {shown(name)!r}; {nearest(name, sheet.columns)}")


def _refuse_missing(sheet: Sheet, names: Sequence[str]) -> None:
    """The first cell without a value, by its place in the file."""
    for name in names:
        column = sheet.frame[name]
        absent = column.is_null() | (column.is_nan() if column.dtype.is_float() else False)
        if absent.any():
            row = int(absent.arg_max() or 0)
            raise sheet.error(row, f"{shown(name)!r} has no value: every cell needs one; fill it in or drop the row")


def _is_text(column: pl.Series) -> bool:
    return column.dtype in (pl.String, pl.Boolean) or column.dtype in (pl.Categorical, pl.Enum)


def _columns(sheet: Sheet, name: str, *, one_hot: bool, standardize: bool) -> dict[str, pl.Series]:
    """One feature as columns of numbers: itself, or one for each of its values in ascending order."""
    column = sheet.frame[name]
    if not one_hot and not _is_text(column):
        numbers = pl.Series(_numbers(sheet, name))
        if standardize:
            numbers = (numbers - numbers.mean()) / (numbers.std(ddof=0) or 1.0)
        return {name: numbers}
    codes, values = _codes(column)
    if len(values) > MOST_CATEGORIES:
        raise InputError(
            f"{sheet.name}: column {shown(name)!r} has {len(values)} different values, at most {MOST_CATEGORIES} make "
            "one-hot columns; leave it out of features, or group its values"
        )
    return {f"{name}={value}": pl.Series(codes == i) for i, value in enumerate(values)}


def _numbers(sheet: Sheet, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column of finite numbers."""
    column = sheet.frame[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise InputError(f"{sheet.name}: column {shown(name)!r} holds {column.dtype}: must be numbers; convert it")
    values = column.cast(pl.Float64).to_numpy()
    good = np.abs(values) <= np.finfo(np.float32).max
    if not good.all():
        row = int(np.argmin(good))
        raise sheet.error(row, f"{shown(name)} = {values[row]:g}: must fit a 32-bit float; rescale the column")
    return values


def _codes(column: pl.Series) -> tuple[np.ndarray[Any, np.dtype[np.int64]], tuple[str, ...]]:
    """Each row's value as a number, and the values in ascending order."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    values, codes = np.unique(column.to_numpy(), return_inverse=True)
    return codes.astype(np.int64), tuple(str(value) for value in values)


def _target(sheet: Sheet, name: str, kind: str) -> tuple[np.ndarray[Any, Any], tuple[str, ...]]:
    """Class numbers with the classes' names, or plain numbers with none."""
    if kind not in ("auto", "classes", "number"):
        raise InputError(f"kind = {kind!r}: must be auto, classes or number")
    column = sheet.frame[name]
    if kind == "auto" and column.dtype.is_integer() and not column.is_in([0, 1]).all():
        raise InputError(
            f"{sheet.name}: target {shown(name)!r} holds whole numbers: classes or amounts? give kind='classes' or "
            "kind='number'"
        )
    if kind == "classes" or (kind == "auto" and (_is_text(column) or column.dtype.is_integer())):
        return _codes(column)
    return _numbers(sheet, name).astype(np.float32), ()
