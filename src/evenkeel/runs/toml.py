"""A spec as TOML with a comment for each key. Only our own flat values are written, so a dozen lines do."""

import textwrap
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from evenkeel.runs.keys import Key, Value
from evenkeel.runs.options import OPTIONS, taken

if TYPE_CHECKING:
    from evenkeel.runs.spec import Spec

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def literal(value: Value) -> str:
    """A value as TOML.

    >>> literal(True), literal(1e-05), literal('say "a"'), literal(("a", "b"))
    ('true', '1e-05', '"say \\\\"a\\\\""', '["a", "b"]')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_escaped(c) for c in value) + '"'
    if isinstance(value, tuple):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    return repr(value)


def _escaped(c: str) -> str:
    return _ESCAPES.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c)


def to_toml(spec: "Spec") -> str:
    """Every key with what it means; one that was left out stands there as a comment."""
    lines = [_line(f.name, getattr(spec, f.name), f.metadata["key"]) for f in fields(spec) if "key" in f.metadata]
    for f in fields(spec):
        if "key" not in f.metadata:
            section = getattr(spec, f.name)
            lines += ["", f"[{f.name}]  # {type(section).__doc__}", *_section(f.name, section)]
    return "\n".join(lines) + "\n"


def _section(name: str, section: Any) -> list[str]:  # noqa: ANN401 — one of the sections
    lines = [_line(f.name, getattr(section, f.name), f.metadata["key"]) for f in fields(section) if "key" in f.metadata]
    options = getattr(section, "options", {})
    chosen = section.source if name == "data" else section.model if name == "task" else getattr(section, "name", None)
    absent = taken(name, chosen).keys() - options.keys() if name in OPTIONS else set()
    for option in sorted([*options, *absent]):
        lines.append(_line(option, options.get(option), OPTIONS[name][option]))
    return lines


def _line(name: str, value: Value | None, key: Key) -> str:
    text = f"# {name} =" if value is None else f"{name} = {literal(value)}"
    choices = key.choices() if key.choices else ()
    known = f"; {', '.join(choices)}" if choices and sum(map(len, choices)) < 60 else ""
    return f"{text:<24}  # {textwrap.shorten(key.doc + known, 160)}"
