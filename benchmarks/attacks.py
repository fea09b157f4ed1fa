"""How far one lying client steers Scaff-PD-IA, with and without bounds: `python -m benchmarks.attacks`.

Digits over 20 clients (Dirichlet 0.5), α = β = φ = 0.2, 60 rounds. The liar is the client whose loss is the median
without a lie; all numbers are of the others, on their validation rows, against the same seed without a lie. Writes
RUNS/attacks.json, the tables of docs/attacks.md between their marks, and docs/images/attacks-*.svg. Cases that RUNS
holds are not run again; --no-run only writes.
"""

import argparse
import functools
import json
import multiprocessing
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from benchmarks.attacks_told import write

from evenkeel.engine import Bounds, Engine, Guarded
from evenkeel.protocol import Ask, Key, drive
from evenkeel.runs import Spec, algorithm_of, federation_of, task_of
from tests.engine.lying import Lying

ROUNDS, SEEDS = 60, range(5)
DEFENCES = {
    "none": {},
    "losses, k = 3": {"loss": 3.0},
    "vectors, b = 3": {"norm": 3.0},
    "both, k = 1.5, b = 1": {"loss": 1.5, "norm": 1.0},
    "b = 1.5": {"norm": 1.5},
    "b = 1": {"norm": 1.0},
}
CURVES = tuple(DEFENCES)[:4]  # the defences of the first figure
STRENGTHS = {
    "nothing": (1.0,),
    "inflated": (1.5, 2.0, 5.0, 20.0, 1e3),
    "deflated": (1.5, 2.0, 5.0, 20.0, 1e3),
    "reversed": (1.0, 2.0, 5.0, 20.0),
    "both": (1.0, 2.0, 5.0, 20.0),
    "labels": (1.0,),
}
SIZES, SHARES, BOUNDS = (10, 20, 40), (0.2, 0.4, 0.8), ("vectors, b = 3", "b = 1.5", "b = 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run: what the liar does, how strongly, what is done about it, over how many clients, at which α."""

    attack: str
    strength: float = 1.0
    defence: str = "none"
    n: int = 20
    alpha: float = 0.2
    seed: int = 0

    @property
    def name(self) -> str:
        """The key of its result."""
        return "/".join(f"{value:g}" if isinstance(value, float) else str(value) for value in asdict(self).values())

    def claims(self) -> dict[str, float]:
        """What the liar's loss and vectors are multiplied by."""
        k = self.strength
        return {
            "inflated": {"loss": k},
            "deflated": {"loss": 1 / k},
            "reversed": {"vector": -k},
            "both": {"loss": 1e3, "vector": -k},
        }.get(self.attack, {})


def cases() -> Iterator[Case]:
    """Every attack at every strength against every defence; then the strongest against norm bounds, over n and α."""
    for seed in SEEDS:
        for defence in CURVES:
            for attack, strengths in STRENGTHS.items():
                for strength in strengths:
                    yield Case(attack=attack, strength=strength, defence=defence, seed=seed)
        for n in SIZES:
            for alpha in SHARES:
                for defence in BOUNDS:
                    yield Case(attack="both", strength=20.0, defence=defence, n=n, alpha=alpha, seed=seed)


def spec(case: Case) -> Spec:
    """The run of a case."""
    return Spec.of({
        "name": "attacks", "rounds": ROUNDS, "seed": case.seed,
        "data": {"source": "digits"}, "partition": {"name": "dirichlet", "n": case.n, "alpha": 0.5},
        "task": {"model": "mlp", "hidden": 16},
        "algorithm": {"name": "scaff-pd-ia", "alpha": case.alpha, "beta": case.alpha, "phi": 0.2,
                      "tau": 0.5, "eta": 0.05, "sigma": 0.01},
        "work": {"batch": 16, "epochs": 1, "control_batch": 0},
    })  # fmt: skip


def run(case: Case, liar: int | None) -> dict[str, object]:
    """θ, every client's loss and accuracy on validation rows, and the liar's mean weight."""
    torch.set_num_threads(1)
    made = spec(case)
    data = federation_of(made)
    task = task_of(made, data)
    if case.attack == "labels" and liar is not None:  # not a lie: rows whose labels are noise
        own = np.concatenate([data.train[liar], data.valid[liar]])
        data.y[own] = torch.from_numpy(np.random.default_rng(case.seed).integers(0, data.classes, len(own)))
    plain = Engine(task, data, workers=1)
    lied = plain if liar is None else Lying(plain, liar, **case.claims())
    transport = Guarded(lied, Bounds(**DEFENCES[case.defence]))
    algorithm, weights = algorithm_of(made, data), []
    state = algorithm.init(task.init(case.seed), data.n)
    for r in range(ROUNDS):
        key = Key(case.seed, r)
        try:
            state = drive(algorithm.round(state, key), lambda ask, key=key: transport.answer(ask, key)).state
        except RuntimeError:  # a loss that is no number: the run is lost
            return {"lost": r}
        weights.append(float(state.lam[liar or 0]))
    told = plain.answer(Ask("score", {"theta": state.theta}, config={"split": "valid"}), Key(case.seed, ROUNDS))
    scores = {name: np.asarray(told[name]).tolist() for name in ("loss", "accuracy")}
    return {**scores, "theta": state.theta.tolist(), "start": task.init(case.seed).tolist(), "weight": np.mean(weights)}


@functools.cache
def _honest(case: Case) -> dict[str, object]:
    return run(case, None)


def compared(case: Case) -> dict[str, object]:
    """The honest run, then the lie, told of the others."""
    honest = _honest(Case(attack="nothing", n=case.n, alpha=case.alpha, seed=case.seed))
    loss = np.array(honest["loss"])
    liar = int(np.argsort(loss)[len(loss) // 2])
    nobody = case.attack == "nothing"
    after = run(case, None if nobody else liar)
    if "lost" in after:
        return {**asdict(case), "liar": liar, **after}
    others = np.arange(case.n) != liar
    before, now = ({k: np.array(v) for k, v in found.items() if k != "weight"} for found in (honest, after))
    worst = np.argsort(before["loss"][others])[-max(1, round(0.2 * case.n)) :]
    shift = np.linalg.norm(now["theta"] - before["theta"]) / np.linalg.norm(before["theta"] - before["start"])
    out = {"liar": liar, "shift": float(shift), "weight": after["weight"]}
    for name, found in (("before", before), ("after", now)):
        out[name] = {
            "accuracy": float(found["accuracy"][others].mean()),
            "worst": float(found["accuracy"][others][worst].mean()),
            "liar": float(found["accuracy"][liar]),
        }
    return {**asdict(case), **out}


def main() -> None:
    """Run what is not there yet, then write."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, default=Path("runs/attacks"))
    options.add_argument("--docs", type=Path, default=Path(__file__).parents[1] / "docs")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--no-run", action="store_true")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "attacks.json"
    held = json.loads(file.read_text("utf-8")) if file.exists() else {}
    todo = [] if given.no_run else [case for case in dict.fromkeys(cases()) if case.name not in held]
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        for case, found in zip(todo, pool.imap(compared, todo), strict=True):
            held[case.name] = found
            file.write_text(json.dumps(held), "utf-8")
            print(case.name, found.get("shift", "lost"), flush=True)
    write(held, given.docs)


if __name__ == "__main__":
    main()
