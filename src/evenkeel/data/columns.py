"""Arrays on disk, row by row: written as .npy files block by block, and mapped into memory without being read."""

import hashlib
import mmap
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from evenkeel.errors import InputError


class Column:
    """A .npy file that grows: `add` appends rows; leaving the block writes how many there are.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.npy"
    >>> with Column(file, np.float32, (2,)) as column:
    ...     for k in range(3):
    ...         column.add(np.full((2, 2), k))
    >>> np.load(file).shape, len(column.digest.hexdigest())
    ((6, 2), 64)
    """

    def __init__(self, file: Path, dtype: Any, row: tuple[int, ...] = ()) -> None:  # noqa: ANN401 — what np.dtype takes
        self.dtype, self.row, self.rows = np.dtype(dtype), row, 0
        self.digest = hashlib.sha256(f"{self.dtype.str}{row}".encode())
        self.out: BinaryIO = file.open("wb")
        self._head()
        self.start = self.out.tell()

    def _head(self) -> None:
        shape = (self.rows, *self.row)
        npy.write_array_header_1_0(
            self.out, {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        )

    def add(self, rows: Any) -> None:  # noqa: ANN401 — whatever np.asarray takes
        """Append rows."""
        block = np.ascontiguousarray(rows, dtype=self.dtype)
        if block.shape[1:] != self.row:
            raise InputError(f"{self.out.name}: rows of shape {block.shape[1:]}: must be {self.row} as those before")
        content = block.reshape(-1).view(np.uint8).data
        self.digest.update(content)
        self.out.write(content)
        self.rows += len(block)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.out.seek(0)
        self._head()
        if self.out.tell() != self.start:  # numpy leaves room for 21 digits in the header, for just this use
            raise AssertionError("the header of a .npy file grew into its rows")
        self.out.close()


def mapped(file: Path) -> NDArray[Any]:
    """A .npy file as an array whose pages are read when they are looked at; what is written to it stays in memory.

    The system is told that rows are read here and there, so that it does not read ahead.
    """
    try:
        with file.open("rb") as held:
            if npy.read_magic(held) != (1, 0):
                raise ValueError("a version other than 1.0")
            shape, fortran, dtype = npy.read_array_header_1_0(held)
            start, size = held.tell(), int(np.prod(shape)) * dtype.itemsize
            if fortran or file.stat().st_size != start + size:
                raise ValueError(f"{file.stat().st_size} bytes, not {start + size}")
            pages = _pages(held.fileno())
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be mapped ({error}); write the store again") from None
    return np.ndarray(shape, dtype, buffer=pages, offset=start)


def _pages(handle: int) -> mmap.mmap:
    """A whole file, copied on write; on Linux without reserving memory for that, as files may be larger than it is."""
    if sys.platform != "linux":
        return mmap.mmap(handle, 0, access=mmap.ACCESS_COPY)
    no_reserve = 0x4000  # MAP_NORESERVE, which Python's mmap names from 3.13 on
    pages = mmap.mmap(handle, 0, flags=mmap.MAP_PRIVATE | no_reserve, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    pages.madvise(mmap.MADV_RANDOM)
    return pages
