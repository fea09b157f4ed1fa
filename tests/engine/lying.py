"""One client that lies, around any transport: its loss and its vectors come multiplied; scores stay true."""

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from evenkeel.engine.guarded import summed
from evenkeel.protocol import Ask, Key, Replies, Transport


@dataclass(frozen=True, slots=True)
class Lying:
    """Client `liar` claims `loss` times its loss, and sends `vector` times each of its vectors."""

    inner: Transport
    liar: int
    loss: float = 1.0
    vector: float = 1.0

    @property
    def n(self) -> int:
        return self.inner.n

    def answer(self, ask: Ask, key: Key) -> Replies:
        if ask.phase == "score":
            return self.inner.answer(ask, key)
        replies = self.inner.answer(ask._replace(weights=None), key)
        values, at = dict(replies.values), np.flatnonzero(replies.who == self.liar)
        for name, by in {"loss": self.loss, "norm2": self.vector**2}.items():
            if name in values:
                values[name] = np.where(replies.who == self.liar, by * values[name], values[name])
        for name in [name for name, value in values.items() if isinstance(value, Tensor)]:
            rows = values[name].clone()
            rows[at] *= self.vector
            values[name] = rows
        if ask.weights is not None:
            asked = np.arange(self.n) if ask.who is None else ask.who
            weights = np.asarray(ask.weights, np.float64)[np.searchsorted(asked, replies.who)]
            values = {name: summed(v, weights) if isinstance(v, Tensor) else v for name, v in values.items()}
        return replace(replies, values=values)
