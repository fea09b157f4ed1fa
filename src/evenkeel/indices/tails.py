"""Indices of the two ends: R_{A,B} and its relatives for A = CVaR(α), B = CVaR(β), from the sorted losses.

With client weights the sets are WeightedCVaR. «The worst k %» is always the CVaR mean: where k·n is not whole, the
client at the edge counts in part, and where k·n < 1 it is the single worst client.
"""

from numpy.typing import ArrayLike

from evenkeel.errors import InputError
from evenkeel.indices.ranked import Losses, Ranked, ranked
from evenkeel.indices.relative import coefficient, ratio, utility


def tail_share(value: float, name: str = "share") -> float:
    """A share of the clients, if it lies in (0, 1].

    >>> tail_share(20)
    Traceback (most recent call last):
    evenkeel.errors.InputError: share = 20: must lie in (0, 1]; 20 % is 0.2
    """
    if not 0 < value <= 1:
        remedy = f"{value:g} % is {value / 100:g}" if 1 < value <= 100 else "give a share such as 0.2"
        raise InputError(f"{name} = {value}: must lie in (0, 1]; {remedy}")
    return float(value)


def worst_loss(losses: Losses, weights: ArrayLike | None = None, *, share: float = 0.2) -> float:
    """Mean loss of the worst `share` of clients: max_{a∈CVaR(share)} ⟨a, f⟩.

    Between the mean (share 1, or equal clients) and the largest loss (share up to 1/n). 0: nobody has a loss.

    >>> worst_loss([1.0, 2.0, 3.0, 4.0], share=0.375)     # a client and a half: (4 + 3/2) / 1.5
    3.6666666666666665
    """
    return ranked(losses, weights).top(tail_share(share))


def best_loss(losses: Losses, weights: ArrayLike | None = None, *, share: float = 0.2) -> float:
    """Mean loss of the best `share` of clients: min_{b∈CVaR(share)} ⟨b, f⟩.

    Between the smallest loss and the mean. 0: the best-off have no loss, and R is infinite if others do.

    >>> best_loss([1.0, 2.0, 3.0, 4.0], share=0.375)      # (1 + 2/2) / 1.5
    1.3333333333333333
    """
    return ranked(losses, weights).bottom(tail_share(share))


def worst_accuracy(accuracies: Losses, weights: ArrayLike | None = None, *, share: float = 0.2) -> float:
    """Mean accuracy of the `share` of clients with the lowest accuracy (not those with the largest loss).

    0: they get nothing right; 1: everybody gets everything right.

    >>> worst_accuracy([0.5, 0.9, 1.0, 0.7], share=0.5)
    0.6
    """
    return ranked_accuracies(accuracies, weights).bottom(tail_share(share))


def best_accuracy(accuracies: Losses, weights: ArrayLike | None = None, *, share: float = 0.2) -> float:
    """Mean accuracy of the `share` of clients with the highest accuracy.

    0: nobody gets anything right; 1: the best-off get everything right.

    >>> best_accuracy([0.5, 0.9, 1.0, 0.7], share=0.5)
    0.95
    """
    return ranked_accuracies(accuracies, weights).top(tail_share(share))


def ranked_accuracies(accuracies: Losses, weights: ArrayLike | None = None) -> Ranked:
    """`ranked`, for shares of right answers.

    >>> ranked_accuracies([93.0])
    Traceback (most recent call last):
    evenkeel.errors.InputError: accuracies: 93.0: must lie in [0, 1]; give shares, not per cent
    """
    r = ranked(accuracies, weights, what="accuracies")
    if r.x[-1] > 1:
        raise InputError(f"accuracies: {r.x[-1]}: must lie in [0, 1]; give shares, not per cent")
    return r


def tail_ratio(losses: Losses, weights: ArrayLike | None = None, *, alpha: float = 0.2, beta: float = 0.2) -> float:
    """R_{A,B} for A = CVaR(α), B = CVaR(β): mean loss of the worst α over mean loss of the best β.

    In [1, inf]. 1: the clients are equal (all at 0 counts as equal); inf: the best β have no loss and others do.

    >>> tail_ratio([1.0, 2.0, 3.0, 4.0], alpha=0.5, beta=0.25)      # 3.5 / 1
    3.5
    """
    r = ranked(losses, weights)
    return ratio(r.top(tail_share(alpha, "alpha")), r.bottom(tail_share(beta, "beta")))


def tail_discrepancy(
    losses: Losses,
    weights: ArrayLike | None = None,
    *,
    alpha: float = 0.2,
    beta: float = 0.2,
    phi: float = 0.0,
) -> float:
    """max_A − φ·min_B for A = CVaR(α), B = CVaR(β): what relative-fairness training minimises.

    At φ = 0 the mean loss of the worst α; (1 − φ)·loss when the clients are equal. 0: no loss. No upper end.

    >>> tail_discrepancy([1.0, 2.0, 3.0, 4.0], alpha=0.5, beta=0.5, phi=0.5)      # 3.5 − 1.5 / 2
    2.75
    """
    r = ranked(losses, weights)
    return r.top(tail_share(alpha, "alpha")) - coefficient(phi) * r.bottom(tail_share(beta, "beta"))


def tail_utility(losses: Losses, weights: ArrayLike | None = None, *, alpha: float = 0.2, beta: float = 0.2) -> float:
    """The negative utility u = max_A / √min_B for A = CVaR(α), B = CVaR(β).

    0: nobody has a loss; √loss when the clients are equal; inf: the best β have no loss and others do.

    >>> tail_utility([4.0, 6.0], alpha=0.5, beta=0.5)     # 6 / √4
    3.0
    """
    r = ranked(losses, weights)
    return utility(r.top(tail_share(alpha, "alpha")), r.bottom(tail_share(beta, "beta")))


def ratio_20_20(losses: Losses, weights: ArrayLike | None = None) -> float:
    """The 20:20 ratio: mean loss of the worst 20 % over mean loss of the best 20 %, R with α = β = .2.

    In [1, inf]. 1: equal clients; inf: the best 20 % have no loss and others do.

    >>> ratio_20_20([1.0, 2.0, 3.0, 4.0, 5.0])
    5.0
    """
    return tail_ratio(losses, weights, alpha=0.2, beta=0.2)


def palma(losses: Losses, weights: ArrayLike | None = None) -> float:
    """The Palma ratio for losses: mean loss of the worst 10 % over mean loss of the best 40 %, R with α = .1, β = .4.

    In [1, inf]. 1: equal clients; inf: the best 40 % have no loss and others do. It compares means; the ratio of
    the two groups' summed losses is a quarter of it.

    >>> palma([1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0, 5.0, 8.0])
    8.0
    """
    return tail_ratio(losses, weights, alpha=0.1, beta=0.4)


def atkinson_inf(losses: Losses, weights: ArrayLike | None = None) -> float:
    """Atkinson's measure with infinite aversion as a ratio for losses: max f / mean f, R with A = Δ, B = {1/n}.

    In [1, n] (with weights, up to 1 over the smallest weight). 1: equal clients; n: one client has all the loss. For
    utilities the measure is 1 − min/mean, which is `atkinson` with epsilon = inf.

    >>> atkinson_inf([1.0, 1.0, 4.0])
    2.0
    """
    r = ranked(losses, weights)
    return ratio(r.most, r.mean)
