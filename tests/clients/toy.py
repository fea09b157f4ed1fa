"""Toy federations with ragged clients, among them one of a single row."""

import numpy as np
import torch

from evenkeel.data.shards import Federation, Shards

SIZES = (7, 1, 12, 4, 9)


def federation(*, row_shape=(6,), classes=3, sizes=SIZES, seed=0, weighted=False, dtype=torch.float64):
    """Random rows; the last client has no validation rows; `weighted` gives each row its own loss factor."""
    gen, total = np.random.default_rng(seed), sum(sizes)
    valid = [2] * (len(sizes) - 1) + [0]
    order = gen.permutation(total + sum(valid))
    cut = np.split(order, np.cumsum([*sizes, *valid])[:-1])
    x = torch.from_numpy(gen.normal(size=(len(order), *row_shape))).to(dtype)
    y = gen.integers(0, classes, len(order)) if classes else gen.normal(size=len(order))
    return Federation(
        x=x,
        y=torch.from_numpy(y),
        train=Shards.of(cut[: len(sizes)]),
        valid=Shards.of(cut[len(sizes) :]),
        names=tuple(f"site-{i}" for i in range(len(sizes))),
        classes=classes,
        row_weight=torch.from_numpy(gen.uniform(0.5, 2, len(order))) if weighted else None,
    )
