"""Lays out chunks by rows: each client's rows, their Gram matrix, and the first layer's products with θ and base."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from evenkeel.engine.chunks import Chunk
from evenkeel.engine.kept import Kept, Scratch
from evenkeel.engine.layers import Layer, parameters
from evenkeel.engine.rowspace import RowSpace, Work
from evenkeel.engine.slopes import Grams, Slopes, gram
from evenkeel.engine.table import Table

_ROUNDS = 20  # a Gram matrix that is kept is expected to serve so many rounds


@dataclass(frozen=True, kw_only=True)
class Laying:
    """One network's first layer on one table; a chunk may take `memory` bytes."""

    memory: int
    layer: Layer
    table: Table
    kept: Kept
    scratch: Scratch

    def of(
        self, chunk: Chunk, theta: Tensor, base: Tensor | None, own: Slopes | None, *, grams: Grams, eta: float
    ) -> RowSpace:
        """The row space of one chunk before its first step; `base` is one row for all clients, or one a client."""
        x = self.rows(self.spans(chunk))
        drift = None if base is None else self._products("drift", base, x)
        if drift is not None and own is not None:
            drift.sub_(own.products)
        made = self.kept.first is None or self.table.task.l2 != 0
        return RowSpace(
            layer=self.layer,
            eta=eta,
            decay=1 - eta * self.table.task.l2,
            x=x,
            grams=grams,
            kept=self.kept,
            start=self._products("start", theta[None], x) if made else None,
            base=base,
            own=own,
            drift=drift,
            slopes=self._room("slopes", x).zero_(),
            products=self._room("products", x).zero_(),
        )

    def worth(self, chunk: Chunk, *, batch: int, steps: int, shifted: bool) -> bool:
        """Whether the first layer by rows is less work, and its rows fit."""
        units, inputs = self.layer.weight.shape
        rows = int(self.table.sizes[chunk.ids].max())
        work = Work(
            rows=rows,
            inputs=inputs,
            units=units,
            batch=min(batch, rows) or rows,
            steps=steps,
            shifted=shifted,
            known=self.kept.first is not None,
            grams=self.charge,
        )
        fits = len(chunk.ids) * rows * (inputs + rows) * self.table.task.dtype.itemsize <= self.memory
        # rows on another device would be moved for each Gram matrix
        near = self.table.x.device == torch.device(self.table.task.device)
        return fits and near and work.cheaper_in_rows()

    @cached_property
    def charge(self) -> float:
        """The share of a Gram matrix that a round is charged with: where all can be kept, they serve rounds to come.

        It depends on the rows alone, not on what was kept so far: the choice between weights and rows decides last
        digits, and a run that goes on, or a worker that comes back, must choose as before.
        """
        everyone = float((self.table.sizes.astype(np.float64) ** 2).sum()) * self.table.task.dtype.itemsize
        return 1 / _ROUNDS if everyone <= self.kept.gram_room else 1.0

    def spans(self, chunk: Chunk) -> list[tuple[int, int]]:
        """Where each client's rows begin and end."""
        return [(int(self.table.offsets[i]), int(self.table.offsets[i + 1])) for i in chunk.ids]

    def rows(self, spans: list[tuple[int, int]]) -> list[Tensor]:
        """x of each client, (rows, in)."""
        return [self.table.block(*span).x.flatten(1) for span in spans]

    def grams(self, chunk: Chunk) -> Grams:
        """K of each client; all of them as they were kept, if this chunk came before."""
        found = self.kept.stack(chunk.ids)
        offsets = self.table.indices(self.table.offsets[chunk.ids])[:, None]
        return Grams(stack=self._filled(chunk) if found is None else found, offsets=offsets)

    def _filled(self, chunk: Chunk) -> Tensor:
        spans, bias = self.spans(chunk), self.layer.bias is not None
        n, most = len(spans), max(last - first for first, last in spans)
        like = self.table.task.fit(self.table.x[:1])
        new = self.kept.new_stack(chunk.ids, most, like)
        into = self.scratch.take("gram", (n, most, most), like) if new is None else new
        into.zero_()
        for i, (first, last) in enumerate(spans):
            held, size = self.kept.grams.get(int(chunk.ids[i])), last - first
            into[i, :size, :size] = gram(self.rows([(first, last)])[0], bias=bias) if held is None else held
        self.kept.keep_grams(chunk.ids, [last - first for first, last in spans], into, whole=new is not None)
        return into

    def _products(self, name: str, theta: Tensor, x: list[Tensor]) -> Tensor:
        """W·x + b of each client's rows, (clients, units, most rows), for one θ for all or one a client."""
        ((weight, bias),) = parameters([self.layer], theta)
        found = self._room(name, x)
        for i, rows in enumerate(x):
            k = i if theta.shape[0] > 1 else 0
            w, out = weight[k], found[i, :, : rows.shape[0]]
            if bias is None:
                torch.mm(w, rows.T, out=out)
            else:
                torch.addmm(bias[k], w, rows.T, out=out)
        return found

    def _room(self, name: str, x: list[Tensor]) -> Tensor:
        """(clients, units, most rows) in the worker's buffer, zeros beyond the rows of a client."""
        sizes = [rows.shape[0] for rows in x]
        found = self.scratch.take(name, (len(x), self.layer.weight.shape[0], max(sizes)), x[0])
        return found if min(sizes) == max(sizes) else found.zero_()
