"""Relative unfairness for any sets A and B: Definitions «rf_index», «rf_discrepancy», Proposition «ratiobounds».

The sets carry the clients' weights (`WeightedCVaR`), so these functions take none.
"""

import math
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from evenkeel.errors import InputError
from evenkeel.indices.ranked import non_negative

if TYPE_CHECKING:  # the solvers that sets may load would triple the start-up time of an audit
    from evenkeel.sets import AmbiguitySet


def ratio(large: float, small: float) -> float:
    """large / small for two non-negative means, with 0/0 = 1 and positive/0 = inf.

    0/0 is 1 because equal clients have the ratio 1 however small their loss is, and nobody is worse off at 0.

    >>> ratio(3.0, 2.0), ratio(0.0, 0.0), ratio(1.0, 0.0)
    (1.5, 1.0, inf)
    """
    if large < 0 or small < 0:
        raise InputError(
            f"ratio of {large:.6g} to {small:.6g}: both must be >= 0; "
            "use sets without negative weights, or the discrepancy"
        )
    if small == 0:
        return 1.0 if large == 0 else math.inf
    return large / small


def absolute_unfairness(losses: ArrayLike, a_set: "AmbiguitySet") -> float:
    """max_{a∈A} ⟨a, f⟩: the loss of the worst weighting in A.

    0 means that no client A can put weight on has any loss; it has no upper end. It is in the losses' own unit.

    >>> from evenkeel.sets import CVaR
    >>> absolute_unfairness([1.0, 2.0, 3.0, 4.0], CVaR(4, 0.5))
    3.5
    """
    return float(a_set.support(non_negative(losses, "losses")))


def best_weighting(losses: ArrayLike, b_set: "AmbiguitySet") -> float:
    """min_{b∈B} ⟨b, f⟩ = −support_B(−f): the loss of the best weighting in B.

    >>> from evenkeel.sets import CVaR
    >>> best_weighting([1.0, 2.0, 3.0, 4.0], CVaR(4, 0.5))
    1.5
    """
    return -float(b_set.support(-non_negative(losses, "losses")))


def relative_unfairness(losses: ArrayLike, a_set: "AmbiguitySet", b_set: "AmbiguitySet") -> float:
    """R_{A,B}(f) = max_{a∈A} ⟨a, f⟩ / min_{b∈B} ⟨b, f⟩ = support_A(f) / (−support_B(−f)).

    In [0, inf]; at least 1 when A and B share a member. 1 (for A = B) means that the clients A and B look at are
    equal; inf that the best-off have no loss and others do; all of them at 0 is 1 by definition. Blind to scale.

    >>> from evenkeel.sets import CVaR, Point, Simplex
    >>> relative_unfairness([1.0, 2.0, 3.0, 4.0], CVaR(4, 0.5), CVaR(4, 0.5))     # 3.5 / 1.5
    2.3333333333333335
    """
    return ratio(absolute_unfairness(losses, a_set), best_weighting(losses, b_set))


def discrepancy(losses: ArrayLike, a_set: "AmbiguitySet", b_set: "AmbiguitySet", phi: float) -> float:
    """max_{a∈A} ⟨a, f⟩ − φ·min_{b∈B} ⟨b, f⟩ for φ ∈ [0, 1): what relative-fairness training minimises.

    At φ = 0 it is the absolute unfairness. For A = B it is (1 − φ)·loss when the clients are equal and larger
    otherwise; 0 means no loss. In the losses' own unit.

    >>> from evenkeel.sets import CVaR
    >>> discrepancy([1.0, 2.0, 3.0, 4.0], CVaR(4, 0.5), CVaR(4, 0.5), 0.5)      # 3.5 − 1.5 / 2
    2.75
    """
    return absolute_unfairness(losses, a_set) - coefficient(phi) * best_weighting(losses, b_set)


def negative_utility(losses: ArrayLike, a_set: "AmbiguitySet", b_set: "AmbiguitySet") -> float:
    """u = √(max_A)·√R_{A,B} = max_A / √min_B: absolute and relative unfairness in one number.

    0 means no loss at all; inf that the best-off have none and others do. It scales with the root of the losses.

    >>> from evenkeel.sets import Simplex
    >>> negative_utility([1.0, 4.0], Simplex(2), Simplex(2))
    4.0
    """
    return utility(absolute_unfairness(losses, a_set), best_weighting(losses, b_set))


def utility(large: float, small: float) -> float:
    """large / √small for two non-negative means, with 0/√0 = 0.

    >>> utility(6.0, 4.0), utility(0.0, 0.0), utility(1.0, 0.0)
    (3.0, 0.0, inf)
    """
    return 0.0 if large == 0 and small == 0 else ratio(large, math.sqrt(small) if small > 0 else small)


def ratio_bounds(
    losses: ArrayLike, a_set: "AmbiguitySet", b_set: "AmbiguitySet", phi: float, *, low: float, high: float
) -> tuple[float, float]:
    """Proposition «ratiobounds»: φ + D/high ≤ R_{A,B} ≤ φ + D/low, D the discrepancy at φ, low ≤ min_B ≤ high.

    `low` and `high` bound min_B over all models of interest (m_g and M_g). The lower bound rises with φ and the upper
    one falls; both meet R where low = high.

    >>> from evenkeel.sets import CVaR
    >>> half = CVaR(4, 0.5)
    >>> ratio_bounds([1.0, 2.0, 3.0, 4.0], half, half, 0.5, low=1.0, high=2.0)    # R = 2.33
    (1.875, 3.25)
    """
    g = best_weighting(losses, b_set)
    if not (0 < low <= g <= high and math.isfinite(high)):
        raise InputError(
            f"low = {low:.6g}, high = {high:.6g}: need 0 < low <= min_B = {g:.6g} <= high < inf; widen the bounds"
        )
    d = discrepancy(losses, a_set, b_set, phi)
    return phi + d / high, phi + d / low


def coefficient(phi: float) -> float:
    """φ, if it lies in [0, 1).

    >>> coefficient(1.0)
    Traceback (most recent call last):
    evenkeel.errors.InputError: phi = 1.0: must lie in [0, 1); give a smaller coefficient
    """
    if not 0 <= phi < 1:
        raise InputError(
            f"phi = {phi}: must lie in [0, 1); give a {'smaller' if phi >= 1 else 'non-negative'} coefficient"
        )
    return float(phi)
