"""How far runs drift apart that differ in the number of workers alone: the order of float sums, and nothing else.

Run as `python -m benchmarks.shardings`. Scaff-PD-IA on digits, 100 clients, 30 rounds, 3 seeds; each sharding against
one worker. The workers are the cluster's own and run here, without Ray, which moves their answers and changes no bit.
"""

import numpy as np
import torch

from evenkeel.cluster.cluster import Cluster, gathered
from evenkeel.cluster.part import part
from evenkeel.cluster.worker import Share, Worker
from evenkeel.engine.asked import asked
from evenkeel.protocol import Key, Replies, drive
from evenkeel.runs import Spec
from evenkeel.runs.parts import algorithm_of, federation_of, task_of

WORKERS, SEEDS, ROUNDS = (2, 3, 4, 8, 64), 3, 30


class Here:
    """A cluster whose workers are objects of this process."""

    def __init__(self, task, federation, workers):
        self.cluster = Cluster(task, federation, workers=workers)
        self.n, self.workers = federation.n, []
        for first, last in self.cluster.spans:
            share = Share(first=first, last=last, expected="", memory=self.cluster.memory)
            self.workers.append(Worker())
            self.workers[-1].begin(share, task, part(federation, first, last))

    def answer(self, ask, key):
        """As `Cluster.answer`."""
        who = asked(ask, key, self.n, None)
        shared = [value.numpy() for value in ask.shared.values()]
        told = (self.workers[k].answer(question, key, *shared) for k, question in self.cluster._questions(ask, who))
        return Replies(who.ids, gathered(told, ask.shared["theta"], add=who.weights is not None))


def ended(spec, workers):
    """θ and λ after all rounds."""
    federation = federation_of(spec)
    task, alg = task_of(spec, federation), algorithm_of(spec, federation)
    transport, state = Here(task, federation, workers), alg.init(task.init(spec.seed), federation.n)
    for r in range(ROUNDS):
        key = Key(spec.seed, r)
        state = drive(alg.round(state, key), lambda ask, key=key: transport.answer(ask, key)).state
    return state.theta.double().numpy(), state.lam


def main():
    """A Markdown table: the largest difference of any of the seeds."""
    torch.set_num_threads(1)
    print("| numbers | workers | most Δθ, of the largest θ | most n·Δλ |\n|---|---:|---:|---:|")
    for dtype in ("float32", "float64"):
        for k in WORKERS:
            thetas, lams = [], []
            for seed in range(SEEDS):
                spec = Spec.preset("digits", [f"seed={seed}", f"task.dtype={dtype}"])
                (theta, lam), (other, mu) = ended(spec, 1), ended(spec, k)
                thetas.append(np.abs(theta - other).max() / np.abs(theta).max())
                lams.append(np.abs(lam - mu).max() * len(lam))
            print(f"| {dtype} | {k} | {max(thetas):.1e} | {max(lams):.1e} |", flush=True)


if __name__ == "__main__":
    main()
