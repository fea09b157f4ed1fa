"""The keys that depend on a name: options of a source, a partition, a model, and parameters of an algorithm.

Which of them an entry takes, and with which defaults, is read off its signature; what they may hold is said here.
"""

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from evenkeel.algorithms import ALGORITHMS
from evenkeel.data.mapped import STORES
from evenkeel.data.partitions import PARTITIONS
from evenkeel.data.sources import SOURCES
from evenkeel.runs.keys import Key
from evenkeel.tasks import MODELS

GIVEN = "given"  # data or a model that a program handed in, and no name can build again
DTYPES = {"float32": torch.float32, "float64": torch.float64}
_REQUIRED = inspect.Parameter.empty
_SHARE = {"low": 0, "high": 1, "hint": "0.2 is the worst fifth of the clients"}


_OURS = {"n", "p", "ambiguity", "longest", "local", "work", "region", "row_shape", "classes"}  # never in a spec

CATALOGUES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "data": ("source", {**SOURCES, **STORES}),
    "partition": ("name", PARTITIONS),
    "task": ("model", MODELS),
    "algorithm": ("name", ALGORITHMS),
}

OPTIONS: dict[str, dict[str, Key]] = {
    "data": {
        "alpha": Key(kind="number", doc="variance between the clients' models", low=0, high=10, hint="0 to 1 is usual"),
        "beta": Key(kind="number", doc="variance between the clients' rows", low=0, high=10, hint="0 to 1 is usual"),
        "categorical": Key(kind="list", doc="columns to be one-hot", hint='give names such as ["region"]'),
        "classes": Key(kind="whole", doc="classes", low=2, hint="10 in the papers"),
        "client": Key(kind="text", doc="the column that names the client", hint='give a name such as "hospital"'),
        "columns": Key(kind="whole", doc="features of a row", low=1, hint="60 in the authors' code"),
        "features": Key(kind="list", doc="feature columns; left out: all others", hint='give names such as ["age"]'),
        "first": Key(kind="whole", doc="rows of each species; 0 is all", low=0, hint="the paper takes 10"),
        "kind": Key(
            kind="text",
            doc="whether the target is classes or a number",
            choices=lambda: ("auto", "classes", "number"),
            hint='give "classes" or "number"',
        ),
        "least": Key(kind="whole", doc="fewest rows of a client", low=1, hint="50 in the authors' code"),
        "mean": Key(kind="number", doc="mean of the log sizes", low=0, high=10, hint="4 in the authors' code"),
        "n": Key(kind="whole", doc="clients", low=1, hint="100 is usual"),
        "part": Key(
            kind="text",
            doc="which published part",
            choices=lambda: ("all", "test", "train"),
            hint='give "train", "test" or "all"',
        ),
        "raw": Key(kind="truth", doc="pixels without normalisation", hint="write true or false without quotes"),
        "seed": Key(kind="whole", doc="seed of the rows", low=0, hint="0 will do"),
        "sigma": Key(kind="number", doc="spread of the log sizes", low=0, high=10, hint="2 in the authors' code"),
        "standardize": Key(kind="truth", doc="bring columns to mean 0 and deviation 1", hint="write true or false"),
        "store": Key(kind="text", doc="folder of a mapped store, beside this one", hint='give a name such as "store"'),
        "table": Key(kind="text", doc="CSV or Parquet file, beside this one", hint='give a name such as "rows.csv"'),
        "target": Key(kind="text", doc="the column to predict", hint='give a name such as "readmitted"'),
        "weight": Key(kind="text", doc="the column of row weights", hint="give a column's name"),
    },
    "partition": {
        "alpha": Key(kind="number", doc="Dirichlet parameter", low=1e-6, high=1e6, hint="the paper takes 0.5"),
        "cap": Key(kind="truth", doc="no further class for a client with its share", hint="write true or false"),
        "min_rows": Key(kind="whole", doc="fewest rows of a client", low=1, hint="1 is the least"),
        "per_client": Key(kind="whole", doc="pieces of the sorted rows a client", low=1, hint="2 is usual"),
        "redraws": Key(kind="whole", doc="draws before rows are moved", low=0, hint="20 is the default"),
    },
    "task": {
        "dropout": Key(kind="number", doc="share of units dropped in training", low=0, below=1, hint="0 is none"),
        "dtype": Key(kind="text", doc="precision of theta", choices=lambda: DTYPES, hint='give "float32"'),
        "hidden": Key(kind="whole", doc="hidden units", low=1, hint="the paper takes 50"),
        "l2": Key(kind="number", doc="ridge term l2/2·‖theta‖²", low=0, hint="0 is none"),
        "width": Key(kind="whole", doc="channels of the first layer, even", low=2, hint="8 is the default"),
    },
    "algorithm": {
        "alpha": Key(kind="number", doc="worst-off share that is guarded; 0.1 in FedFV: share spared", **_SHARE),  # type: ignore[arg-type]
        "beta": Key(kind="number", doc="best-off share it is compared with; left out: alpha", **_SHARE),  # type: ignore[arg-type]
        "cohort": Key(kind="whole", doc="clients a round; 0 is all", low=0, hint="0 asks everyone"),
        "eta": Key(kind="number", doc="clients' step size", above=0, hint="0.01 to 0.1 is usual"),
        "memory": Key(kind="whole", doc="rounds that an absent client's update counts", low=0, hint="0 is none"),
        "phi": Key(
            kind="number",
            doc="weight of the best-off: 0 is absolute unfairness",
            low=0,
            below=1,
            words=("auto",),
            hint="the paper takes 0.2",
        ),
        "psi": Key(kind="number", doc="pull of lambda towards uniform", low=0, hint="0 is none"),
        "q": Key(kind="number", doc="power of the losses; 0 is averaging", low=0, hint="1 to 5 is usual"),
        "rate": Key(kind="number", doc="server's step size", above=0, hint="1 takes the mean as it is"),
        "sigma": Key(kind="number", doc="step size of lambda", low=0, hint="the paper takes 0.001"),
        "tau": Key(kind="number", doc="server's step size", above=0, hint="the paper takes 0.025"),
        "weighting": Key(
            kind="text",
            doc="whether clients count alike or by size",
            choices=lambda: ("clients", "size"),
            hint='give "clients" or "size"',
        ),
    },
}


def names(section: str) -> list[str]:
    """The names that a section knows.

    >>> "iid" in names("partition")
    True
    """
    return [*CATALOGUES[section][1], *([GIVEN] if section in {"data", "task"} else [])]


def taken(section: str, name: str | None) -> dict[str, Any]:
    """The options of an entry with their defaults; `inspect.Parameter.empty` marks one that must be given.

    >>> sorted(taken("algorithm", "scaffold")), taken("data", "penguins")
    (['cohort', 'eta', 'tau'], {'first': 0})
    """
    if name is None or name == GIVEN:
        return {}
    entry = CATALOGUES[section][1][name]
    function, more = (entry.takes, entry.more) if section == "algorithm" else (entry, {})
    known = OPTIONS[section]
    skipped = _OURS if section in {"task", "algorithm"} else {"labels", "n", "seed"} if section == "partition" else ()
    found = {p.name: p.default for p in inspect.signature(function).parameters.values() if p.name not in skipped}
    return {k: _plain(v) for k, v in sorted({**found, **more}.items()) if k in known}


def required(default: object) -> bool:
    """Whether an option has no default."""
    return default is _REQUIRED


def _plain(default: object) -> object:
    return next((name for name, dtype in DTYPES.items() if dtype is default), default)
