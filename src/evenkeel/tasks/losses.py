"""Per-row losses and scores, from a model's output and the target."""

from collections.abc import Callable

import torch
from torch.nn import functional

PerRow = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _flat(out: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return out.reshape(len(out), -1), y.reshape(len(out), -1).to(out.dtype)


def cross_entropy(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """log Σ_k exp(out_k) − out_y, for class numbers y.

    >>> cross_entropy(torch.zeros(1, 4), torch.tensor([2])).exp().round().tolist()
    [4.0]
    """
    return functional.cross_entropy(out, y.long(), reduction="none")


def squared_error(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Σ (out − y)² over the outputs of a row, with no factor ½.

    >>> squared_error(torch.tensor([[3.0]]), torch.tensor([1.0])).tolist()
    [4.0]
    """
    out, y = _flat(out, y)
    return ((out - y) ** 2).sum(1)


def logistic(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """log(1 + exp(−out)) for y = 1 and log(1 + exp(out)) for y = 0.

    >>> logistic(torch.zeros(1, 1), torch.tensor([1])).exp().tolist()
    [2.0]
    """
    out, y = _flat(out, y)
    return functional.binary_cross_entropy_with_logits(out, y, reduction="none").sum(1)


def top_class(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """1 where the largest output is the row's class.

    >>> top_class(torch.tensor([[0.0, 2.0]]), torch.tensor([1])).tolist()
    [1.0]
    """
    return (out.argmax(1) == y).to(out.dtype)


def right_side(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """1 where the output's sign says the row's class (0 or 1).

    >>> right_side(torch.tensor([[-1.0], [2.0]]), torch.tensor([0, 0])).tolist()
    [1.0, 0.0]
    """
    out, y = _flat(out, y)
    return ((out > 0) == (y > 0.5)).all(1).to(out.dtype)


LOSSES: dict[str, PerRow] = {"classification": cross_entropy, "regression": squared_error, "binary": logistic}
SCORES: dict[str, PerRow] = {"classification": top_class, "regression": squared_error, "binary": right_side}
