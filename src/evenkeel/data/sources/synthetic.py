"""Synthetic(α, β) of Li et al. (q-FFL, ICLR 2020; first in FedProx, MLSys 2020).

Client k has a model of its own: W_k and b_k have entries N(u_k, 1), with u_k ~ N(0, α); its rows are x ~ N(v_k, Σ),
Σ diagonal with Σ_jj = j^−1.2, v_k with entries N(B_k, 1), B_k ~ N(0, β); y = argmax(xW_k + b_k). α says how much the
models differ, β the rows. N(0, α) has variance α, as the paper writes it; the authors' code takes α as the deviation,
which differs unless α is 0 or 1. Sizes are ⌊lognormal(4, 2)⌋ + 50, as in the authors' code: a heavy tail.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from evenkeel.data.options import number, whole
from evenkeel.data.source import Source, client_names
from evenkeel.draws import generator

Floats = NDArray[np.float64]


class Client(NamedTuple):
    """One client's rows with the model and the centre they were drawn from."""

    x: NDArray[np.float32]
    y: NDArray[np.int64]
    W: Floats
    b: Floats
    v: Floats


def draw(seed: int, k: int, *, rows: int, alpha: float, beta: float, features: int, classes: int) -> Client:
    """Client k, the same whatever the other clients are.

    >>> draw(0, 3, rows=5, alpha=1.0, beta=1.0, features=4, classes=2).x.shape
    (5, 4)
    """
    rng = generator(seed, "synthetic", k)
    u, B = rng.normal(0, np.sqrt(alpha)), rng.normal(0, np.sqrt(beta))
    W, b, v = rng.normal(u, 1, (features, classes)), rng.normal(u, 1, classes), rng.normal(B, 1, features)
    deviation = np.arange(1, features + 1) ** -0.6  # the root of j^−1.2
    x = rng.normal(v, deviation, (rows, features)).astype(np.float32)
    y = np.argmax(x.astype(np.float64) @ W + b, axis=1)
    return Client(x, y, W, b, v)


def load(
    *,
    n: int = 100,
    alpha: float = 1.0,
    beta: float = 1.0,
    columns: int = 60,
    classes: int = 10,
    least: int = 50,
    mean: float = 4.0,
    sigma: float = 2.0,
    seed: int = 0,
) -> Source:
    """n clients with ⌊lognormal(mean, sigma)⌋ + least rows each.

    >>> s = load(n=3, alpha=0.5, beta=0.5, sigma=0.0)
    >>> s.name, len(s), s.row_shape, s.classes
    ('synthetic(0.5, 0.5)', 312, (60,), 10)
    """
    for option, value, lowest in (("n", n, 1), ("columns", columns, 1), ("classes", classes, 2), ("least", least, 1)):
        whole(f"synthetic: {option}", value, lowest)
    for option, level in (("alpha", alpha), ("beta", beta), ("sigma", sigma), ("mean", mean)):
        number(f"synthetic: {option}", level, 0, 10, "the papers take 0, 0.5 and 1")
    whole("synthetic: seed", seed, 0)
    sizes = generator(seed, "synthetic", "sizes").lognormal(mean, sigma, n).astype(np.int64) + least
    clients = [
        draw(seed, k, rows=int(m), alpha=alpha, beta=beta, features=columns, classes=classes)
        for k, m in enumerate(sizes)
    ]
    return Source(
        x=torch.from_numpy(np.concatenate([c.x for c in clients])),
        y=torch.from_numpy(np.concatenate([c.y for c in clients])),
        classes=classes,
        name=f"synthetic({alpha:g}, {beta:g})",
        groups=np.repeat(np.arange(n), sizes),
        group_names=client_names(n),
    )
