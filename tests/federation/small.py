"""Runs small enough to be repeated on every transport, and how two runs are compared."""

import numpy as np
import torch

from evenkeel.runs import Run, Spec, execute

SEVEN = {
    "fedavg": {},
    "scaffold": {"tau": 0.3},
    "safl": {"alpha": 0.4, "sigma": 0.05},
    "drfa": {"alpha": 0.4, "sigma": 0.01},
    "q-fedavg": {"q": 1.0},
    "scaff-pd": {"alpha": 0.4, "sigma": 0.05, "tau": 0.3},
    "scaff-pd-ia": {"alpha": 0.4, "phi": 0.3, "sigma": 0.05, "tau": 0.3},
}
ENVIRONMENT = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "OMP_NUM_THREADS": "1",
}


def spec(name, n, rounds=3, **changes):
    """An algorithm over n clients of the digits."""
    table = {
        "name": name,
        "rounds": rounds,
        "seed": 5,
        "data": {"source": "digits"},
        "partition": {"name": "dirichlet", "n": n},
        "task": {"model": "mlp", "hidden": 6, "dropout": 0.5},
        "algorithm": {"name": name, **SEVEN[name]},
        "work": {"batch": 8, "steps": 2, "control_batch": 8},
        "evaluation": {"every": 100, "splits": ["valid"], "alpha": 0.4, "beta": 0.4},
        "engine": {"transport": "loop", "deadline": 600.0},
        "output": {"checkpoint": 0},
    }
    made = Spec.of(table)
    for dotted, value in changes.items():
        made = made.replace(dotted.replace("__", "."), value)
    return made


def travels(name, phase):
    """The formula: how many vectors of θ's size go down and up for one client in one exchange."""
    return {
        "probe": (1, 0),
        "probe+gradient": (1, 1),
        "gradient": (1, 1),
        "local": (1 + (name in {"scaffold", "scaff-pd", "scaff-pd-ia"}), 1 + (name == "drfa")),
        "score": (1, 0),
    }[phase]


def alone(made, folder):
    """The run on the plain loop, on one thread, as the sites compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return execute(made, folder)
    finally:
        torch.set_num_threads(before)


def differences(one: Run, two: Run):
    """What is not the same in two runs, bit for bit: θ, λ, and what was measured of each client."""
    wrong = [] if one.theta.numpy().tobytes() == two.theta.numpy().tobytes() else ["theta"]
    if (one.lam is None) != (two.lam is None) or (one.lam is not None and not np.array_equal(one.lam, two.lam)):
        wrong.append("lam")
    mine, other = one.clients.sort("round", "split", "client"), two.clients.sort("round", "split", "client")
    return wrong + [name for name in mine.columns if mine[name].to_list() != other[name].to_list()]
