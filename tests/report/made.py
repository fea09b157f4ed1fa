"""Pages with everything that a page can hold, made without any training."""

import numpy as np
import polars as pl

from evenkeel.indices import LossTable, compare
from evenkeel.report.content import Content, Mix, Series, Weights

NASTY = [
    "<script>window.hit = 1</script>",
    '"><img src=x onerror="window.hit = 1">',
    "</script><script>window.hit = 1</script>",
    "{{ 7 * 7 }}${7 * 7}",
    "javascript:window.hit=1",
    "say \"hi\" & 'bye'",
    "🐙👩\u200d👩\u200d👧",
    "x" * 5000,
    "two\nlines\u2028and\ttabs",
    "[link](javascript:alert(1)) **bold**",
]


def names(n, nasty=()):
    return (*nasty, *(f"client {i:05d}" for i in range(n - len(nasty))))


def series(name, n, rounds, seed=0, nasty=()):
    """A run of n clients: λ falls below zero for the first of them, the losses are log-normal."""
    draw = np.random.default_rng(seed)
    client = names(n, nasty)
    table = LossTable.of(
        client=client,
        loss=draw.lognormal(-0.5, 0.5, n),
        accuracy=draw.beta(8, 2, n),
        size=draw.integers(5, 200, n).astype(float),
        population="made-up clients, 7 rows; partition none",
        split="valid",
    )
    r = np.arange(rounds + 1)
    lam = np.linspace(-0.5, 2.5, n) / n * np.minimum(r / max(rounds, 1), 1)[:, None] + 1 / n
    table_of_rounds = pl.DataFrame(
        {
            "round": r,
            "mean": 2.0 / (1 + r),
            "R": 1 + draw.random(rounds + 1),
            "worst20_loss": 3.0 / (1 + r),
            "worst20_accuracy": r / (2 + r),
            "accuracy": r / (1 + r),
            "lam_min": lam.min(axis=1),
            "lam_max": lam.max(axis=1),
            "seconds": [*draw.random(rounds), None],
            "bytes_up": [*[n * 100] * rounds, None],
            "bytes_down": [*[n * 300] * rounds, None],
            "absent": [*draw.integers(0, 3, rounds), None],
        },
        strict=False,
    )
    return {
        "name": name,
        "table": table,
        "state": f"finished, {rounds} rounds",
        "rounds": table_of_rounds,
        "weights": Weights(round=r, client=client, lam=lam, n=n),
        "mix": Mix(client=client, classes=tuple("0123456789"), counts=draw.integers(0, 30, (n, 10))),
        "facts": {"algorithm": name, "data": "made up"},
        "spec": f'name = "{name}"\n',
        "again": f"evenkeel run {name}/spec.toml",
    }


def content(runs=2, n=40, rounds=10, nasty=(), draws=200, **more):
    """A comparison of that many runs; with `nasty` clients and run names."""
    held = [series(f"run {k}", n, rounds, seed=k, nasty=nasty) for k in range(runs)]
    if nasty and runs > 1:
        held[1]["name"] = nasty[0]
    result = compare({s["name"]: s["table"] for s in held}, draws=draws)
    frontier = pl.DataFrame({"label": ["0", "0.5"], "order": [0.0, 0.5], "mean": [1.0, 1.1], "R": [3.0, 2.0]})
    curve = pl.DataFrame({"phi": [0.0, 0.5, 0.5], "u": [2.0, 1.5, 1.6], "kind": ["predicted", "predicted", "measured"]})
    given = {
        "title": "made up",
        "headline": "The worst-off have more.",
        "says": ("One against the other.",),
        "noun": "run",
        "frontier": frontier,
        "setting": "algorithm.phi",
        "curve": curve,
        "chosen": 0.3,
        **more,
    }
    return Content(series=tuple(Series(**s, audit=result.audits[s["name"]]) for s in held), comparison=result, **given)
