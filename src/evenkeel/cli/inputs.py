"""From a sheet to loss tables: which columns, which rows, which run, and the labels that travel with every number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenkeel.data.table import RULES, Sheet, shown
from evenkeel.errors import InputError, nearest
from evenkeel.indices import LossTable

MOST_RUNS = 50
MOST_GROUPS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the user says of a table. `accuracy` None: the column of that name, if there is one."""

    client: str = "client"
    loss: str = "loss"
    accuracy: str | None = None
    size: str = "size"
    by: str | None = None
    compare: str | None = None
    only: tuple[str, ...] = ()
    split: str | None = None
    population: str | None = None
    sized: bool = False


def tables(sheet: Sheet, choice: Choice) -> dict[str, LossTable]:
    """One loss table a run; a table without runs is one run with the name "".

    >>> from evenkeel.data.table import parse
    >>> sheet = parse(b"run,client,loss\\nx,a,1\\ny,a,2\\n", name="t.csv", kind="csv")
    >>> {run: t.loss.tolist() for run, t in tables(sheet, Choice(compare="run")).items()}
    {'x': [1.0], 'y': [2.0]}
    """
    sheet = _only(sheet, choice.only)
    sheet, split = _split(sheet, choice.split)
    if choice.compare is None:
        return {"": _table(sheet, choice, split)}
    runs = _parts(sheet, choice.compare, "--compare", MOST_RUNS)
    if len(runs) < 2:
        raise InputError(
            f"{sheet.name}: column '{shown(choice.compare)}' has one value, '{shown(next(iter(runs)))}': comparing "
            "needs two runs; leave --compare out"
        )
    return {run: _table(part, choice, split) for run, part in runs.items()}


def _table(sheet: Sheet, choice: Choice, split: str) -> LossTable:
    accuracy = choice.accuracy or ("accuracy" if "accuracy" in sheet.columns else None)
    only = " and ".join(choice.only)
    return LossTable(
        client=_objects(sheet.clients(choice.client, "--client")),
        loss=sheet.numbers(choice.loss, RULES["loss"], "--loss"),
        accuracy=sheet.numbers(accuracy, RULES["accuracy"], "--accuracy") if accuracy else None,
        size=sheet.numbers(choice.size, RULES["size"], "--size") if choice.sized else None,
        group=_objects(_labels(sheet, choice.by, "--by", MOST_GROUPS).to_list()) if choice.by else None,
        population=choice.population or (f"clients with {only}" if only else "all clients"),
        split=split,
    )


def _only(sheet: Sheet, conditions: Sequence[str]) -> Sheet:
    """The rows in which every COLUMN=VALUE holds."""
    for condition in conditions:
        column, equals, value = condition.partition("=")
        if not equals:
            raise InputError(f"--only {shown(condition)}: must be COLUMN=VALUE, such as --only region=north")
        sheet = _rows(sheet, column, value, "--only")
    return sheet


def _split(sheet: Sheet, wanted: str | None) -> tuple[Sheet, str]:
    """The rows of one split and its name. Without a column `split`, the name is only a label."""
    if "split" not in sheet.columns:
        return sheet, wanted or "not stated"
    if wanted is not None:
        return _rows(sheet, "split", wanted, "--split"), wanted
    values = sheet.texts("split", "--split").unique(maintain_order=True).to_list()
    if len(values) > 1:
        known = ", ".join(shown(v) for v in values[:8])
        raise InputError(f"{sheet.name}: column 'split' has several values ({known}); say which one with --split")
    return sheet, values[0]


def _rows(sheet: Sheet, column: str, value: str, option: str) -> Sheet:
    values = sheet.texts(column, option)
    mask = (values == value).to_numpy()
    if not mask.any():
        known = [shown(v) for v in values.unique(maintain_order=True)[:20].to_list() if len(v) < 100]
        raise InputError(
            f"{sheet.name}: no row has {shown(column)} = '{shown(value)}' ({option}); {nearest(shown(value), known)}"
        )
    return sheet.take(mask)


def _labels(sheet: Sheet, column: str, option: str, most: int) -> pl.Series:
    values = sheet.texts(column, option)
    if values.n_unique() > most:
        raise InputError(
            f"{sheet.name}: column '{shown(column)}' has {values.n_unique():,} values, {option} takes {most:,}; "
            "choose a coarser column"
        )
    return values


def _parts(sheet: Sheet, column: str, option: str, most: int) -> Mapping[str, Sheet]:
    values = _labels(sheet, column, option, most)
    return {v: sheet.take((values == v).to_numpy()) for v in values.unique(maintain_order=True).to_list()}


def _objects(texts: Sequence[str]) -> NDArray[np.object_]:
    """An object array, not one of fixed width: a single long name must not widen a million rows."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
