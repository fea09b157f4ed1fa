"""Names of very many clients, made when one is asked for: a million Python strings take 67 MiB and half a second."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Names(Sequence[str]):
    """`client-0…0` to `client-n`, or where there is a `table` of UTF-8 bytes (one entry a client), what stands there.

    >>> names = Names(11)
    >>> names[0], names[-1], len(names), names[9:]
    ('client-00', 'client-10', 11, ('client-09', 'client-10'))
    """

    n: int
    table: NDArray[np.bytes_] | None = None

    def __len__(self) -> int:
        return self.n

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(self.n)))
        place = range(self.n)[at]
        if self.table is not None:
            return bytes(self.table[place]).decode()
        return f"client-{place:0{len(str(self.n - 1))}d}"


@dataclass(frozen=True, slots=True, eq=False)
class Some(Sequence[str]):
    """The names `first` to `last` of others, looked up when asked for.

    >>> some = Some(Names(11), 8, 11)
    >>> some[0], some[-1], len(some), some[1:]
    ('client-08', 'client-10', 3, ('client-09', 'client-10'))
    """

    names: Sequence[str]
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        places = range(self.first, self.last)[at]
        return self.names[places] if isinstance(places, int) else tuple(self.names[i] for i in places)
