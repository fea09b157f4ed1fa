"""One mini-batch of each client of a chunk through fully connected networks: slopes, and gradients in two forms."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evenkeel.clients import Gradient
from evenkeel.engine.chunks import Chunk, Results
from evenkeel.engine.drawn import Batch, drawn
from evenkeel.engine.kept import Kept, Scratch
from evenkeel.engine.layers import Layer, Parameters, affine, backward, forward, losses_of, parameters, slope_of
from evenkeel.engine.laying import Laying
from evenkeel.engine.slopes import Grams, Slopes
from evenkeel.engine.table import Table
from evenkeel.protocol import Key
from evenkeel.tasks import Dropped, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniBatch:
    """The passes of one network over one table."""

    task: Task
    table: Table
    layers: tuple[Layer, ...]
    dropped: tuple[Dropped, ...]
    laying: Laying
    kept: Kept
    scratch: Scratch

    def passes(
        self, stack: Parameters, batch: Batch, x: Tensor, first: Tensor | None
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Activations and slopes (with the rows' factors in them) of one step."""
        masks = [m.transpose(1, 2).contiguous() for m in batch.masks]
        acts = forward(self.layers, stack, x, masks, first)
        slope = slope_of(self.task.kind, acts[-1], self.targets(batch)).mul_(batch.factor[:, None])
        return acts, backward(self.layers, stack, acts, slope, masks)

    def inputs(self, batch: Batch) -> Tensor:
        """x of a step, (clients, in, slots), in the worker's buffer."""
        places, like = batch.places.flatten(), batch.factor
        buffer = self.scratch.take("x", (len(places), *self.table.x.shape[1:]), like)
        return self.table.inputs(places, out=buffer).view(*batch.places.shape, -1).transpose(1, 2)

    def targets(self, batch: Batch) -> Tensor:
        """y of a step, (clients, slots)."""
        y = self.table.targets(batch.places.flatten())
        return y.view(*batch.places.shape, *y.shape[1:])

    def gradient(self, chunk: Chunk, theta: Tensor, cfg: Gradient, key: Key, into: Tensor) -> Tensor:
        """Write each client's ∇f_i(θ, ξ) into a row, and return the losses of these batches."""
        batch, stack = self.drawn(chunk, theta, cfg, key)
        acts, slopes = self.passes(stack, batch, self.inputs(batch), self.kept.columns_at(batch.places))
        _products(parameters(self.layers, into), acts[:-1], slopes)
        losses = (losses_of(self.task.kind, acts[-1], self.targets(batch)) * batch.factor).sum(1)
        if not self.task.l2:
            return losses
        into.add_(theta, alpha=self.task.l2)
        return losses + self.task.l2 / 2 * theta.square().sum()

    def slopes(
        self, chunk: Chunk, theta: Tensor, cfg: Gradient, key: Key, grams: Grams
    ) -> tuple[Slopes, Batch, Tensor, Tensor]:
        """∇f_i(θ, ξ) of each client by rows and without the ridge term; the batch, W·x + b, and the outputs' losses."""
        batch, stack = self.drawn(chunk, theta, cfg, key)
        known = self.kept.columns_at(batch.places)
        known = affine(*stack[0], self.inputs(batch)) if known is None else known
        acts, slopes = self.passes(stack, batch, known, known)
        rest = theta.new_empty(len(chunk.ids), self.task.d - self.layers[0].last)
        _products(parameters(self.layers[1:], rest, self.layers[0].last), acts[1:-1], slopes[1:])
        losses = (losses_of(self.task.kind, acts[-1], self.targets(batch)) * batch.factor).sum(1)
        products = torch.bmm(slopes[0], grams.rows(batch.places))
        return Slopes(places=batch.places, slopes=slopes[0], products=products, rest=rest), batch, known, losses

    def summed(self, chunk: Chunk, weights: Tensor, theta: Tensor, cfg: Gradient, key: Key) -> Results:
        """As `gradient`, from the rows: nobody's own gradient is written out."""
        grams = self.laying.grams(chunk)
        own, batch, known, losses = self.slopes(chunk, theta, cfg, key, grams)
        x = self.inputs(batch).transpose(1, 2).flatten(0, 1)
        total = torch.cat([own.first(self.layers[0], x, weights), chunk.total(own.rest)])
        squares = own.norm2(grams)
        if l2 := self.task.l2:
            total.add_(theta, alpha=l2 * float(weights.sum()))
            along = (own.slopes * known).sum((1, 2)) + own.rest @ theta[self.layers[0].last :]
            squares += l2**2 * theta.square().sum() + 2 * l2 * along
            losses = losses + l2 / 2 * theta.square().sum()
        self.kept.put(key, cfg, chunk.ids, own)
        scalars = {"loss": losses.double().cpu().numpy(), "norm2": squares.clamp_(min=0).double().cpu().numpy()}
        return Results(scalars, {"grad": total})

    def drawn(self, chunk: Chunk, theta: Tensor, cfg: Gradient, key: Key) -> tuple[Batch, Parameters]:
        """The rows and masks of this gradient, and θ as everybody's parameters."""
        dropout = self.dropped if cfg.dropout else ()
        (batch,) = drawn(self.table, chunk, key, cfg.phase, dropout=dropout, batch=cfg.batch, steps=1)
        return batch, parameters(self.layers, theta.expand(len(chunk.ids), -1))


def _products(into: Parameters, acts: Sequence[Tensor], slopes: Sequence[Tensor]) -> None:
    """Each layer's gradient from its inputs and slopes."""
    for (weight, bias), a, slope in zip(into, acts, slopes, strict=True):
        torch.bmm(slope, a.transpose(1, 2), out=weight)
        if bias is not None:
            torch.sum(slope, 2, keepdim=True, out=bias)
