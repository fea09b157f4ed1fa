"""Every index by name, listed here alone: what it is, what its extremes mean, and which way is better."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from evenkeel.indices import inequality, tails


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An index: `function(values, weights, **settings) -> float`, with what a reader needs to know of it.

    `of` says whether the values are losses or accuracies. `settings` says which setting of an audit is passed as
    which argument of the function.
    """

    function: Callable[..., float]
    meaning: str
    extremes: str
    lower_is_better: bool = True
    of: Literal["loss", "accuracy"] = "loss"
    settings: Mapping[str, str] = field(default_factory=dict)


_BOTH_TAILS = {"alpha": "alpha", "beta": "beta"}
_WORST = {"share": "worst"}

INDICES: dict[str, Index] = {
    "mean": Index(
        function=inequality.mean,
        meaning="mean loss of the clients",
        extremes="0: no loss",
    ),
    "min": Index(
        function=inequality.smallest,
        meaning="smallest loss of a client",
        extremes="0: somebody has no loss",
    ),
    "max": Index(
        function=inequality.largest,
        meaning="largest loss of a client",
        extremes="0: nobody has a loss",
    ),
    "R": Index(
        function=tails.tail_ratio,
        meaning="relative unfairness: mean loss of the worst α over mean loss of the best β",
        extremes="1: equal; inf: the best β have no loss, others do",
        settings=_BOTH_TAILS,
    ),
    "discrepancy": Index(
        function=tails.tail_discrepancy,
        meaning="mean loss of the worst α less φ times that of the best β",
        extremes="(1 − φ)·loss: equal; 0: no loss",
        settings={**_BOTH_TAILS, "phi": "phi"},
    ),
    "absolute": Index(
        function=tails.worst_loss,
        meaning="absolute unfairness: mean loss of the worst α",
        extremes="the mean: equal; 0: no loss",
        settings={"share": "alpha"},
    ),
    "negative_utility": Index(
        function=tails.tail_utility,
        meaning="mean loss of the worst α over the root of that of the best β",
        extremes="√loss: equal; inf: the best β have no loss, others do",
        settings=_BOTH_TAILS,
    ),
    "gini": Index(
        function=inequality.gini,
        meaning="Gini coefficient of the losses, 1 − 2 × area under the Lorenz curve",
        extremes="0: equal; 1 − 1/n: one client has all the loss",
    ),
    "worst20_loss": Index(
        function=tails.worst_loss,
        meaning="mean loss of the 20 % of clients with the largest loss",
        extremes="the mean: equal; 0: no loss",
        settings=_WORST,
    ),
    "best20_loss": Index(
        function=tails.best_loss,
        meaning="mean loss of the 20 % of clients with the smallest loss",
        extremes="the mean: equal; 0: they have no loss",
        settings=_WORST,
    ),
    "worst20_accuracy": Index(
        function=tails.worst_accuracy,
        meaning="mean accuracy of the 20 % of clients with the lowest accuracy",
        extremes="0: nothing right; 1: everybody has everything right",
        lower_is_better=False,
        of="accuracy",
        settings=_WORST,
    ),
    "best20_accuracy": Index(
        function=tails.best_accuracy,
        meaning="mean accuracy of the 20 % of clients with the highest accuracy",
        extremes="0: nobody has anything right; 1: they have everything right",
        lower_is_better=False,
        of="accuracy",
        settings=_WORST,
    ),
    "palma": Index(
        function=tails.palma,
        meaning="Palma ratio: mean loss of the worst 10 % over that of the best 40 %",
        extremes="1: equal; inf: the best 40 % have no loss, others do",
    ),
    "ratio_20_20": Index(
        function=tails.ratio_20_20,
        meaning="20:20 ratio: mean loss of the worst 20 % over that of the best 20 %",
        extremes="1: equal; inf: the best 20 % have no loss, others do",
    ),
    "atkinson_inf": Index(
        function=tails.atkinson_inf,
        meaning="largest loss over mean loss (Atkinson with infinite aversion, for losses)",
        extremes="1: equal; n: one client has all the loss",
    ),
    "atkinson": Index(
        function=inequality.atkinson,
        meaning="Atkinson's index with aversion .5",
        extremes="0: equal; 1 − 1/n: one client has all the loss",
    ),
    "jain": Index(
        function=inequality.jain,
        meaning="Jain's index, 1 / (1 + cv²)",
        extremes="1: equal; 1/n: one client has all the loss",
        lower_is_better=False,
    ),
    "theil": Index(
        function=inequality.theil,
        meaning="Theil's index: generalised entropy of order 1",
        extremes="0: equal; log n: one client has all the loss",
    ),
    "generalised_entropy": Index(
        function=inequality.generalised_entropy,
        meaning="generalised entropy of order 2, cv²/2",
        extremes="0: equal; (n − 1)/2: one client has all the loss",
    ),
    "cv": Index(
        function=inequality.cv,
        meaning="coefficient of variation: standard deviation over mean",
        extremes="0: equal; √(n − 1): one client has all the loss",
    ),
    "variance": Index(
        function=inequality.variance,
        meaning="variance of the losses",
        extremes="0: equal",
    ),
}
