"""Runs so small that hundreds of them take seconds."""

import hashlib

from evenkeel.data.build import build
from evenkeel.data.source import from_tensors
from evenkeel.draws import generator
from evenkeel.runs import Run, Spec
from evenkeel.runs.tables import TIMES

ALGORITHMS = {
    "scaff-pd-ia": {"algorithm": {"name": "scaff-pd-ia", "alpha": 0.25, "phi": 0.3, "sigma": 0.05, "tau": 0.5}},
    "engine": {
        "algorithm": {"name": "scaff-pd-ia", "alpha": 0.25, "phi": 0.3},
        "engine": {"workers": 1},
    },
    "scaffold-2020": {"algorithm": {"name": "scaffold-2020", "cohort": 3}},
    "fedfv": {"algorithm": {"name": "fedfv", "cohort": 3, "memory": 3}},
    "drfa": {"algorithm": {"name": "drfa", "alpha": 0.25, "cohort": 3}},
    "absent": {
        "algorithm": {"name": "scaff-pd-ia", "alpha": 0.25, "sigma": 0.05},
        "clients": {"absent": 0.6},
    },
}


def spec(name="scaff-pd-ia", **changes):
    """A run of four rounds over five clients, a checkpoint after every round."""
    table = {
        "name": name,
        "rounds": 4,
        "data": {"source": "given"},
        "task": {"model": "mlp", "hidden": 4, "dropout": 0.5},
        "work": {"batch": 4, "steps": 2, "control_batch": 4},
        "evaluation": {"every": 2, "alpha": 0.25, "beta": 0.25},
        "engine": {"transport": "loop"},
        "output": {"checkpoint": 0},
        **ALGORITHMS[name],
    }
    made = Spec.of(table)
    for dotted, value in changes.items():
        made = made.replace(dotted.replace("__", "."), value)
    return made


def federation(n=5, rows=12):
    """Rows drawn by a generator of their own, so that no torch work is done to make them."""
    rng = generator(3, "tiny")
    x = rng.normal(size=(n * rows, 3)).astype("float32")
    y = (x.sum(axis=1) + rng.normal(size=n * rows) > 0).astype("int64")
    return build(from_tensors(x, y, clients=[f"c{i // rows}" for i in range(n * rows)]))


def fingerprint(run: Run) -> str:
    """A digest of θ, λ and both tables but for the times: equal if and only if all of it is, bit for bit."""
    state = hashlib.sha256(run.theta.numpy().tobytes())
    state.update(b"" if run.lam is None else run.lam.tobytes())
    for frame in (run.rounds.drop(TIMES), run.clients):
        state.update(repr(frame.schema).encode())
        for row in frame.iter_rows():
            state.update(repr(row).encode())
    return state.hexdigest()
