"""Results in plain words: one sentence that says who is worse off, by how much, and how sure that is."""

import math
from collections.abc import Sequence

from evenkeel.data.table import shown
from evenkeel.indices import Audit, Comparison, Difference

Interval = tuple[float, float]


def digits(x: float | None) -> str:
    """A number in four digits.

    >>> digits(1.01733), digits(None), digits(float("inf")), digits(123456.0)
    ('1.017', '–', 'inf', '1.235e+05')
    """
    return "–" if x is None or math.isnan(x) else f"{x:.4g}"


def percent(share: float) -> str:
    """A share as per cent.

    >>> percent(0.2), percent(0.125)
    ('20 %', '12.5 %')
    """
    return f"{share * 100:.4g} %"


def ends(interval: Sequence[float] | None) -> str:
    """An interval as a table shows it.

    >>> ends((0.5, 1.25)), ends(None)
    ('[0.5, 1.25]', '–')
    """
    if interval is None or any(math.isnan(x) for x in interval):
        return "–"
    return f"[{digits(interval[0])}, {digits(interval[1])}]"


def sure(interval: Sequence[float] | None, level: float) -> str:
    """An interval as a sentence shows it.

    >>> sure((1.0, 2.0), 0.95), sure((-0.5, 1e-5), 0.95)
    (' (95 % interval 1 to 2)', ' (95 % interval −0.5 to 1e-05)')
    """
    if interval is None or any(math.isnan(x) for x in interval):
        return " (no interval)"
    low, high = (digits(x).replace("-", "−", 1) if x < 0 else digits(x) for x in interval)
    return f" ({percent(level)} interval {low} to {high})"


def worst(a: Audit) -> str:
    """Whom the numerator of R looks at.

    >>> from evenkeel.indices import LossTable, audit
    >>> worst(audit(LossTable.of(loss=[1.0, 2.0]), alpha=0.5, draws=0))
    'the worst-off client'
    """
    if a.weighting == "clients" and a.alpha * a.n < 1 + 1e-9:
        return "the worst-off client"
    return f"the worst-off {percent(a.alpha)} of {a.n:,} clients" + (" by size" if a.weighting == "size" else "")


def best(a: Audit) -> str:
    """Whom the denominator of R looks at.

    >>> from evenkeel.indices import LossTable, audit
    >>> best(audit(LossTable.of(loss=[1.0, 2.0, 3.0]), draws=0))
    'the best-off client'
    """
    if a.weighting == "clients" and a.beta * a.n < 1 + 1e-9:
        return "the best-off client"
    return "all clients" if a.beta == 1 else f"the best-off {percent(a.beta)}"


def best_loss(a: Audit) -> float:
    """The denominator of R, from R and its numerator.

    >>> from evenkeel.indices import LossTable, audit
    >>> best_loss(audit(LossTable.of(loss=[1.0, 2.0, 3.0, 4.0]), alpha=0.5, beta=0.5, draws=0))
    1.5
    """
    return 0.0 if math.isinf(a.R) else a.absolute / a.R


def headline(a: Audit) -> str:
    """Who is worse off, by how much, with its interval.

    >>> from evenkeel.indices import LossTable, audit
    >>> headline(audit(LossTable.of(loss=[1.0, 2.0, 3.0, 4.0]), alpha=0.5, beta=0.5, draws=0))
    'The worst-off 50 % of 4 clients have 2.333 times the loss of the best-off 50 % (no interval): 3.5 against 1.5.'
    """
    if a.n == 1:
        return f"There is one client, with loss {digits(a.mean)}: nobody to compare it with."
    if a.max == 0:
        return f"None of {a.n:,} clients has any loss: nobody is worse off."
    subject = worst(a)
    have = "has" if subject.endswith("client") else "have"
    if math.isinf(a.R):
        return f"{_capital(subject)} {have} loss {digits(a.absolute)}, {best(a)} none, so the ratio is infinite."
    mean = "the mean loss of" if a.beta == 1 else "the loss of"
    times = mean if digits(a.R) == "1" else f"{digits(a.R)} times {mean}"
    return (
        f"{_capital(subject)} {have} {times} {best(a)}{sure(a.intervals.get('R'), a.level)}: "
        f"{digits(a.absolute)} against {digits(best_loss(a))}."
    )


def worst_off(a: Audit) -> str:
    """The clients with the largest loss, by name, where there are any above the mean.

    >>> from evenkeel.indices import LossTable, audit
    >>> worst_off(audit(LossTable.of(client=["a", "b", "c"], loss=[1.0, 4.0, 3.0]), draws=0))
    'Worst off: b (4), c (3).'
    """
    worse = [f"{shown(name, most=40)} ({digits(loss)})" for name, loss in a.worst_off if loss > a.mean]
    return f"Worst off: {', '.join(worse)}." if worse else ""


def among(audits: Sequence[Audit]) -> str:
    """Which group is worst off, against the best-off group.

    >>> from evenkeel.indices import LossTable, audit_by
    >>> among(audit_by(LossTable.of(loss=[1.0, 5.0, 3.0], group=["x", "y", "x"]), draws=0))
    'Of 2 groups, «y» is worst off: mean loss 5 (no interval), 2.5 times that of «x», 2 (no interval).'
    """
    low, high = min(audits, key=lambda a: a.mean), max(audits, key=lambda a: a.mean)
    mean = f"mean loss {digits(high.mean)}{sure(high.intervals.get('mean'), high.level)}"
    if len(audits) == 1:
        return f"There is one group, «{shown(high.group)}»: {mean}."
    if low.mean == high.mean:
        return f"All {len(audits)} groups have the same {mean}."
    times = f"{digits(high.mean / low.mean)} times that" if low.mean else "against that"
    return (
        f"Of {len(audits)} groups, «{shown(high.group)}» is worst off: {mean}, {times} of «{shown(low.group)}», "
        f"{digits(low.mean)}{sure(low.intervals.get('mean'), low.level)}."
    )


def verdict(d: Difference) -> str:
    """Whether a difference is clear of zero, and which way.

    >>> verdict(Difference(-1.0, -1.5, -0.5)), verdict(Difference(0.1, -0.2, 0.4))
    ('lower', 'unclear')
    """
    if d.high < 0:
        return "lower"
    return "higher" if d.low > 0 else "unclear"


def against(c: Comparison, run: str) -> str:
    """One run against the first: the ratio R, and the mean next to it."""
    first, other = c.audits[c.baseline], c.audits[run]
    parts = []
    for name, says in (("R", "the ratio"), ("mean", "the mean loss")):
        d, before, after = c.differences[run][name], getattr(first, name), getattr(other, name)
        way, size = verdict(d), f" by {digits(abs(d.value))}"
        change = "no clear difference" if way == "unclear" else way + size
        interval = (-d.high, -d.low) if way == "lower" else (d.low, d.high)
        parts.append(f"{says} is {digits(after)} instead of {digits(before)}, {change}{sure(interval, other.level)}")
    return f"«{shown(run)}» against «{shown(c.baseline)}»: " + "; ".join(parts) + "."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
