"""Where rows come from. To add a source: one file with `load(...) -> Source`, one line in SOURCES."""

from collections.abc import Callable

from evenkeel.data.frame import from_frame
from evenkeel.data.options import complete
from evenkeel.data.source import Source
from evenkeel.data.sources import cifar10, digits, fashion_mnist, mnist, penguins, synthetic
from evenkeel.errors import InputError, nearest

SOURCES: dict[str, Callable[..., Source]] = {
    "digits": digits.load,
    "penguins": penguins.load,
    "mnist": mnist.load,
    "fashion-mnist": fashion_mnist.load,
    "cifar10": cifar10.load,
    "synthetic": synthetic.load,
    "table": from_frame,
}


def load(name: str, **options: object) -> Source:
    """A source by its name.

    >>> len(load("penguins", first=10))
    30
    >>> load("minst")
    Traceback (most recent call last):
    evenkeel.errors.InputError: data = 'minst': no such source; did you mean 'mnist'?
    """
    if name not in SOURCES:
        raise InputError(f"data = {name!r}: no such source; {nearest(str(name), SOURCES)}")
    return SOURCES[name](**complete(SOURCES[name], options, f"data {name!r}"))
