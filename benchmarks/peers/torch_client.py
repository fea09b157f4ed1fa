"""A client's work in plain PyTorch, without waste: what the hand-written loop and Flower's client app run.

θ and its gradient are each one flat buffer whose views are the layers, so a step's update and a client's start are one
operation each. `Autograd` is the usual way; `ByHand` also writes the backward pass out, as evenkeel's engine does.
"""

import torch
from torch.nn import functional
from workload import BATCH, CLASSES, DROPOUT, ETA, HIDDEN, ROWS, unpack


class Autograd:
    """Some clients of one process, client after client, with one set of buffers that they use in turn."""

    def __init__(self, x, y, size):
        self.x, self.y, self.n = x, y, len(y) // ROWS
        self.u, self.slope = torch.zeros(size), torch.zeros(size)
        self.parameters = unpack(self.u)
        for p, g in zip(self.parameters, unpack(self.slope), strict=True):
            p.requires_grad_().grad = g

    @torch.no_grad()
    def probe(self, theta, losses, block=8):
        """Each client's full loss at θ, dropout off; θ is shared, so it takes a block of clients at once."""
        for at in range(0, self.n, block):
            losses[at : at + block] = self.loss(theta, at, min(block, self.n - at))

    @torch.no_grad()
    def loss(self, theta, first, clients=1):
        """The full losses of these clients."""
        w1, b1, w2, b2 = unpack(theta)
        rows = slice(first * ROWS, (first + clients) * ROWS)
        hidden = functional.linear(self.x[rows], w1, b1).relu_()
        each = functional.cross_entropy(functional.linear(hidden, w2, b2), self.y[rows], reduction="none")
        return each.view(-1, ROWS).mean(1)

    def local(self, theta, i):
        """Client i's model after one shuffled pass; overwritten by the next call."""
        order = torch.randperm(ROWS) + i * ROWS
        x, y = self.x[order], self.y[order]
        with torch.no_grad():
            self.u.copy_(theta)
        for at in range(0, ROWS, BATCH):
            self.step(x[at : at + BATCH], y[at : at + BATCH])
        return self.u.detach()

    def step(self, x, y):
        """u ← u − η∇f(u)."""
        w1, b1, w2, b2 = self.parameters
        hidden = functional.dropout(functional.linear(x, w1, b1).relu_(), DROPOUT)
        self.slope.zero_()
        functional.cross_entropy(functional.linear(hidden, w2, b2), y).backward()
        self.u.sub_(self.slope, alpha=ETA)


class ByHand(Autograd):
    """The same without autograd: gradients are added to the weights by the products that compute them."""

    def __init__(self, x, y, size):
        super().__init__(x, y, size)
        self.u = torch.zeros(size)
        self.parameters = unpack(self.u)
        self.masks, self.labels = torch.empty(BATCH, HIDDEN), torch.eye(CLASSES)

    @torch.no_grad()
    def step(self, x, y):
        """u ← u − η∇f(u)."""
        w1, b1, w2, b2 = self.parameters
        mask = self.masks.bernoulli_(1 - DROPOUT).mul_(1 / (1 - DROPOUT))
        hidden = torch.addmm(b1, x, w1.t()).relu_().mul_(mask)
        slope = torch.addmm(b2, hidden, w2.t()).softmax(1).sub_(self.labels[y]).mul_(ETA / BATCH)
        inner = (slope @ w2).mul_(mask.mul_(hidden > 0))
        w2.addmm_(slope.t(), hidden, alpha=-1)
        b2.sub_(slope.sum(0))
        w1.addmm_(inner.t(), x, alpha=-1)
        b1.sub_(inner.sum(0))
