"""Vectors that wait until they can be summed in client order: small ones in memory, large ones on disk.

λ is known only after every loss is, so the c_i that came with the losses have to wait; on disk they cost no memory.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.federation.packing import Packed, tensor

_LARGE = 2**20


@dataclass(slots=True)
class Shelf:
    """Packed vectors by name and client."""

    _held: dict[str, dict[int, Packed]] = field(default_factory=dict)
    _files: dict[tuple[str, int], Path] = field(default_factory=dict)
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def put(self, client: int, arrays: Mapping[str, Packed]) -> None:
        """Keep one client's vectors."""
        for name, packed in arrays.items():
            if len(packed.data) > _LARGE:
                self._folder = self._folder or tempfile.TemporaryDirectory(prefix="evenkeel-")
                file = Path(self._folder.name) / f"{len(self._files)}"
                file.write_bytes(packed.data)
                self._files[name, client] = file
                packed = replace(packed, data=b"")  # noqa: PLW2901 — the bytes are on disk now
            self._held.setdefault(name, {})[client] = packed

    @property
    def names(self) -> list[str]:
        """The names of the vectors."""
        return list(self._held)

    def take(self, name: str, client: int) -> Tensor:
        """One vector."""
        packed, file = self._held[name][client], self._files.get((name, client))
        return tensor(packed if file is None else replace(packed, data=file.read_bytes()))

    def combined(self, name: str, ids: NDArray[np.int64], weights: NDArray[np.float64] | None) -> Tensor:
        """Σ w_i x_i in client order, exactly as the plain loop adds them; without weights one row a client."""
        if weights is None:
            return torch.stack([self.take(name, int(i)) for i in ids])
        total = self.take(name, int(ids[0])) * float(weights[0])
        for i, weight in zip(ids[1:], weights[1:], strict=True):
            total.add_(self.take(name, int(i)), alpha=float(weight))
        return total

    def close(self) -> None:
        """Remove what is on disk."""
        if self._folder is not None:
            self._folder.cleanup()
        self._folder = None
        self._held.clear()
        self._files.clear()
