"""Who has which classes: a table beside a run's rounds and clients, written once, for the map of the partition."""

import io
from pathlib import Path

import numpy as np

from evenkeel.data.describe import describe
from evenkeel.data.shards import Federation
from evenkeel.runs import store

PARTITION = "partition.parquet"  # client, class, count: training and validation rows together
MOST_CELLS = 1_000_000  # a map of more would be no map


def keep(folder: Path, federation: Federation) -> None:
    """Write the table unless it is there; none for a regression, or where the rows are elsewhere (a real federation).

    >>> from tempfile import TemporaryDirectory
    >>> from evenkeel.data.build import build
    >>> from evenkeel.data.source import from_arrays
    >>> rows = build(from_arrays([([[0.0]] * 4, [0] * 4), ([[0.0]] * 4, [1] * 4)]))
    >>> with TemporaryDirectory() as place:
    ...     keep(Path(place), rows)
    ...     import polars
    ...     polars.read_parquet(Path(place) / PARTITION)["count"].to_list()
    [4, 0, 0, 4]
    """
    file = folder / PARTITION
    if file.exists() or not 0 < federation.n * federation.classes <= MOST_CELLS or not _here(federation):
        return
    content = io.BytesIO()
    describe(federation).table().write_parquet(content)
    store.write(file, content.getvalue(), durable=False)


def _here(federation: Federation) -> bool:
    rows = np.concatenate([federation.train.rows, federation.valid.rows])
    return rows.size > 0 and int(rows.max()) < len(federation.y)
