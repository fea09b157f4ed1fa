"""A plain two-process PyTorch loop over clients, as one would write it by hand; it knows nothing of evenkeel's engine.

Each process has half of the clients, one thread, its rows as one tensor a client, and its parameters as two linear
layers trained through autograd with in-place updates. Vectors are passed in shared memory, so that only a word goes
through the pipe.
"""

import time
from typing import NamedTuple

import numpy as np
import torch
import torch.multiprocessing as mp
from torch.nn import functional

from evenkeel.data.shards import Federation

SHAPES = [(50, 784), (50,), (10, 50), (10,)]


def unpack(theta):
    """Four parameter views of the flat vector."""
    parts = torch.split(theta, [int(np.prod(shape)) for shape in SHAPES])
    return [part.view(shape) for part, shape in zip(parts, SHAPES, strict=True)]


def loss_of(parameters, x, y, *, training):
    """Mean cross-entropy of 784-50-10 with ReLU and dropout."""
    w1, b1, w2, b2 = parameters
    hidden = functional.dropout(functional.relu(functional.linear(x, w1, b1)), 0.5, training)
    return functional.cross_entropy(functional.linear(hidden, w2, b2), y)


def gradient(parameters, x, y):
    """The gradient of one mini-batch."""
    return torch.autograd.grad(loss_of(parameters, x, y, training=True), parameters)


class Work(NamedTuple):
    """The local work of a client: so many steps, or epochs where they are not 0."""

    batch: int
    steps: int
    epochs: int = 0

    def slices(self, rows):
        """The row numbers of each step."""
        if self.epochs:
            return [part for _ in range(self.epochs) for part in torch.randperm(rows).split(self.batch)]
        order = torch.cat([torch.randperm(rows) for _ in range(-(-self.steps * self.batch // rows))])
        return order[: self.steps * self.batch].split(self.batch)


class Shared(NamedTuple):
    """What both processes see."""

    theta: torch.Tensor
    c: torch.Tensor
    weights: torch.Tensor
    loss: torch.Tensor
    sums: torch.Tensor


def local(theta, shift, rows, eta, work):
    """Corrected steps from theta; returns theta − u and the number of steps."""
    x, y = rows
    u = [p.clone().requires_grad_() for p in theta]
    slices = work.slices(len(x))
    for at in slices:
        slope = gradient(u, x.index_select(0, at), y.index_select(0, at))
        with torch.no_grad():
            torch._foreach_sub_(u, slope, alpha=eta)
            torch._foreach_sub_(u, shift, alpha=eta)
    with torch.no_grad():
        return [p - q for p, q in zip(theta, u, strict=True)], len(slices)


def worker(rank, pipe, clients, shared: Shared):
    """Answer probe, control and local for these clients until told to stop."""
    torch.set_num_threads(1)
    own: dict[int, tuple[torch.Tensor, ...]] = {}
    total = shared.sums[rank]
    while (word := pipe.recv()) is not None:
        phase, eta, work = word
        theta = unpack(shared.theta)
        total.zero_()
        for i, x, y in clients:
            if phase == "probe":
                with torch.no_grad():
                    shared.loss[i] = loss_of(theta, x, y, training=False)
                continue
            if phase == "control":
                at = torch.randperm(len(x))[: work.batch]
                moved = own[i] = gradient(
                    [p.clone().requires_grad_() for p in theta], x.index_select(0, at), y.index_select(0, at)
                )
                scale = float(shared.weights[i])
            else:
                shift = [a - b for a, b in zip(unpack(shared.c), own[i], strict=True)]
                moved, steps = local(theta, shift, (x, y), eta, work)
                scale = float(shared.weights[i]) / (eta * steps)
            torch._foreach_add_(unpack(total), moved, alpha=scale)
        pipe.send(time.process_time())


class Pair:
    """Two worker processes and the parent's side of them."""

    def __init__(self, data: Federation, theta: torch.Tensor) -> None:
        context = mp.get_context("fork")
        d, n = len(theta), data.n
        vectors = theta.clone(), theta.clone(), torch.zeros(n), torch.zeros(n), torch.zeros(2, d)
        self.shared = Shared(*(t.share_memory_() for t in vectors))
        self.pipes, self.processes, self.cpu = [], [], 0.0
        for rank in range(2):
            rows = [(i, torch.from_numpy(data.train[i])) for i in range(rank, n, 2)]
            clients = [(i, data.x[at], data.y[at]) for i, at in rows]
            mine, theirs = context.Pipe()
            process = context.Process(target=worker, args=(rank, theirs, clients, self.shared), daemon=True)
            process.start()
            self.pipes.append(mine)
            self.processes.append(process)

    def begin(self, theta, weights) -> None:
        """Hand out θ and the weights of a round."""
        self.shared.theta.copy_(theta)
        self.shared.weights.copy_(torch.from_numpy(weights))

    def ask(self, *word) -> None:
        """Send one word to both, wait for both; their summed vectors are the next c."""
        for pipe in self.pipes:
            pipe.send(word)
        self.cpu = sum(pipe.recv() for pipe in self.pipes)
        torch.sum(self.shared.sums, 0, out=self.shared.c)

    def processor_seconds(self) -> float:
        """What both processes have used so far."""
        return self.cpu

    def close(self) -> None:
        """Stop both processes."""
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            pipe.send(None)
            process.join()
