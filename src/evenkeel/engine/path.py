"""What the engine needs from a way to compute: rows at a shared θ, and a chunk's answer to an ask."""

from typing import Protocol

from torch import Tensor

from evenkeel.clients import Part
from evenkeel.engine.chunks import Chunk, Results
from evenkeel.engine.kept import Kept
from evenkeel.protocol import Ask, Key


class Path(Protocol):
    """One way to compute the client steps for a whole chunk; each must agree with `evenkeel.clients`."""

    @property
    def kept(self) -> Kept:
        """What one ask leaves for the next."""
        ...

    def per_chunk(self, rows: int) -> int:
        """Clients that a worker should take at once, if each brings so many rows to a step."""
        ...

    def evaluate(self, theta: Tensor, part: Part, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Row losses and the outputs, dropout off; the first layer's products into `keep`, one column a row."""
        ...

    def answer(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        """The chunk's replies to "gradient", "local" or "hvp"."""
        ...
