"""A hand-written PyTorch loop over clients: one process with one thread, or two over shared memory."""

import torch
import torch.multiprocessing as processes
from torch_client import Autograd, ByHand
from workload import FIRST, ROWS, Clock, arguments, read


def visit(clients, theta, losses, total):
    """Probe all, then sum their models after local steps."""
    clients.probe(theta, losses)
    total.zero_()
    for i in range(clients.n):
        total.add_(clients.local(theta, i))


def alone(kind, x, y, theta, rounds):
    """One process, one thread."""
    clients, losses, total, clock = kind(x, y, len(theta)), torch.zeros(len(y) // ROWS), theta.clone(), Clock(FIRST)
    for _ in range(rounds):
        visit(clients, theta, losses, total)
        torch.div(total, clients.n, out=theta)
        clock.tick(losses)
    clock.report()


def worker(kind, pipe, rows, theta, losses, total):  # noqa: PLR0917 — a Process passes them by place
    """Answer with losses and a sum of models, both in shared memory, until told to stop."""
    torch.set_num_threads(1)
    clients = kind(*rows, len(theta))
    while pipe.recv():
        visit(clients, theta, losses, total)
        pipe.send(True)


def together(kind, x, y, theta, rounds):
    """Two processes, each with half of the clients; θ, losses and sums are shared, a word a round goes by pipe."""
    n, half = len(y) // ROWS, len(y) // ROWS // 2
    theta, losses, sums = (t.share_memory_() for t in (theta, torch.zeros(n), torch.zeros(2, len(theta))))
    context, pipes = processes.get_context("fork"), []
    for total, own in zip(sums, (slice(0, half), slice(half, n)), strict=True):
        mine, other = context.Pipe()
        rows = slice(own.start * ROWS, own.stop * ROWS)
        args = (kind, other, (x[rows], y[rows]), theta, losses[own], total)
        context.Process(target=worker, args=args, daemon=True).start()
        pipes.append(mine)
    clock = Clock(FIRST)
    for _ in range(rounds):
        for pipe in pipes:
            pipe.send(True)
        for pipe in pipes:
            pipe.recv()
        torch.add(*sums, out=theta).div_(n)
        clock.tick(losses)
    for pipe in pipes:
        pipe.send(False)
    clock.report()


def main():
    """Variants "one" and "two" go through autograd; "two-by-hand" has its backward pass written out."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    given = arguments()
    x, y, theta = (torch.from_numpy(a) for a in read(given.rows, given.clients))
    run, kind = alone if given.variant == "one" else together, ByHand if "hand" in given.variant else Autograd
    run(kind, x, y, theta, given.rounds)


if __name__ == "__main__":
    main()
