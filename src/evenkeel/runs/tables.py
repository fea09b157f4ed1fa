"""The two tables of a run: one row a round, and one row an evaluated round, part and client.

Row r of `rounds` holds what was measured at θ^r and λ^r, the state after r rounds, and what the step to θ^{r+1} took;
the last row has no step. What was not measured is null.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evenkeel.indices.audits import AUDITED

STEP: Mapping[str, Any] = {
    "seconds": pl.Float64,  # of the step
    "evaluation_seconds": pl.Float64,
    "asked": pl.Int64,  # clients
    "absent": pl.Int64,  # of them, those that missed an ask
    "skipped": pl.Boolean,  # nobody answered: the state stayed as it was
    "theta_bound": pl.Boolean,  # the region cut theta
    "bytes_down": pl.Int64,
    "bytes_up": pl.Int64,
    "stale_mean": pl.Float64,  # rounds since each client was last heard; only where a cohort is asked
    "stale_max": pl.Int64,
    "unheard": pl.Int64,  # clients never heard so far, likewise
    "loss_mean": pl.Float64,  # of the clients' last known training losses, each once
    "loss_min": pl.Float64,
    "loss_max": pl.Float64,
    "lam_min": pl.Float64,
    "lam_max": pl.Float64,
    "lam_negative": pl.Int64,  # clients with a weight below 0
    "lam_l1": pl.Float64,
}
TIMES = ("seconds", "evaluation_seconds")
ROUNDS: Mapping[str, Any] = {"round": pl.Int64, **STEP, "accuracy": pl.Float64, **dict.fromkeys(AUDITED, pl.Float64)}
CLIENTS: Mapping[str, Any] = {
    "round": pl.Int64,
    "split": pl.String,
    "client": pl.String,
    "size": pl.Int64,  # rows behind the loss
    "loss": pl.Float64,
    "accuracy": pl.Float64,
    "lam": pl.Float64,
}


def rounds(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The rounds as a table.

    >>> rounds([{"round": 0, "R": 2.0}]).select("round", "R", "seconds").row(0)
    (0, 2.0, None)
    """
    return pl.DataFrame(
        {name: [row.get(name) for row in rows] for name in ROUNDS},
        schema=dict(ROUNDS),
    )


def clients(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The clients' rows as one table.

    >>> clients([]).columns[:3]
    ['round', 'split', 'client']
    """
    return pl.concat([pl.DataFrame(schema=dict(CLIENTS)), *parts])
