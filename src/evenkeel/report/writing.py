"""Numbers as a page shows them."""

import math
from collections.abc import Sequence


def digits(x: float | None) -> str:
    """Four digits; what is undefined is a dash.

    >>> digits(1.01733), digits(None), digits(float("inf")), digits(123456.0), digits(0.00002)
    ('1.017', '–', '∞', '123,456', '2e-05')
    """
    if x is None or math.isnan(x):
        return "–"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    text = f"{x:,.0f}" if 1e4 <= abs(x) < 1e12 else f"{x:.4g}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def together(sentence: str) -> str:
    """A sentence in which no line ends between a number and its %.

    >>> together("the worst 20 % of 5")
    'the worst 20\\xa0% of 5'
    """
    return sentence.replace(" %", "\u00a0%")


def ends(interval: Sequence[float] | None) -> str:
    """An interval, or a dash.

    >>> ends((0.5, 1.25)), ends(None)
    ('0.5 to 1.25', '–')
    """
    if interval is None or any(math.isnan(x) for x in interval):
        return "–"
    return f"{digits(interval[0])} to {digits(interval[1])}"


def signed(x: float) -> str:
    """A difference with its sign.

    >>> signed(0.5), signed(-0.5)
    ('+0.5', '−0.5')
    """
    return ("+" if x > 0 else "") + digits(x)


def percent(share: float) -> str:
    """A share as per cent.

    >>> percent(0.2), percent(0.125)
    ('20 %', '12.5 %')
    """
    return f"{share * 100:.4g} %"


def span(seconds: float) -> str:
    """A length of time.

    >>> span(0.25), span(75), span(7300)
    ('0.25 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def size(count: float) -> str:
    """A number of bytes.

    >>> size(512), size(159040.0), size(31808000)
    ('512 B', '159 kB', '31.8 MB')
    """
    for unit, most in (("B", 1e3), ("kB", 1e6), ("MB", 1e9)):
        if count < most:
            return f"{count / most * 1e3:.3g} {unit}"
    return f"{count / 1e9:.3g} GB"
