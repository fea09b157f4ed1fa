"""A plain two-process PyTorch loop over clients, as one would write it by hand; it knows nothing of evenkeel's engine.

Each process has half of the clients, one thread, its rows as one tensor a client, and its parameters as two linear
layers trained through autograd with in-place updates. Vectors are passed in shared memory, so that only a word goes
through the pipe.
"""

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


class Shared(NamedTuple):
    """What both processes see."""

    theta: torch.Tensor
    c: torch.Tensor
    weights: torch.Tensor
    loss: torch.Tensor
    sums: torch.Tensor


def worker(rank, pipe, clients, shared: Shared):
    """Answer probe, control and local for these clients until told to stop."""
    torch.set_num_threads(1)
    own: dict[int, list[torch.Tensor]] = {}
    total = shared.sums[rank]
    while (word := pipe.recv())[0] != "stop":
        phase, eta, batch, steps = word
        theta = unpack(shared.theta)
        total.zero_()
        for i, x, y in clients:
            if phase == "probe":
                with torch.no_grad():
                    shared.loss[i] = loss_of(theta, x, y, training=False)
                continue
            if phase == "control":
                rows = torch.randperm(len(x))[:batch]
                own[i] = gradient([p.clone().requires_grad_() for p in theta], x[rows], y[rows])
                for into, g in zip(unpack(total), own[i], strict=True):
                    into.add_(g, alpha=float(shared.weights[i]))
                continue
            u = [p.clone().requires_grad_() for p in theta]
            shift = [c - g for c, g in zip(unpack(shared.c), own[i], strict=True)]
            order = torch.cat([torch.randperm(len(x)) for _ in range(-(-steps * batch // len(x)))])
            for rows in order[: steps * batch].split(batch):
                slope = gradient(u, x[rows], y[rows])
                with torch.no_grad():
                    torch._foreach_sub_(u, slope, alpha=eta)
                    torch._foreach_sub_(u, shift, alpha=eta)
            with torch.no_grad():
                for into, p, q in zip(unpack(total), theta, u, strict=True):
                    into.add_(p - q, alpha=float(shared.weights[i]) / (eta * steps))
        pipe.send("done")


class Pair:
    """Two worker processes and the parent's side of them."""

    def __init__(self, data: Federation, theta: torch.Tensor) -> None:
        context = mp.get_context("fork")
        n = data.n
        self.shared = Shared(
            *(
                t.share_memory_()
                for t in (theta.clone(), theta.clone(), torch.zeros(n), torch.zeros(n), torch.zeros(2, len(theta)))
            )
        )
        self.pipes, self.processes = [], []
        for rank in range(2):
            rows = [(i, torch.from_numpy(data.train[i])) for i in range(rank, n, 2)]
            clients = [(i, data.x[at], data.y[at]) for i, at in rows]
            mine, theirs = context.Pipe()
            process = context.Process(target=worker, args=(rank, theirs, clients, self.shared), daemon=True)
            process.start()
            self.pipes.append(mine)
            self.processes.append(process)

    def ask(self, *word) -> torch.Tensor:
        """Send one word to both, wait for both, and return the sum of their vectors."""
        for pipe in self.pipes:
            pipe.send(word)
        for pipe in self.pipes:
            pipe.recv()
        return self.shared.sums.sum(0)

    def round(self, theta, weights, eta, batch, steps) -> torch.Tensor:
        """Probe, weighted control, corrected local steps; returns Σ w_i Δ_i."""
        self.shared.theta.copy_(theta)
        self.shared.weights.copy_(torch.from_numpy(weights))
        self.ask("probe", eta, batch, steps)
        self.shared.c.copy_(self.ask("control", eta, batch, steps))
        return self.ask("local", eta, batch, steps)

    def close(self) -> None:
        """Stop both processes."""
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            pipe.send(("stop",))
            process.join()
