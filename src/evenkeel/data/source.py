"""Rows before anyone owns them: a `Source`, and the two shortest ways to make one of your own arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from evenkeel.errors import InputError

Groups = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """N rows `x` (float32) with targets `y`: class numbers (int64) if `classes` > 0, else numbers (float32).

    `groups` is the client that each row belongs to by nature (a species, a hospital), as a number into
    `group_names`; None where a partition has to deal the rows out. `row_weight` multiplies each row's loss.

    >>> s = Source(x=torch.zeros(3, 2), y=torch.tensor([0, 1, 1]), classes=2, name="tiny")
    >>> len(s), s.row_shape
    (3, (2,))
    """

    x: Tensor
    y: Tensor
    classes: int
    name: str
    groups: Groups | None = None
    group_names: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    row_weight: Tensor | None = None

    def __post_init__(self) -> None:
        if not 0 < len(self.x) == len(self.y):
            raise InputError(f"{self.name}: {len(self.x)} rows of x, {len(self.y)} of y: must be as many, at least one")
        if self.x.ndim < 2 or self.x.numel() == 0:
            raise InputError(f"{self.name}: x of shape {tuple(self.x.shape)}: must be rows of features; give (N, d)")
        if self.classes:
            _refuse_labels(self.y, self.classes, self.name)
        for what, values in (("x", self.x), ("y", self.y), ("row_weight", self.row_weight)):
            _refuse_non_finite(values, f"{self.name}: {what}")
        if self.row_weight is not None and (self.row_weight.shape != (len(self.x),) or self.row_weight.min() < 0):
            raise InputError(f"{self.name}: row_weight must be one number of at least 0 a row; give {len(self.x)}")
        if self.groups is not None:
            _refuse_groups(self.groups, len(self.x), self.group_names, self.name)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of one row, as a model factory needs it."""
        return tuple(self.x.shape[1:])


def _refuse_labels(y: Tensor, classes: int, name: str) -> None:
    """Labels are whole numbers in 0, …, classes − 1; a class may be absent."""
    if y.dtype != torch.int64 or y.ndim != 1:
        raise InputError(f"{name}: y is {y.dtype} of shape {tuple(y.shape)}: class numbers are int64, one a row")
    bad = (y < 0) | (y >= classes)
    if bad.any():
        row = int(bad.int().argmax())
        raise InputError(
            f"{name}: y = {int(y[row])} in row {row}: labels must lie in 0…{classes - 1}; number them from 0, or raise "
            "classes"
        )


def _refuse_non_finite(values: Tensor | None, what: str) -> None:
    """One NaN or infinity spoils a sum, so one fast pass clears good data; only bad data are searched."""
    if values is None or not values.is_floating_point() or torch.isfinite(values.sum()):
        return
    good = torch.isfinite(values).reshape(len(values), -1).all(dim=1)
    if not good.all():
        row = int((~good).int().argmax())
        raise InputError(f"{what} in row {row} holds NaN or infinity: must be finite; fill it in or drop the row")


def _refuse_groups(groups: Groups, rows: int, names: Sequence[str], name: str) -> None:
    """Every row has a client, and every client a row."""
    if groups.shape != (rows,) or groups.min() < 0 or groups.max() >= len(names):
        raise InputError(f"{name}: groups must give each of the {rows} rows a number in 0…{len(names) - 1}")
    if len(set(names)) < len(names):
        twice = next(a for i, a in enumerate(names) if a in names[:i])
        raise InputError(f"{name}: client {twice!r} is there twice: names must differ; join its rows or rename one")
    empty = np.flatnonzero(np.bincount(groups, minlength=len(names)) == 0)
    if len(empty):
        raise InputError(f"{name}: client {names[empty[0]]!r} has no rows: each needs at least one; leave it out")


