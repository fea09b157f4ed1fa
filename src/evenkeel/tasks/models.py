"""The built-in models. Each entry makes a Task from the shape of a row and the number of classes (0: regression)."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import nn

from evenkeel.errors import InputError, nearest
from evenkeel.tasks.task import Task


def _kind(classes: int) -> str:
    return "classification" if classes else "regression"


def mlp(
    row_shape: Sequence[int],
    classes: int,
    *,
    hidden: int = 50,
    dropout: float = 0.5,
    l2: float = 0.0,
    dtype: torch.dtype = torch.float32,
) -> Task:
    """Two fully connected layers, ReLU and dropout between: the paper's network for MNIST is 784-50-10.

    >>> mlp((28, 28), 10).d
    39760
    """

    def make() -> nn.Module:
        first = nn.Linear(math.prod(row_shape), hidden)
        return nn.Sequential(nn.Flatten(), first, nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, max(classes, 1)))

    return Task(model=make, kind=_kind(classes), l2=l2, dtype=dtype)


def linear(row_shape: Sequence[int], classes: int = 0, *, l2: float = 0.0, dtype: torch.dtype = torch.float32) -> Task:
    """One linear layer: least squares for regression, softmax regression for classes.

    >>> linear((3,)).kind, linear((3,)).d
    ('regression', 4)
    """

    def make() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(row_shape), max(classes, 1)))

    return Task(model=make, kind=_kind(classes), l2=l2, dtype=dtype)


def ridge(row_shape: Sequence[int], classes: int = 0, *, l2: float = 1e-2, dtype: torch.dtype = torch.float32) -> Task:
    """Least squares with the term l2/2·‖θ‖² in every client's loss.

    >>> ridge((3,)).l2
    0.01
    """
    if classes:
        raise InputError(f"model 'ridge' with {classes} classes: it is a regression; use 'logistic' with l2")
    return linear(row_shape, 0, l2=l2, dtype=dtype)


def logistic(
    row_shape: Sequence[int], classes: int = 2, *, l2: float = 0.0, dtype: torch.dtype = torch.float32
) -> Task:
    """Logistic regression: one output for two classes, softmax for more.

    >>> logistic((4,)).kind, logistic((4,)).d, logistic((4,), 3).d
    ('binary', 5, 15)
    """
    if classes < 2:
        raise InputError(f"model 'logistic' with {classes} classes: needs at least 2; use 'linear' for regression")
    if classes > 2:
        return linear(row_shape, classes, l2=l2, dtype=dtype)
    return Task(model=linear(row_shape, 1).model, kind="binary", l2=l2, dtype=dtype)


def cnn(
    row_shape: Sequence[int],
    classes: int,
    *,
    width: int = 8,
    dropout: float = 0.0,
    l2: float = 0.0,
    dtype: torch.dtype = torch.float32,
) -> Task:
    """Two 3×3 convolutions with group norm, ReLU and pooling, then one linear layer; rows are (channels, h, w).

    >>> cnn((1, 8, 8), 10).kind
    'classification'
    """
    if len(row_shape) not in {2, 3} or min(row_shape[-2:]) < 4:
        raise InputError(f"model 'cnn' on rows of shape {tuple(row_shape)}: needs (channels, h, w), h and w at least 4")
    channels, h, w = (1, *row_shape)[-3:]

    def make() -> nn.Module:
        return nn.Sequential(
            nn.Unflatten(1, (1, h)) if len(row_shape) == 2 else nn.Identity(),
            nn.Conv2d(channels, width, 3, padding=1),
            nn.GroupNorm(2, width),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.GroupNorm(2, 2 * width),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(2 * width * (h // 4) * (w // 4), max(classes, 1)),
        )

    return Task(model=make, kind=_kind(classes), l2=l2, dtype=dtype)


MODELS: dict[str, Callable[..., Task]] = {
    "mlp": mlp,
    "linear": linear,
    "ridge": ridge,
    "logistic": logistic,
    "cnn": cnn,
}


def build(name: str, row_shape: Sequence[int], classes: int, **options: float | torch.dtype) -> Task:
    """The built-in task of this name, for rows of this shape.

    >>> build("mlp", (784,), 10, hidden=50).d
    39760
    """
    if name not in MODELS:
        raise InputError(f"model = {name!r}: no such model; {nearest(name, MODELS)}")
    return MODELS[name](row_shape, classes, **options)
