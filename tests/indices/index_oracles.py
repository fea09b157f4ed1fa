"""Every index again, by plain loops over Python floats and the definitions as printed: the oracle of the fast ones."""

import math
from fractions import Fraction


def tail_mean(values, share, *, largest):
    """The mean of the largest (smallest) share·n values, in exact arithmetic; the last one counts in part."""
    left = Fraction(share).limit_denominator(10**6) * len(values)
    wanted, total = left, Fraction(0)
    for value in sorted(values, reverse=largest):
        take = min(left, Fraction(1))
        total += take * Fraction(value)
        left -= take
    return float(total / wanted)


def quotient(large, small):
    if small == 0:
        return 1.0 if large == 0 else math.inf
    return large / small


def gini(values):
    """Half the mean absolute difference over the mean: every pair."""
    mean = math.fsum(values) / len(values)
    pairs = math.fsum(abs(a - b) for a in values for b in values)
    return 0.0 if mean == 0 else pairs / (2 * len(values) ** 2 * mean)


def theil(values):
    mean = math.fsum(values) / len(values)
    return 0.0 if mean == 0 else math.fsum(v / mean * math.log(v / mean) for v in values if v > 0) / len(values)


def variance(values):
    mean = math.fsum(values) / len(values)
    return math.fsum((v - mean) ** 2 for v in values) / len(values)


def jain(values):
    squares = math.fsum(v * v for v in values)
    return 1.0 if squares == 0 else math.fsum(values) ** 2 / (len(values) * squares)


def cv(values):
    mean = math.fsum(values) / len(values)
    return 0.0 if mean == 0 else math.sqrt(variance(values)) / mean


def atkinson_half(values):
    mean = math.fsum(values) / len(values)
    return 0.0 if mean == 0 else 1 - (math.fsum(math.sqrt(v) for v in values) / len(values)) ** 2 / mean


def of_losses(values, *, alpha=0.2, beta=0.2, phi=0.0, worst=0.2):
    """Every index of losses by its name in INDICES."""
    top = {share: tail_mean(values, share, largest=True) for share in {alpha, worst, 0.1, 0.2}}
    bottom = {share: tail_mean(values, share, largest=False) for share in {beta, worst, 0.4, 0.2}}
    mean = math.fsum(values) / len(values)
    a, b = top[alpha], bottom[beta]
    return {
        "mean": mean,
        "min": min(values),
        "max": max(values),
        "R": quotient(a, b),
        "discrepancy": a - phi * b,
        "absolute": a,
        "negative_utility": 0.0 if a == 0 else quotient(a, math.sqrt(b)),
        "gini": gini(values),
        "worst20_loss": top[worst],
        "best20_loss": bottom[worst],
        "palma": quotient(top[0.1], bottom[0.4]),
        "ratio_20_20": quotient(top[0.2], bottom[0.2]),
        "atkinson_inf": quotient(max(values), mean),
        "atkinson": atkinson_half(values),
        "jain": jain(values),
        "theil": theil(values),
        "generalised_entropy": cv(values) ** 2 / 2,
        "cv": cv(values),
        "variance": variance(values),
    }


def of_accuracies(values, *, worst=0.2):
    """Every index of accuracies by its name in INDICES."""
    return {
        "worst20_accuracy": tail_mean(values, worst, largest=False),
        "best20_accuracy": tail_mean(values, worst, largest=True),
    }
