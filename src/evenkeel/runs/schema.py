"""The spec as a JSON Schema (draft 2020-12), for editors that complete and check TOML."""

from dataclasses import fields
from typing import Any

from evenkeel.runs.keys import Key
from evenkeel.runs.options import CATALOGUES, OPTIONS, names, required, taken
from evenkeel.runs.spec import Spec

_TYPES = {"text": "string", "whole": "integer", "number": "number", "truth": "boolean"}
_BOUNDS = {"low": "minimum", "high": "maximum", "above": "exclusiveMinimum", "below": "exclusiveMaximum"}


def schema() -> dict[str, Any]:
    """The whole schema.

    >>> schema()["properties"]["rounds"]
    {'type': 'integer', 'minimum': 1, 'description': 'rounds of training', 'default': 100}
    """
    properties: dict[str, Any] = {}
    for f in fields(Spec):
        properties[f.name] = _key(f.metadata["key"], f.default) if "key" in f.metadata else _section(f)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "evenkeel spec",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _key(key: Key, default: object = None) -> dict[str, Any]:
    """One key."""
    held: dict[str, Any] = {"type": "array"} if key.kind == "list" else {"type": _TYPES[key.kind]}
    held |= {_BOUNDS[end]: value for end in _BOUNDS if (value := getattr(key, end)) is not None}
    known = {"enum": list(key.choices())} if key.choices else {}
    if key.kind == "list":
        held["items"] = {"type": "string", **known}
    else:
        held |= known
    if key.words:
        held = {"anyOf": [held, {"enum": list(key.words)}]}
    held["description"] = key.doc
    if isinstance(default, str | int | float | tuple):
        held["default"] = list(default) if isinstance(default, tuple) else default
    return held


def _section(section: Any) -> dict[str, Any]:  # noqa: ANN401 — a dataclass field
    """One section; where its options depend on a name, one rule for each name says which it takes."""
    kind, name = section.default_factory, section.name
    own = {f.name: _key(f.metadata["key"], f.default) for f in fields(kind) if "key" in f.metadata}
    options = {option: _key(key) for option, key in OPTIONS.get(name, {}).items() if option not in own}
    held = {
        "type": "object",
        "description": kind.__doc__,
        "additionalProperties": False,
        "properties": own | options,
    }
    if name in CATALOGUES:
        chooser = CATALOGUES[name][0]
        default = next(f.default for f in fields(kind) if f.name == chooser)
        held["allOf"] = [_takes(name, chooser, entry, list(own), default == entry) for entry in names(name)]
        if default is None:
            held["allOf"].append(_rule({"not": {"required": [chooser]}}, list(own), []))
    return held


def _takes(section: str, chooser: str, entry: str, own: list[str], is_default: bool) -> dict[str, Any]:
    """If this entry is chosen, these keys are allowed and these must be there."""
    options = taken(section, entry)
    chosen: dict[str, Any] = {"properties": {chooser: {"const": entry}}}
    if not is_default:  # left out, the default is meant
        chosen["required"] = [chooser]
    return _rule(chosen, [*own, *options], [option for option, default in options.items() if required(default)])


def _rule(chosen: dict[str, Any], allowed: list[str], needed: list[str]) -> dict[str, Any]:
    return {"if": chosen, "then": {"propertyNames": {"enum": sorted(set(allowed))}, "required": needed}}
