"""The two ways in which we stop: the input is wrong (exit 2), or a run failed and can be resumed (exit 3)."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """What the user gave breaks a rule. The message is one line: what, where, which rule, what to do.

    >>> raise InputError("alpha = 1.5: must lie in [1/n, 1]; give a share such as 0.2")
    Traceback (most recent call last):
    evenkeel.errors.InputError: alpha = 1.5: must lie in [1/n, 1]; give a share such as 0.2
    """


class RunFailedError(RuntimeError):
    """A run stopped by itself; its last good state is kept and it can be resumed."""


class NobodyAnsweredError(RunFailedError):
    """No client answered an ask: the round is skipped, the state stays as it is."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The tail of an error about an unknown name: the nearest known one, or all of them.

    >>> nearest("scaf-pd", ["scaff-pd", "fedavg"])
    "did you mean 'scaff-pd'?"
    >>> nearest("xyz", ["scaff-pd", "fedavg"])
    'known: fedavg, scaff-pd'
    """
    names = sorted(known)
    close = difflib.get_close_matches(name.lower(), names, n=1)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(names)
