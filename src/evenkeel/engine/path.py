"""What the engine needs from a way to compute: outputs on rows at a shared θ, and a chunk's answer to an ask."""

from typing import Protocol

from torch import Tensor

from evenkeel.engine.chunks import Chunk, Results
from evenkeel.protocol import Ask, Key


class Path(Protocol):
    """One way to compute the client steps for a whole chunk; each must agree with `evenkeel.clients`."""

    def per_chunk(self, rows: int) -> int:
        """Clients that a worker should take at once, if each brings so many rows to a step."""
        ...

    def outputs(self, theta: Tensor, x: Tensor) -> Tensor:
        """The model's outputs on rows, dropout off."""
        ...

    def answer(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        """The chunk's replies to "gradient", "local" or "hvp"."""
        ...
