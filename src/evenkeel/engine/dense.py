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
from evenkeel.engine.drawn import Batch, drawn
from evenkeel.engine.finish import Finish, norm2
from evenkeel.engine.kept import Kept, Scratch
from evenkeel.engine.layers import Layer, Parameters, affine, forward, losses_of, parameters
from evenkeel.engine.laying import Laying
from evenkeel.engine.minibatch import MiniBatch
from evenkeel.engine.rowspace import EXPECTED, RowSpace
from evenkeel.engine.slopes import Slopes
from evenkeel.engine.table import Table
from evenkeel.engine.vmapped import Vmapped
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import Task

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
        """∇f_i(θ, ξ) of each client, its squared norm, and the loss of that batch; or the gradients' weighted sum."""
        cfg, theta = settings(Gradient, ask.config), ask.shared["theta"]
        if chunk.weights is not None and self.laying.worth(chunk, batch=cfg.batch, steps=EXPECTED, shifted=True):
            return self.batches.summed(chunk, chunk.weights, theta, cfg, key)
        rows = theta.new_empty(len(chunk.ids), self.task.d)
        loss = self.batches.gradient(chunk, theta, cfg, key, rows)
        results = Results({"loss": loss.double().cpu().numpy(), "norm2": norm2(rows)}, {"grad": chunk.total(rows)})
        if chunk.weights is not None:
            self.kept.put(key, cfg, chunk.ids, rows)
        return results

    def local(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        """Algorithm 2 on the stacked θ of the chunk; without the first layer's, where it is by rows and summed."""
        cfg, theta = settings(Local, ask.config), ask.shared["theta"]
        how = {"batch": cfg.batch, "steps": cfg.steps, "epochs": cfg.epochs}
        plan = drawn(self.table, chunk, key, "local", dropout=self.general.dropped if cfg.dropout else (), **how)
        most, slots = plan.places.shape[1:]
        in_rows = self.laying.worth(chunk, batch=slots, steps=most, shifted="c" in ask.shared)
        first: RowSpace | None = None
        if in_rows:
            first, shift = self._row_space(chunk, ask, key, cfg)
        else:
            shift = self._shift(chunk, ask, key, cfg)
        rest = first.layer.last if first else 0
        skip = rest if chunk.weights is not None and cfg.snapshot < 0 else 0  # nobody wants u itself
        u = self._stack("u", chunk, theta[skip:]).copy_(theta[skip:])
        finish = Finish(steps=plan.steps, cfg=cfg)
        for j, batch in enumerate(plan):
            active = u[: batch.active]
            self._step(active, batch, cfg.eta, j, first)
            if shift is not None:
                active[:, rest - skip :].sub_(shift[: batch.active], alpha=cfg.eta)
            if first and not skip and finish.wants(j):
                first.after(np.minimum(plan.steps, j + 1)).write(u, theta)
            finish.keep(j, u)
        return finish.results(chunk, theta, u, first if skip else None)

    def _step(self, u: Tensor, batch: Batch, eta: float, j: int, first: RowSpace | None) -> None:
        """u ← u − η∇f(u, ξ), the gradient added to u as it is computed."""
        stack, keep = self._parameters(u), 1 - eta * self.task.l2
        if first:
            known = first.outputs(j, batch.places)
            acts, slopes = self.batches.passes(stack, batch, known, known)
            first.add(batch.places, slopes[0])
        else:
            start = self.kept.columns_at(batch.places) if j == 0 else None
            acts, slopes = self.batches.passes(stack, batch, self.batches.inputs(batch), start)
        for k in range(1 if first else 0, len(stack)):
            (weight, bias), slope, a = stack[k], slopes[k], acts[k].transpose(1, 2)
            if weight[0].numel() >= _FUSED:
                weight.baddbmm_(slope, a, beta=keep, alpha=-eta)
            else:
                weight.mul_(keep).sub_(torch.bmm(slope, a), alpha=eta)
            if bias is not None:
                bias.mul_(keep).sub_(slope.sum(2, keepdim=True), alpha=eta)

    def _parameters(self, u: Tensor) -> Parameters:
        """Views of stacked θ, or of stacked θ without the first layer, which then is an empty one."""
        skip = self.task.d - u.shape[1]
        return [(u[:, :0], None), *parameters(self.layers[1:], u, skip)] if skip else parameters(self.layers, u)

    def _row_space(self, chunk: Chunk, ask: Ask, key: Key, cfg: Local) -> tuple[RowSpace, Tensor | None]:
        """The first layer by rows, and c − c_i of the others."""
        theta, c, grams = ask.shared["theta"], ask.shared.get("c"), self.laying.grams(chunk)
        base: Tensor | None = None
        own, shift = None, None
        if c is not None and "c_i" in chunk.each:
            whole = c - chunk.each["c_i"]
            base, shift = whole[:, : self.layers[0].last], whole[:, self.layers[0].last :]
        elif c is not None:
            held = self.kept.pop(key, cfg.control, chunk.ids)
            own = held if isinstance(held, Slopes) else self.batches.slopes(chunk, theta, cfg.control, key, grams)[0]
            shared = c.sub(theta, alpha=self.task.l2)
            base, shift = (
                shared[None, : self.layers[0].last],
                torch.sub(shared[self.layers[0].last :], own.rest, out=own.rest),
            )
        return self.laying.of(chunk, theta, base, own, grams=grams, eta=cfg.eta), shift

    def _shift(self, chunk: Chunk, ask: Ask, key: Key, cfg: Local) -> Tensor | None:
        """c − c_i of each client, in a buffer that may be overwritten."""
        if "c" not in ask.shared:
            return None
        c: Tensor = ask.shared["c"]
        if "c_i" in chunk.each:
            return c - chunk.each["c_i"]
        own = self.kept.pop(key, cfg.control, chunk.ids)
        if not isinstance(own, Tensor):
            own = self._stack("shift", chunk, c)
            self.batches.gradient(chunk, ask.shared["theta"], cfg.control, key, own)
        return torch.sub(c, own, out=own)

    def _stack(self, name: str, chunk: Chunk, like: Tensor) -> Tensor:
        """Room for one vector a client: a worker's own buffer, unless the rows themselves are the reply."""
        shape = len(chunk.ids), *like.shape
        return like.new_empty(shape) if chunk.weights is None else self.scratch.take(name, shape, like)

    @cached_property
    def laying(self) -> Laying:
        """How the first layer is laid out by rows."""
        memory, layer = self.general.memory, self.layers[0]
        return Laying(memory=memory, layer=layer, table=self.table, kept=self.kept, scratch=self.scratch)

    @cached_property
    def batches(self) -> MiniBatch:
        """What computes one mini-batch."""
        return MiniBatch(
            task=self.task,
            table=self.table,
            layers=self.layers,
            dropped=self.general.dropped,
            laying=self.laying,
            kept=self.kept,
            scratch=self.scratch,
        )
