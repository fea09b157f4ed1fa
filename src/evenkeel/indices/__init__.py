"""Fairness indices of a loss vector, and the audit that takes all of them with intervals (NumPy only).

An index is a documented function of the clients' losses, optionally with client weights; none of them alone says
that a model is fair. A model that has learned nothing gives every client the same loss: read them next to the mean.
"""

from evenkeel.indices.audits import Audit, audit, audit_by
from evenkeel.indices.catalogue import INDICES, Index
from evenkeel.indices.comparison import Comparison, Difference, compare
from evenkeel.indices.inequality import (
    atkinson,
    cv,
    generalised_entropy,
    gini,
    jain,
    largest,
    lorenz,
    lorenz_gap,
    lorenz_points,
    mean,
    smallest,
    theil,
    variance,
)
from evenkeel.indices.ranked import Ranked, ranked
from evenkeel.indices.relative import (
    absolute_unfairness,
    best_weighting,
    discrepancy,
    negative_utility,
    ratio_bounds,
    relative_unfairness,
)
from evenkeel.indices.sample import Settings
from evenkeel.indices.table import LossTable
from evenkeel.indices.tails import (
    atkinson_inf,
    best_accuracy,
    best_loss,
    palma,
    ratio_20_20,
    tail_discrepancy,
    tail_ratio,
    tail_utility,
    worst_accuracy,
    worst_loss,
)

__all__ = [
    "INDICES",
    "Audit",
    "Comparison",
    "Difference",
    "Index",
    "LossTable",
    "Ranked",
    "Settings",
    "absolute_unfairness",
    "atkinson",
    "atkinson_inf",
    "audit",
    "audit_by",
    "best_accuracy",
    "best_loss",
    "best_weighting",
    "compare",
    "cv",
    "discrepancy",
    "generalised_entropy",
    "gini",
    "jain",
    "largest",
    "lorenz",
    "lorenz_gap",
    "lorenz_points",
    "mean",
    "negative_utility",
    "palma",
    "ranked",
    "ratio_20_20",
    "ratio_bounds",
    "relative_unfairness",
    "smallest",
    "tail_discrepancy",
    "tail_ratio",
    "tail_utility",
    "theil",
    "variance",
    "worst_accuracy",
    "worst_loss",
]
