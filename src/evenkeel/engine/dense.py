"""The fast path for fully connected networks: stacked parameters, products written out, updates fused in place.

Each client of a chunk has its own θ, a row of one (clients, d) buffer. A step is W·a + b forwards, Wᵀ·slope backwards,
and W ← W − η·slope·aᵀ, where the gradient is never stored: `baddbmm_` adds it to W as it computes it.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from evenkeel.clients import Gradient, Local, Part, settings
from evenkeel.engine.chunks import Chunk, Results
from evenkeel.engine.drawn import Batch, Drawn, drawn
from evenkeel.engine.finish import Finish, norm2
from evenkeel.engine.kept import Kept, Scratch
from evenkeel.engine.layers import Layer, Parameters, affine, backward, forward, losses_of, parameters, slope_of
from evenkeel.engine.rowspace import Laying, RowSpace, Work
from evenkeel.engine.table import Table
from evenkeel.engine.vmapped import Vmapped
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import Task

_ROUNDS = 20  # a Gram matrix that is kept is expected to serve so many rounds
_FUSED = 4096  # entries of a weight matrix from which a product added in place is faster than product and sum


@dataclass(frozen=True)
class Dense:
    """The path of `layers`; what it does not do better it leaves to the `general` path."""

    task: Task
    table: Table
    layers: tuple[Layer, ...]
    general: Vmapped
    kept: Kept
    scratch: Scratch = field(default_factory=Scratch)

    def per_chunk(self, rows: int) -> int:
        """As on the general path: stacked θ of about 16 MiB."""
        return self.general.per_chunk(rows)

    def evaluate(self, theta: Tensor, part: Part, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Row losses and outputs, dropout off; W·x + b of the first layer into `keep`."""
        stack, x = parameters(self.layers, theta[None]), part.x.flatten(1).T[None]
        first = affine(*stack[0], x, out=None if keep is None else keep[None])
        out = forward(self.layers, stack, x, first=first)[-1]
        return losses_of(self.task.kind, out, part.y[None])[0], out[0].T

    def answer(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        """The chunk's replies."""
        if ask.phase == "hvp":
            return self.general.answer(chunk, ask, key)
        return (self.gradient if ask.phase == "gradient" else self.local)(chunk, ask, key)

    def gradient(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        """∇f_i(θ, ξ) of each client, its squared norm, and the loss of that batch."""
        cfg, theta = settings(Gradient, ask.config), ask.shared["theta"]
        rows = theta.new_empty(len(chunk.ids), self.task.d)
        loss = self._gradient(chunk, theta, cfg, key, rows)
        results = Results({"loss": loss.double().cpu().numpy(), "norm2": norm2(rows)}, {"grad": chunk.total(rows)})
        if chunk.weights is not None:
            self.kept.put(key, cfg, chunk.ids, rows)
        return results

    def local(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        """Algorithm 2 on the stacked θ of the chunk."""
        cfg, theta = settings(Local, ask.config), ask.shared["theta"]
        shift = self._shift(chunk, ask, key, cfg)
        how = {"batch": cfg.batch, "steps": cfg.steps, "epochs": cfg.epochs}
        plan = drawn(self.table, chunk, key, "local", dropout=self.general.dropped if cfg.dropout else (), **how)
        u = self._stack("u", chunk, theta).copy_(theta)
        first = self._row_space(chunk, theta, shift, cfg, plan)
        rest = first.last if first else 0
        finish = Finish(steps=plan.steps, cfg=cfg)
        for j, batch in enumerate(plan):
            active = u[: batch.active]
            self._step(active, batch, cfg.eta, j, first)
            if shift is not None:
                active[:, rest:].sub_(shift[: batch.active, rest:], alpha=cfg.eta)
            if first and finish.wants(j):
                first.write(u, theta, shift, np.minimum(plan.steps, j + 1))
            finish.keep(j, u)
        return finish.results(chunk, theta, u)

    def _step(self, u: Tensor, batch: Batch, eta: float, j: int, first: RowSpace | None) -> None:
        """u ← u − η∇f(u, ξ), the gradient added to u as it is computed."""
        stack, keep = parameters(self.layers, u), 1 - eta * self.task.l2
        if first:
            known = first.products(j, batch.places)
            acts, slopes = self._passes(stack, batch, known, known)
            first.add(batch.places, slopes[0])
        else:
            start = self.kept.columns_at(batch.places) if j == 0 else None
            acts, slopes = self._passes(stack, batch, self._inputs(batch), start)
        for k in range(1 if first else 0, len(stack)):
            (weight, bias), slope, a = stack[k], slopes[k], acts[k].transpose(1, 2)
            if weight[0].numel() >= _FUSED:
                weight.baddbmm_(slope, a, beta=keep, alpha=-eta)
            else:
                weight.mul_(keep).sub_(torch.bmm(slope, a), alpha=eta)
            if bias is not None:
                bias.mul_(keep).sub_(slope.sum(2, keepdim=True), alpha=eta)

    def _passes(
        self, stack: Parameters, batch: Batch, x: Tensor, first: Tensor | None
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Activations and slopes (with the rows' factors in them) of one step."""
        masks = [m.transpose(1, 2).contiguous() for m in batch.masks]
        acts = forward(self.layers, stack, x, masks, first)
        slope = slope_of(self.task.kind, acts[-1], self._targets(batch)).mul_(batch.factor[:, None])
        return acts, backward(self.layers, stack, acts, slope, masks)

    def _inputs(self, batch: Batch) -> Tensor:
        """x of a step, (clients, in, slots), in the worker's buffer."""
        places, like = batch.places.flatten(), batch.factor
        buffer = self.scratch.take("x", (len(places), *self.table.x.shape[1:]), like)
        return self.table.inputs(places, out=buffer).view(*batch.places.shape, -1).transpose(1, 2)

    def _targets(self, batch: Batch) -> Tensor:
        """y of a step, (clients, slots)."""
        y = self.table.targets(batch.places.flatten())
        return y.view(*batch.places.shape, *y.shape[1:])

    def _gradient(self, chunk: Chunk, theta: Tensor, cfg: Gradient, key: Key, into: Tensor) -> Tensor:
        """Write each client's ∇f_i(θ, ξ) into a row, and return the losses of these batches."""
        dropout = self.general.dropped if cfg.dropout else ()
        (batch,) = drawn(self.table, chunk, key, cfg.phase, dropout=dropout, batch=cfg.batch, steps=1)
        stack = parameters(self.layers, theta.expand(len(chunk.ids), -1))
        acts, slopes = self._passes(stack, batch, self._inputs(batch), self.kept.columns_at(batch.places))
        for (weight, bias), a, slope in zip(parameters(self.layers, into), acts[:-1], slopes, strict=True):
            torch.bmm(slope, a.transpose(1, 2), out=weight)
            if bias is not None:
                torch.sum(slope, 2, keepdim=True, out=bias)
        losses = (losses_of(self.task.kind, acts[-1], self._targets(batch)) * batch.factor).sum(1)
        if not self.task.l2:
            return losses
        into.add_(theta, alpha=self.task.l2)
        return losses + self.task.l2 / 2 * theta.square().sum()

    def _shift(self, chunk: Chunk, ask: Ask, key: Key, cfg: Local) -> Tensor | None:
        """c − c_i of each client, in a buffer that may be overwritten."""
        if "c" not in ask.shared:
            return None
        c: Tensor = ask.shared["c"]
        if "c_i" in chunk.each:
            return c - chunk.each["c_i"]
        own = self.kept.pop(key, cfg.control, chunk.ids)
        if own is None:
            own = self._stack("shift", chunk, c)
            self._gradient(chunk, ask.shared["theta"], cfg.control, key, own)
        return torch.sub(c, own, out=own)

    def _stack(self, name: str, chunk: Chunk, like: Tensor) -> Tensor:
        """Room for one vector a client: a worker's own buffer, unless the rows themselves are the reply."""
        shape = len(chunk.ids), self.task.d
        return like.new_empty(shape) if chunk.weights is None else self.scratch.take(name, shape, like)

    def _row_space(self, chunk: Chunk, theta: Tensor, shift: Tensor | None, cfg: Local, plan: Drawn) -> RowSpace | None:
        """The first layer in row space, where that is less work and its rows fit."""
        units, inputs = self.layers[0].weight.shape
        rows = int(self.table.sizes[chunk.ids].max())
        work = Work(
            rows=rows,
            inputs=inputs,
            units=units,
            batch=plan.places.shape[2],
            steps=int(plan.steps.max()),
            shifted=shift is not None,
            known=self.kept.first is not None,
            grams=self.charge,
        )
        fits = len(chunk.ids) * rows * (inputs + rows) * theta.itemsize <= self.general.memory
        near = self.table.x.device == theta.device  # rows on another device would be moved for each Gram matrix
        if not (fits and near and work.cheaper_in_rows()):
            return None
        return Laying(layer=self.layers[0], table=self.table, kept=self.kept, scratch=self.scratch).of(
            chunk, theta, shift, cfg.eta
        )

    @cached_property
    def charge(self) -> float:
        """The share of a Gram matrix that a round is charged with: where all can be kept, they serve rounds to come.

        It depends on the rows alone, not on what was kept so far: the choice between weights and rows decides last
        digits, and a run that goes on, or a worker that comes back, must choose as before.
        """
        everyone = float((self.table.sizes.astype(np.float64) ** 2).sum()) * self.task.dtype.itemsize
        return 1 / _ROUNDS if everyone <= self.kept.room else 1.0
