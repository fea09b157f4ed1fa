"""What a site holds: its rows, cut into training and validation, and what it tells of them. The rows never leave it."""

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from evenkeel.clients import Client
from evenkeel.data.build import build
from evenkeel.data.shards import Federation, Shards
from evenkeel.data.source import Source, from_tensors
from evenkeel.errors import InputError
from evenkeel.runs import Spec
from evenkeel.runs.parts import federation_of
from evenkeel.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One client's rows in a federation of one, and its name ("" where the server knows it).

    No vector leaves it that is made of fewer than `fewest` rows, whatever the server's spec says.
    """

    name: str
    rows: Federation
    at: int = 0
    fewest: int = 1

    def client(self, task: Task, number: int) -> Client:
        """The client that the steps know; its draws are keyed by its number in the whole federation."""
        return replace(Client.of(task, self.rows, self.at), id=number)

    def demand_enough(self, settings: Mapping[str, Any]) -> None:
        """Refuse a step whose vectors would be made of too few rows; a batch of 0 is all of them."""
        rows = int(self.rows.train.sizes[self.at])
        asked = [int(settings.get(name, 0)) for name in ("batch", "control_batch")]
        least = min(min(batch or rows, rows) for batch in asked)
        if least < self.fewest:
            rule = f"this site sends no vector made of fewer than {self.fewest}"
            raise InputError(f"batches of {least} rows are asked for, {rule}; raise work.batch and work.control_batch")

    def described(self) -> dict[str, Any]:
        """What the server is told at the start: name, sizes, the shape of a row, the number of classes."""
        train, valid = int(self.rows.train.sizes[self.at]), int(self.rows.valid.sizes[self.at])
        shape = list(self.rows.x.shape[1:])
        return {"name": self.name, "train": train, "valid": valid, "shape": shape, "classes": self.rows.classes}


def rowless(
    names: Sequence[str],
    train: Sequence[int],
    valid: Sequence[int],
    *,
    shape: Sequence[int],
    classes: int,
    origin: str = "",
) -> Federation:
    """Who has how many rows of which shape, and no rows: all that a server knows.

    >>> f = rowless(["a", "b"], [3, 4], [1, 0], shape=(5,), classes=2)
    >>> f.n, f.train.sizes.tolist(), tuple(f.x.shape)
    (2, [3, 4], (0, 5))
    """
    y = torch.empty(0, dtype=torch.int64 if classes else torch.float32)
    return Federation(
        x=torch.empty((0, *shape)),
        y=y,
        train=_sized(train),
        valid=_sized(valid),
        names=tuple(names),
        classes=classes,
        origin=origin,
    )


def _sized(sizes: Sequence[int]) -> Shards:
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Shards(rows=np.empty(0, np.int64), offsets=offsets)


def load_site(config: Mapping[str, Any], spec: Spec, environment: Mapping[str, str]) -> Site:
    """The site that a node's settings name: a part of the spec's own data, or a file with `load()` at the site."""
    name, fewest = str(config.get("name", "")), int(config.get("fewest", 1))
    file = str(config.get("site") or environment.get("EVENKEEL_SITE", ""))
    if file:
        return Site(name=name, rows=_own(file, name, spec), fewest=fewest)
    rows = _dealt(spec)
    if "part" in config:
        part = str(config["part"])
        if part not in rows.names:
            raise InputError(f"part = {part!r}: no such client in the spec's data; known: {', '.join(rows.names[:5])}…")
        return Site(name=name or part, rows=rows, at=rows.names.index(part), fewest=fewest)
    if "partition-id" in config:  # Flower's simulation
        at = int(config["partition-id"])
        if at >= rows.n:
            raise InputError(f"node {at}: the spec's data have {rows.n} clients; start as many nodes")
        return Site(name=rows.names[at], rows=rows, at=at)
    raise InputError('this node has no data: start it with --node-config \'name="…" site="/path/to/site.py"\'')


@functools.lru_cache(maxsize=4)
def _dealt_as(table: str) -> Federation:
    import tomllib

    return federation_of(Spec.of(tomllib.loads(table)))


def _dealt(spec: Spec) -> Federation:
    """The rows of the spec, loaded once a process."""
    return _dealt_as(spec.to_toml())


@functools.lru_cache(maxsize=4)
def _own_source(file: str) -> Any:  # noqa: ANN401 — whatever the site's engineer returns
    path = Path(file)
    if not path.is_file():
        raise InputError(f"site = {file}: no such file; give the path of the site's own loader")
    described = importlib.util.spec_from_file_location("evenkeel_site", path)
    if described is None or described.loader is None:
        raise InputError(f"site = {file}: must be a Python file")
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    if not callable(getattr(module, "load", None)):
        raise InputError(f"{file}: has no load(); define one that returns (x, y)")
    return module.load()


def _own(file: str, name: str, spec: Spec) -> Federation:
    held = _own_source(file)
    if isinstance(held, Source):
        source = held
    elif isinstance(held, tuple) and len(held) == 2:
        source = from_tensors(*held, name=name or "site")
    else:
        raise InputError(f"{file}: load() gives a {type(held).__name__}; must give (x, y) or a Source")
    alone = replace(source, groups=np.zeros(len(source), np.int64), group_names=(name or "site",))
    how = spec.partition
    seed = spec.seed if how.seed is None else how.seed
    return build(alone, partition="column", split=how.split, fraction=how.fraction, seed=seed)
