"""Arrays as bytes, in four wire formats. Plain bytes and a shape: nothing that comes in is ever unpickled.

| wire | bytes of d numbers | |x̂ − x| |
|---|---|---|
| exact | d·itemsize | 0 |
| float32 | 4d | 2^−24·|x| |
| float16 | 2d + 4 | 2^−11·|x|, all scaled down together where a number exceeds 65504 |
| int8 | d + 4·⌈d/256⌉ | max|x|/254 of its block of 256 |
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.errors import InputError

WIRES = ("exact", "float32", "float16", "int8")
_DTYPES = {"float32": "<f4", "float64": "<f8", "int64": "<i8"}
_BLOCK, _LARGEST16, _MOST = 256, 65504.0, 2**33


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Numbers on their way: `dtype` is what comes out, `wire` how they travel."""

    wire: str
    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def facts(self) -> list[Any]:
        """All but the bytes, as JSON holds it."""
        return [self.wire, self.dtype, list(self.shape)]


def size(count: int, itemsize: int, wire: str) -> int:
    """The bytes of `count` numbers.

    >>> [size(1000, 4, w) for w in WIRES]
    [4000, 4000, 2004, 1016]
    """
    blocks = -(-count // _BLOCK)
    return {"exact": count * itemsize, "float32": 4 * count, "float16": 2 * count + 4, "int8": count + 4 * blocks}[wire]


def pack(values: Any, wire: str = "exact") -> Packed:  # noqa: ANN401 — an array or a tensor
    """Numbers as bytes. Whole numbers always travel as they are.

    >>> unpack(pack(np.array([0.0, 127.0, -3.0]), "int8")).tolist()
    [0.0, 127.0, -3.0]
    """
    if wire not in WIRES:
        raise InputError(f"wire = {wire!r}: must be one of {', '.join(WIRES)}")
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if array.dtype.name not in _DTYPES:
        raise InputError(f"an array of {array.dtype.name} cannot travel: must be one of {', '.join(_DTYPES)}")
    wire = wire if array.dtype.kind == "f" else "exact"
    return Packed(wire=wire, dtype=array.dtype.name, shape=array.shape, data=_bytes(array, wire))


def _bytes(array: NDArray[Any], wire: str) -> bytes:
    if wire == "exact":
        return bytes(np.ascontiguousarray(array, _DTYPES[array.dtype.name]).tobytes())
    flat = array.reshape(-1)
    if wire == "float32":
        return bytes(flat.astype("<f4").tobytes())
    if wire == "float16":
        scale = np.float32(max(float(np.abs(flat).max(initial=0)) / _LARGEST16, 1.0))
        return bytes(scale.astype("<f4").tobytes()) + (flat / scale).astype("<f2").tobytes()
    padded = np.zeros((-(-flat.size // _BLOCK), _BLOCK), np.float64)
    padded.reshape(-1)[: flat.size] = flat
    scales = (np.abs(padded).max(axis=1, keepdims=True, initial=0) / 127).astype("<f4")
    whole = np.rint(padded / np.where(scales > 0, scales, 1)).clip(-127, 127).astype(np.int8)
    return bytes(scales.tobytes()) + whole.reshape(-1)[: flat.size].tobytes()


def unpack(packed: Packed) -> NDArray[Any]:
    """The numbers again; bytes that do not fit their shape are refused.

    >>> unpack(Packed(wire="exact", dtype="float32", shape=(3,), data=b"1234"))
    Traceback (most recent call last):
    evenkeel.errors.InputError: 4 bytes for 3 numbers of float32 as exact: must be 12
    """
    if packed.dtype not in _DTYPES or packed.wire not in WIRES:
        raise InputError(f"numbers of {packed.dtype} as {packed.wire}: no such kind of numbers")
    dtype, count = np.dtype(_DTYPES[packed.dtype]), int(np.prod(packed.shape, dtype=np.int64))
    if any(k < 0 for k in packed.shape) or not 0 <= count < _MOST:
        raise InputError(f"shape {packed.shape}: must be whole numbers from 0, below 2^33 in all")
    right = size(count, dtype.itemsize, packed.wire)
    if len(packed.data) != right:
        found = f"{len(packed.data)} bytes for {count} numbers of {packed.dtype} as {packed.wire}"
        raise InputError(f"{found}: must be {right}")
    return _numbers(packed, dtype, count).astype(packed.dtype, copy=False).reshape(packed.shape)


def _numbers(packed: Packed, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    if packed.wire in {"exact", "float32"}:
        plain: NDArray[Any] = np.frombuffer(packed.data, dtype if packed.wire == "exact" else "<f4")
        return plain
    if packed.wire == "float16":
        scale = np.frombuffer(packed.data, "<f4", 1)[0]
        return np.asarray(np.frombuffer(packed.data, "<f2", offset=4).astype(dtype) * dtype.type(scale))
    blocks = -(-count // _BLOCK)
    scales = np.frombuffer(packed.data, "<f4", blocks).astype(dtype)
    whole = np.frombuffer(packed.data, np.int8, offset=4 * blocks).astype(dtype)
    return np.asarray(whole * scales.repeat(_BLOCK)[:count])


def tensor(packed: Packed) -> Tensor:
    """The numbers as a tensor that may be written to."""
    return torch.from_numpy(unpack(packed).copy())
