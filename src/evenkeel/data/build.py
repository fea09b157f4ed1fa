"""The one way from rows to a `Federation`: source → partition → split."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenkeel.data.options import complete
from evenkeel.data.partitions import PARTITIONS
from evenkeel.data.shards import Federation, Shards
from evenkeel.data.source import Source, client_names
from evenkeel.data.splits import split as cut
from evenkeel.errors import InputError, nearest


def build(
    source: Source,
    *,
    partition: str | None = None,
    n: int | None = None,
    split: str = "shuffled",
    fraction: float = 0.8,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Federation:
    """Deal the rows of a source out to n clients and cut each client's rows into training and validation.

    `partition` is one of PARTITIONS with its `options`. Left out, it is "column" where the rows have clients of
    their own and the paper's "dirichlet" elsewhere; `n` left out is all groups, or the paper's 100.

    >>> from evenkeel.data.source import from_tensors
    >>> f = build(from_tensors([[0.0]] * 10, [0, 1] * 5), partition="iid", n=2)
    >>> f.train.sizes.tolist(), f.valid.sizes.tolist(), f.names
    ([4, 4], [1, 1], ('client-0', 'client-1'))
    """
    name = partition or ("dirichlet" if source.groups is None else "column")
    if name not in PARTITIONS:
        raise InputError(f"partition = {name!r}: no such partition; {nearest(name, PARTITIONS)}")
    chosen = complete(PARTITIONS[name], options or {}, f"partition {name!r}")
    if name == "column":
        if source.groups is None:
            raise InputError(f"partition 'column': the rows of {source.name!r} have no client; give client=, or 'iid'")
        owned = PARTITIONS[name](source.groups, n, seed, **chosen)
        names = source.group_names
    else:
        owned = PARTITIONS[name](source.y.numpy(), 100 if n is None else n, seed, **chosen)
        names = client_names(owned.n)
    train, valid = cut(owned, source.y.numpy(), how=split, fraction=fraction, seed=seed)
    settings = f"({', '.join(f'{key}={value}' for key, value in chosen.items())})" if chosen else ""
    return Federation(
        x=source.x,
        y=source.y,
        train=train,
        valid=valid,
        names=names,
        classes=source.classes,
        row_weight=source.row_weight,
        origin="; ".join(
            [
                f"{source.name}, {len(source):,} rows",
                f"partition {name}{settings}, {owned.n} clients",
                f"split {split} {fraction:g}",
                f"seed {seed}",
                *_remarks(owned),
            ]
        ),
    )


def _remarks(owned: Shards) -> list[str]:
    """What a reader of the numbers should know about these clients."""
    alone = int(np.count_nonzero(owned.sizes == 1))
    single = [f"{alone} clients have one row, which trains, and no validation rows"] if alone else []
    return single + ([owned.note] if owned.note else [])
