"""What λ hears, for the study: a transport that answers the probe with another loss than the whole training part's."""

from dataclasses import dataclass

import numpy as np

from evenkeel.protocol import Ask, Key, Replies, Transport

KINDS = ("train", "batch", "valid")


@dataclass(frozen=True, slots=True)
class DualLoss:
    """`batch`: the loss of one mini-batch in training mode; `valid`: the validation part's, a leak.

    A client without validation rows counts as the mean of those that have some.
    """

    inner: Transport
    kind: str
    batch: int = 64

    @property
    def n(self) -> int:
        """The number of clients."""
        return self.inner.n

    def answer(self, ask: Ask, key: Key) -> Replies:
        """The inner transport's answer, but for the probe."""
        if ask.phase != "probe" or self.kind == "train":
            return self.inner.answer(ask, key)
        if self.kind == "valid":
            told = self.inner.answer(ask._replace(phase="score", config={"split": "valid"}), key)
        else:
            count = self.n if ask.who is None else len(ask.who)
            config = {"batch": self.batch}
            told = self.inner.answer(ask._replace(phase="gradient", weights=np.zeros(count), config=config), key)
        loss = np.asarray(told["loss"], np.float64)
        return Replies(told.who, {"loss": np.where(np.isnan(loss), np.nanmean(loss), loss)})