def from_tensors(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    *,
    clients: ArrayLike | None = None,
    classes: int | None = None,
    name: str = "tensors",
) -> Source:
    """Your own rows, one target each; `clients` names the client of each row.

    Whole-number targets are classes (their number is max + 1 unless given), others are a regression's.

    >>> s = from_tensors([[0.1], [0.2], [0.3]], [0, 1, 0], clients=["b", "a", "b"])
    >>> s.classes, s.group_names, s.groups.tolist()
    (2, ('a', 'b'), [1, 0, 1])
    """
    rows, target = _tensor(x, f"{name}: x").to(torch.float32), _tensor(y, f"{name}: y")
    if classes is None:
        whole = not target.is_floating_point() and target.numel() > 0
        classes = max(int(target.max()) + 1, 1) if whole else 0
    if classes and target.is_floating_point() and not bool((target == target.round()).all()):
        raise InputError(f"{name}: y has fractions: class numbers are whole; give classes=0 for a regression")
    names: tuple[str, ...] = ()
    groups = None
    if clients is not None:
        names, groups = _grouped(clients, name)
        if groups.shape != rows.shape[:1]:
            raise InputError(f"{name}: clients names {groups.size} rows, x is {tuple(rows.shape)}: must be one a row")
    return Source(
        x=rows,
        y=target.to(torch.int64 if classes else torch.float32),
        classes=classes,
        name=name,
        groups=groups,
        group_names=names,
    )


def _grouped(clients: ArrayLike, name: str) -> tuple[tuple[str, ...], Groups]:
    """The clients' names in ascending order, and each row's number among them."""
    marks = np.asarray(clients)
    if marks.dtype.kind not in "biuSU" and not all(isinstance(m, str) for m in marks.ravel()):
        raise InputError(f"{name}: clients must be text or whole numbers, one a row, none missing")
    labels, groups = np.unique(marks, return_inverse=True)
    return tuple(str(label) for label in labels), groups.astype(np.int64)


def from_arrays(
    clients: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    names: Sequence[str] | None = None,
    classes: int | None = None,
    name: str = "arrays",
) -> Source:
    """Your own clients: one (x, y) each, in this order.

    >>> s = from_arrays([([[0.0], [1.0]], [0, 1]), ([[2.0]], [1])])
    >>> len(s), s.group_names, s.groups.tolist()
    (3, ('client-0', 'client-1'), [0, 0, 1])
    """
    ids = client_names(len(clients)) if names is None else tuple(names)
    if not clients or len(ids) != len(clients):
        raise InputError(f"{name}: {len(clients)} clients, {len(ids)} names: must be as many, at least one")
    pairs = [
        (_tensor(x, f"{name}: x of {c!r}"), _tensor(y, f"{name}: y of {c!r}"))
        for c, (x, y) in zip(ids, clients, strict=True)
    ]
    for client, (x, y) in zip(ids, pairs, strict=True):
        if not 0 < len(x) == len(y):
            raise InputError(
                f"{name}: client {client!r} has {len(x)} rows of x and {len(y)} of y: must be as many, at least one"
            )
        if x.shape[1:] != pairs[0][0].shape[1:]:
            raise InputError(
                f"{name}: rows of client {client!r} have shape {tuple(x.shape[1:])}, those of {ids[0]!r} "
                f"{tuple(pairs[0][0].shape[1:])}: must be the same; check the features"
            )
    groups = np.repeat(np.arange(len(ids)), [len(x) for x, _ in pairs])
    plain = from_tensors(torch.cat([x for x, _ in pairs]), torch.cat([y for _, y in pairs]), classes=classes, name=name)
    return Source(x=plain.x, y=plain.y, classes=plain.classes, name=name, groups=groups, group_names=ids)


def client_names(n: int) -> tuple[str, ...]:
    """Names for clients that have none; they sort as the clients do.

    >>> client_names(11)[:2]
    ('client-00', 'client-01')
    """
    width = len(str(n - 1))
    return tuple(f"client-{i:0{width}d}" for i in range(n))


def _tensor(values: ArrayLike | Tensor, what: str) -> Tensor:
    """A tensor of numbers with at least one axis; anything else is refused."""
    try:
        tensor = values.detach() if isinstance(values, Tensor) else torch.from_numpy(np.array(values))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} is no array of numbers ({str(error).splitlines()[0]}); give rows of one shape"
        ) from None
    if tensor.ndim == 0:
        raise InputError(f"{what} is a single number: must have one entry a row; give an array")
    return tensor
