"""The Palmer penguins (Horst, Hill and Gorman, 2020; CC0): the regression of the paper, one client a species."""

from dataclasses import replace
from importlib.resources import files

import polars as pl

from evenkeel.data.frame import from_frame
from evenkeel.data.options import whole
from evenkeel.data.source import Source

FEATURES = ("bill_depth_mm", "flipper_length_mm")
TARGET = "bill_length_mm"


def table() -> pl.DataFrame:
    """All 344 rows as published, missing values as null.

    >>> table().shape
    (344, 8)
    """
    return pl.read_csv(files("evenkeel.data").joinpath("bundled", "penguins.csv").read_bytes(), null_values="NA")


def load(*, first: int = 0) -> Source:
    """Bill length from bill depth and flipper length; rows with one of them missing are dropped.

    `first` = 10 then keeps the first ten of each species, as in the paper's experiment; 0 keeps all.

    >>> len(load()), len(load(first=10)), load().group_names
    (342, 30, ('Adelie', 'Chinstrap', 'Gentoo'))
    """
    whole("penguins: first", first, 0)
    rows = table().drop_nulls([*FEATURES, TARGET])
    if first:
        rows = rows.filter(pl.int_range(pl.len()).over("species") < first)
    source = from_frame(rows, client="species", target=TARGET, features=FEATURES)
    return replace(source, name=f"penguins, first {first} of each species" if first else "penguins")
