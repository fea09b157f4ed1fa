"""Checkpoints: an algorithm's state, the round and the tables so far, in one safetensors file.

The file's name holds the SHA-256 of its bytes: `000012-<digest>.safetensors`. A truncated or altered file does not
match its name and is passed over. The last two are kept. Nothing in it is code: tensors and JSON only.
"""

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from evenkeel.errors import InputError, RunFailedError
from evenkeel.runs import store

KEPT = 2
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What the next round needs: `round` is its number, `state` the algorithm's, `tables` the rows so far."""

    round: int
    state: Mapping[str, Any]
    tables: Mapping[str, bytes]
    facts: Mapping[str, str]

    def restored(self, like: Any, device: str = "cpu") -> Any:  # noqa: ANN401 — the algorithm's own state
        """The state as the dataclass that `like` is an instance of."""
        if {f.name for f in fields(like)} != set(self.state):
            raise RunFailedError(f"the state holds {sorted(self.state)}: another algorithm's; start the run again")
        placed = {name: v.to(device) if isinstance(v, Tensor) else v for name, v in self.state.items()}
        return replace(like, **placed)


def parquet(frame: pl.DataFrame, about: Mapping[str, str]) -> bytes:
    """A table as the bytes of a Parquet file; `about` says what its numbers were measured on."""
    out = io.BytesIO()
    frame.rechunk().write_parquet(out, metadata=dict(about))
    return out.getvalue()


def encode(checkpoint: Checkpoint) -> bytes:
    """As safetensors: tensors under "state.…", tables as bytes under "table.…", all else in the metadata."""
    tensors: dict[str, Tensor] = {}
    plain: dict[str, Any] = {}
    arrays = []
    for name, value in checkpoint.state.items():
        if isinstance(value, np.ndarray):
            arrays.append(name)
            tensors[f"state.{name}"] = torch.from_numpy(np.array(value))
        elif isinstance(value, Tensor):
            tensors[f"state.{name}"] = value.detach().cpu().clone()
        else:
            plain[name] = value
    for name, table in checkpoint.tables.items():
        tensors[f"table.{name}"] = torch.frombuffer(bytearray(table), dtype=torch.uint8)
    facts = {"round": checkpoint.round, "plain": plain, "arrays": arrays, "facts": dict(checkpoint.facts)}
    return save(tensors, {"evenkeel": json.dumps(facts, allow_nan=False)})


def decode(content: bytes) -> Checkpoint:
    """The inverse of `encode`."""
    size = int.from_bytes(content[:8], "little")
    facts = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["evenkeel"])
    tensors = load(content)
    state: dict[str, Any] = dict(facts["plain"])
    for name, tensor in tensors.items():
        kind, _, what = name.partition(".")
        if kind == "state":
            state[what] = tensor.numpy().copy() if what in facts["arrays"] else tensor.clone()
    tables = {n.removeprefix("table."): t.numpy().tobytes() for n, t in tensors.items() if n.startswith("table.")}
    return Checkpoint(round=facts["round"], state=state, tables=tables, facts=facts["facts"])


def keep(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint, then drop all but the last two."""
    content = encode(checkpoint)
    digest = hashlib.sha256(content).hexdigest()
    file = folder / store.STATE / f"{checkpoint.round:0{_DIGITS}d}-{digest}.safetensors"
    store.write(file, content)
    for old in found(folder)[KEPT:]:
        old.unlink(missing_ok=True)
    return file


def found(folder: Path) -> list[Path]:
    """The checkpoint files, the newest first."""
    return sorted((folder / store.STATE).glob("*-*.safetensors"), reverse=True)


def newest(folder: Path, warn: Callable[[str], None]) -> Checkpoint | None:
    """The newest checkpoint that is whole; one that is not is reported and passed over."""
    for file in found(folder):
        try:
            content = file.read_bytes()
            if hashlib.sha256(content).hexdigest() != file.stem.partition("-")[2]:
                raise ValueError("truncated or altered: its digest is another one")
            return decode(content)
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            warn(f"{file.name}: {error}; the checkpoint before it is used")
    return None


def final(state: Mapping[str, Tensor], order: Sequence[str], facts: Mapping[str, str]) -> bytes:
    """A model's state_dict as safetensors; `order` are its parameters as they lie in θ."""
    held = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in state.items()}
    return save(held, {"order": json.dumps(list(order)), **facts})


def tensors(file: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    try:
        return load(file.read_bytes())
    except (OSError, SafetensorError) as error:
        raise InputError(f"{file}: cannot be read ({error}); resume the run to write it again") from None


def flat(file: Path) -> Tensor:
    """θ from a file that `final` made."""
    held, content = tensors(file), file.read_bytes()
    size = int.from_bytes(content[:8], "little")
    order = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["order"])
    return torch.cat([held[name].reshape(-1) for name in order])
