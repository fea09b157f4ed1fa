"""Downloaded arrays as IDX files in one folder a data set, each checked against its digest whenever it is read.

IDX is MNIST's own format: two zero bytes, 8 for uint8, the number of axes, each axis as four bytes, then the values.
So the cached files of MNIST and Fashion-MNIST are the published ones, and the digests can be checked with `sha256sum`.
"""

import hashlib
import math
import os
import secrets
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenkeel.errors import InputError

Bytes = NDArray[np.uint8]


def folder(name: str) -> Path:
    """Where a data set's files are: under $EVENKEEL_CACHE, else the platform's cache of this user.

    >>> folder("mnist").name
    'mnist'
    """
    home, named = Path.home(), os.environ.get("EVENKEEL_CACHE")
    if named:
        return Path(named).expanduser().absolute() / name
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "evenkeel" / name


def header(shape: tuple[int, ...]) -> bytes:
    """The first bytes of an IDX file of uint8 values.

    >>> header((2, 3)).hex()
    '000008020000000200000003'
    """
    return bytes([0, 0, 8, len(shape)]) + np.array(shape, dtype=">u4").tobytes()


def decode(data: bytes | Bytes) -> Bytes:
    """The array in an IDX file; anything cut short or of another type is a ValueError.

    >>> decode(header((2,)) + bytes([7, 9])).tolist()
    [7, 9]
    """
    flat = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
    if len(flat) < 4 or flat[:3].tolist() != [0, 0, 8]:
        raise ValueError("not an IDX file of bytes")
    start = 4 + 4 * int(flat[3])
    shape = [int(a) for a in np.frombuffer(flat[4:start].tobytes(), ">u4")]
    if len(flat) != start + math.prod(shape):
        raise ValueError(
            f"{len(flat)} bytes where its header promises {start + math.prod(shape)}: cut short or altered"
        )
    array: Bytes = flat[start:].reshape(shape)
    return array


def digest(array: Bytes, algorithm: str = "sha256") -> str:
    """The digest of an array's IDX file, as "algorithm:hex".

    >>> digest(np.zeros(2, np.uint8))[:14]
    'sha256:05b849c'
    """
    state = hashlib.new(algorithm, header(array.shape), usedforsecurity=False)
    state.update(np.ascontiguousarray(array).data)
    return f"{algorithm}:{state.hexdigest()}"


def matches(array: Bytes, expected: str) -> bool:
    """Whether an array has the expected digest."""
    return digest(array, expected.split(":", 1)[0]) == expected


def read(path: Path, expected: str) -> Bytes:
    """A cached array, memory-mapped, or one clear line if the file is not what it should be."""
    try:
        array = decode(np.memmap(path, np.uint8, mode="r"))
        if not matches(array, expected):
            raise ValueError("its digest is another one")
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: not the published data ({error}); delete the file and load again to get a fresh one"
        ) from None
    return array


def write(path: Path, array: Bytes) -> None:
    """Write a file whole or not at all: two processes at once leave one good file.

    A killed one leaves a .part- file behind, which nobody reads.
    """
    part = path.with_name(f".part-{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("xb") as file:
                file.write(header(array.shape))
                file.write(np.ascontiguousarray(array).data)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); set EVENKEEL_CACHE to a folder that you may write to"
        ) from None
