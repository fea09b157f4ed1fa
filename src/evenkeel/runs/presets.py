"""Specs by name."""

from collections.abc import Mapping
from typing import Any

_PAPER: Mapping[str, Any] = {  # the experiments of the paper: 100 clients, all in every round, five local epochs
    "rounds": 100,
    "partition": {"name": "dirichlet", "n": 100, "alpha": 0.5, "split": "shuffled", "fraction": 0.8},
    "task": {"model": "mlp", "hidden": 50, "dropout": 0.5},
    "algorithm": {
        "name": "scaff-pd-ia",
        "alpha": 0.2,
        "beta": 0.2,
        "phi": 0.2,
        "sigma": 1e-3,
        "tau": 2.5e-2,
        "eta": 1e-2,
    },
    "work": {"batch": 64, "epochs": 5, "control_batch": 64},
    "evaluation": {"every": 10},
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "digits": {
        "rounds": 300,
        "data": {"source": "digits"},
        "partition": {"name": "dirichlet", "n": 100, "alpha": 0.5},
        "task": {"model": "mlp", "hidden": 50, "dropout": 0.5},
        "algorithm": {"name": "scaff-pd-ia", "phi": 0.2, "sigma": 1e-2, "tau": 0.5, "eta": 0.1},
        "work": {"batch": 16, "epochs": 5, "control_batch": 16},
        "evaluation": {"every": 10},
    },
    "mnist": {**_PAPER, "data": {"source": "mnist", "part": "train"}},
    "cifar10": {**_PAPER, "data": {"source": "cifar10", "part": "train"}},
    "penguins": {
        "rounds": 500,
        "data": {"source": "penguins", "first": 10},
        "partition": {"name": "column"},
        "task": {"model": "linear", "dtype": "float64"},
        "algorithm": {"name": "scaff-pd-ia", "alpha": 0.34, "phi": 0.05, "sigma": 1e-3, "tau": 1e-5, "eta": 1e-5},
        "work": {"batch": 0, "steps": 1, "control_batch": 0},
        "evaluation": {"every": 50, "split": "train", "splits": ["train", "valid"], "alpha": 0.34, "beta": 0.34},
    },
}
