"""Whether a model and the rows belong together: tried on one row before any work, so that a mistake is one line."""

import torch

from evenkeel.data.shards import Federation
from evenkeel.errors import InputError
from evenkeel.tasks import Task


def demand_fit(task: Task, federation: Federation) -> None:
    """Raise if the model cannot take a row, has other outputs than its kind needs, or a label lies outside.

    >>> from evenkeel.data.shards import Shards
    >>> from evenkeel.tasks import build
    >>> one = Shards.of([[0]])
    >>> rows = Federation(x=torch.zeros(1, 4), y=torch.tensor([2]), train=one, valid=one, names=("a",), classes=3)
    >>> demand_fit(build("mlp", (4,), 2), rows)
    Traceback (most recent call last):
    evenkeel.errors.InputError: model: has 2 outputs a row, the data 3 classes: must be at least as many
    """
    x, y = task.fit(federation.x[:1]), federation.y
    try:
        with torch.no_grad():
            out = task.outputs(task.init(0), x)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        reason = str(error).split("\n", 1)[0]
        raise InputError(f"model: cannot take rows of shape {tuple(x.shape[1:])} ({reason})") from None
    width = out[:1].numel()
    if len(out) != 1:
        raise InputError(f"model: gives {len(out)} outputs for one row: the first axis must be the rows")
    if task.kind != "classification":
        if width != y[:1].numel():
            raise InputError(f"model: has {width} outputs a row, the data {y[:1].numel()} targets: must be as many")
        most = 2 if task.kind == "binary" else 0
    else:
        most = federation.classes or width
        if width < most or out.dim() != 2:
            raise InputError(f"model: has {width} outputs a row, the data {most} classes: must be at least as many")
    if most and not federation.digest:  # mapped rows were looked at when they were written, and may be too many
        _demand_labels(y, most)


def _demand_labels(y: torch.Tensor, classes: int) -> None:
    outside = (y < 0) | (y >= classes)
    if bool(outside.any()):
        row = int(outside.reshape(len(y), -1).any(dim=1).int().argmax())
        raise InputError(f"y = {y[row].tolist()} in row {row}: labels must lie in 0…{classes - 1}; number them from 0")
