"""What a key of a spec may hold: type, rule and remedy stated once, for reading, comments and the JSON Schema."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from evenkeel.errors import InputError, nearest

Value = str | int | float | bool | tuple[str, ...]
Kind = Literal["text", "whole", "number", "truth", "list"]

_NOUNS: dict[Kind, str] = {
    "text": "text in quotes",
    "whole": "a whole number",
    "number": "a number",
    "truth": "true or false",
    "list": "a list of texts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key: what it means (`doc`), what it may hold, and what to do where it does not (`hint`).

    `low` and `high` belong to the range, `above` and `below` do not. `words` are texts that a number may be instead.
    """

    kind: Kind
    doc: str
    hint: str = ""
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    choices: Callable[[], Iterable[str]] | None = None
    words: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """The rule in words.

        >>> Key(kind="number", doc="", low=0, below=1, words=("auto",)).rule
        "a number of at least 0 and below 1, or 'auto'"
        """
        ends = [("of at least", self.low), ("above", self.above), ("at most", self.high), ("below", self.below)]
        limits = " and ".join(f"{word} {end:g}" for word, end in ends if end is not None)
        words = "".join(f", or {word!r}" for word in self.words)
        return f"{_NOUNS[self.kind]}{' ' if limits else ''}{limits}{words}"

    def check(self, value: object, where: str) -> Value:
        """The value in its type, or one line that says where it is, what it breaks and what to do.

        >>> Key(kind="whole", doc="", hint="100 is usual", low=1).check(0, "a.toml: rounds")
        Traceback (most recent call last):
        evenkeel.errors.InputError: a.toml: rounds = 0: must be a whole number of at least 1; 100 is usual
        """
        held = self._typed(value)
        if held is None or not self._inside(held):
            tail = self.hint or "give one"
            raise InputError(f"{where} = {written(value)}: must be {self.rule}; {tail}")
        if self.choices is not None:
            self._refuse_unknown(held, where)
        return held

    def _typed(self, value: object) -> Value | None:
        if isinstance(value, str):
            fits = self.kind == "text" or value in self.words
            return value if fits and value.isprintable() else None
        if isinstance(value, list | tuple):
            texts = self.kind == "list" and all(isinstance(v, str) and v.isprintable() for v in value)
            return tuple(value) if texts else None
        if isinstance(value, bool):
            return value if self.kind == "truth" else None
        if isinstance(value, int):
            return {"whole": int, "number": float}[self.kind](value) if self.kind in {"whole", "number"} else None
        return value if isinstance(value, float) and self.kind == "number" and math.isfinite(value) else None

    def _inside(self, value: Value) -> bool:
        if isinstance(value, str | tuple | bool):
            return True
        low, high = -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high
        above, below = -math.inf if self.above is None else self.above, math.inf if self.below is None else self.below
        return low <= value <= high and above < value < below

    def _refuse_unknown(self, value: Value, where: str) -> None:
        known = list(self.choices()) if self.choices else []
        for name in value if isinstance(value, tuple) else (str(value),):
            if name not in known:
                raise InputError(f"{where} = {written(value)}: {name!r} is not known; {nearest(name, known)}")


def written(value: object) -> str:
    """A value as it stands in the file, cut where it is long.

    >>> written(True), written("a"), written((1, 2))
    ('true', '"a"', '[1, 2]')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in value)
        text = '"' + shown.replace('"', '\\"') + '"'
    elif isinstance(value, list | tuple):
        text = "[" + ", ".join(written(v) for v in value) + "]"
    else:
        text = "a table" if isinstance(value, dict) else repr(value)
    return text if len(text) <= 200 else text[:199] + "…"


def key(kind: Kind, doc: str, default: Any = None, **rules: Any) -> Any:  # noqa: ANN401 — it stands for a field's value
    """A dataclass field with its `Key`; a default of None is a key that may be left out."""
    return field(default=default, metadata={"key": Key(kind=kind, doc=doc, **rules)})
