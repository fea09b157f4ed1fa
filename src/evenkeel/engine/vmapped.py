"""The general path: any model that `torch.func.vmap` can take, all clients of a chunk in one call.

In local steps each client has its own θ, a row of a stacked (clients, d) buffer that is updated in place.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.func import grad, grad_and_value, vmap

from evenkeel.clients import Gradient, Local, Part, settings
from evenkeel.engine.chunks import Chunk, Results
from evenkeel.engine.drawn import Batch, drawn
from evenkeel.engine.finish import Finish, norm2
from evenkeel.engine.kept import Kept
from evenkeel.engine.table import Table
from evenkeel.protocol import Ask, Key
from evenkeel.tasks import Dropped, Task

_STACK_BYTES = 2**24  # one stacked buffer of a chunk; measured: docs/decisions/0006-engine.md


@dataclass(frozen=True)
class Vmapped:
    """The path that vectorises `task.losses` itself; a chunk may take `memory` bytes."""

    task: Task
    table: Table
    memory: int
    kept: Kept

    def per_chunk(self, rows: int) -> int:
        """So many clients that their stacked θ are about 16 MiB and everything fits into memory."""
        theta = self.task.d * self.task.dtype.itemsize
        whole = 4 * theta + rows * self.row_bytes
        return max(1, min(1024, _STACK_BYTES // theta, self.memory // whole))

    @cached_property
    def row_bytes(self) -> int:
        """Bytes that one row needs in a gradient: itself, and what autograd saves for it (found by two dry runs)."""
        row = self.task.fit(self.table.x[:1])
        return 2 * (row.nbytes + max(0, self._saved(row, 3) - self._saved(row, 2)))

    def _saved(self, row: Tensor, rows: int) -> int:
        """Bytes that autograd saves for so many rows."""
        sizes: list[int] = []

        def count(t: Tensor) -> Tensor:
            sizes.append(t.nbytes)
            return t

        with torch.autograd.graph.saved_tensors_hooks(count, lambda t: t):
            self.task.outputs(self.task.init(0).requires_grad_(), row.expand(rows, *row.shape[1:]).contiguous())
        return sum(sizes)

    @cached_property
    def dropped(self) -> tuple[Dropped, ...]:
        """The model's dropout calls."""
        return self.task.dropped(self.table.x)

    def evaluate(self, theta: Tensor, part: Part, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Row losses and outputs, dropout off."""
        return self.task.losses_and_outputs(theta, part.x, part.y)

    def answer(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        """The chunk's replies."""
        return {"gradient": self.gradient, "local": self.local, "hvp": self.hvp}[ask.phase](chunk, ask, key)

    def gradient(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        """∇f_i(θ, ξ) of each client, its squared norm, and the loss of that batch."""
        gradients, losses = self._each(ask.shared["theta"], self._one(chunk, key, settings(Gradient, ask.config)))
        scalars = {"loss": losses.double().cpu().numpy(), "norm2": norm2(gradients)}
        return Results(scalars, {"grad": chunk.total(gradients)})

    def local(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        """Algorithm 2 on the stacked θ of the chunk."""
        cfg, theta = settings(Local, ask.config), ask.shared["theta"]
        shift = self._shift(chunk, ask, key, cfg)
        how = {"batch": cfg.batch, "steps": cfg.steps, "epochs": cfg.epochs}
        plan = drawn(self.table, chunk, key, "local", dropout=self.dropped if cfg.dropout else (), **how)
        u = theta.repeat(len(chunk.ids), 1)
        finish = Finish(steps=plan.steps, cfg=cfg)
        for j, batch in enumerate(plan):
            active = u[: batch.active]
            active.sub_(self._each(active, batch)[0], alpha=cfg.eta)
            if shift is not None:
                active.sub_(shift[: batch.active], alpha=cfg.eta)
            finish.keep(j, u)
        return finish.results(chunk, theta, u)

    def hvp(self, chunk: Chunk, ask: Ask, key: Key) -> Results:
        """∇²f_i(θ)·v of each client: the gradient of ⟨∇f_i(θ), v⟩."""
        (batch,) = drawn(self.table, chunk, key, "hvp", dropout=(), batch=0, steps=1)
        each = vmap(self._along, in_dims=(None, None, 0, 0, 0))
        rows = each(ask.shared["v"], ask.shared["theta"], *self._rows(batch), batch.factor)
        return Results({}, {"hvp": chunk.total(rows)})

    def _along(self, v: Tensor, theta: Tensor, x: Tensor, y: Tensor, factor: Tensor) -> Tensor:
        """∇²f(θ)·v of one client."""
        product: Tensor = grad(lambda t: grad(self._loss)(t, x, y, factor, ()) @ v)(theta)
        return product

    def _loss(self, theta: Tensor, x: Tensor, y: Tensor, factor: Tensor, masks: tuple[Tensor, ...]) -> Tensor:
        mean = (self.task.losses(theta, x, y, masks or None) * factor).sum()
        return mean + self.task.l2 / 2 * theta.square().sum() if self.task.l2 else mean

    def _rows(self, batch: Batch) -> tuple[Tensor, Tensor]:
        part, shape = self.table.take(batch.places.flatten()), batch.places.shape
        return part.x.view(*shape, *part.x.shape[1:]), part.y.view(*shape, *part.y.shape[1:])

    def _each(self, theta: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Every client's gradient and loss; θ is shared (d,) or stacked (clients, d)."""
        call = vmap(grad_and_value(self._loss), in_dims=(0 if theta.dim() == 2 else None, 0, 0, 0, 0))
        gradients, losses = call(theta, *self._rows(batch), batch.factor, batch.masks)
        return gradients, losses

    def _one(self, chunk: Chunk, key: Key, cfg: Gradient) -> Batch:
        dropout = self.dropped if cfg.dropout else ()
        (batch,) = drawn(self.table, chunk, key, cfg.phase, dropout=dropout, batch=cfg.batch, steps=1)
        return batch

    def _shift(self, chunk: Chunk, ask: Ask, key: Key, cfg: Local) -> Tensor | None:
        """c − c_i of each client."""
        if "c" not in ask.shared:
            return None
        own = chunk.each.get("c_i")
        if own is None:
            own = self._each(ask.shared["theta"], self._one(chunk, key, cfg.control))[0]
        shift: Tensor = ask.shared["c"] - own
        return shift


def can_vectorise(path: Vmapped) -> bool:
    """Whether the model's gradient goes through `vmap` and a slow fallback is not silently taken: tried on two rows."""
    theta = path.task.init(0)
    x, y = path.task.fit(path.table.x[:1]), path.task.fit(path.table.y[:1])
    masks = tuple(torch.ones(2, 1, *d.shape, dtype=path.task.dtype, device=path.task.device) for d in path.dropped)
    factor = torch.ones(2, 1, dtype=path.task.dtype, device=path.task.device)
    call = vmap(grad(path._loss), in_dims=(0, 0, 0, 0, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            call(theta.repeat(2, 1), x.expand(2, *x.shape), y.expand(2, *y.shape), factor, masks)
        except (RuntimeError, UserWarning, NotImplementedError):
            return False
    return True
