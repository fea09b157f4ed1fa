"""From TOML to a spec: every mistake is one line with file, key, value, rule and remedy."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from evenkeel.errors import InputError, nearest
from evenkeel.runs.keys import Key, Value, written
from evenkeel.runs.options import CATALOGUES, GIVEN, OPTIONS, required, taken

if TYPE_CHECKING:
    from evenkeel.runs.spec import Spec

S = TypeVar("S")
Where = Callable[[str], str]  # dotted key -> where it was given: the file, or --set
Raw = dict[str, Any]
_MOST = 2**20  # bytes of a spec


def toml(file: Path) -> Raw:
    """The tables of a TOML file, relative data files taken from its folder."""
    if file.is_file() and file.stat().st_size > _MOST:
        raise InputError(f"{file.name}: larger than 1 MiB: a spec is a page; give the spec, not its data")
    try:
        raw = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{file}: no such file; `evenkeel spec --preset digits > {file.name}` writes one") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file.name}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file.name}: not TOML: {error}; texts need quotes, tables stand in [brackets]") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{file.name}: cannot be read ({reason.lower()}); give a TOML file") from None
    for section, key in (("data", "table"), ("data", "store"), ("clients", "trace")):
        held = raw.get(section)
        if isinstance(held, dict) and isinstance(held.get(key), str):
            held[key] = str((file.parent / held[key]).resolve())
    return raw


def known_preset(name: str, presets: Mapping[str, object]) -> None:
    """Refuse a preset that there is not."""
    if name not in presets:
        raise InputError(f"preset {name!r}: no such preset; {nearest(name, presets)}")


def read_over(cls: type[S], raw: Mapping[str, Any], overrides: Sequence[str], file: str) -> S:
    """A spec from tables and the overrides laid over them; complaints about an override say --set."""
    table, ours = deepcopy(dict(raw)), set()
    for text in overrides:
        dotted, equals, value = text.partition("=")
        dotted = dotted.strip()
        if not equals or not dotted:
            raise InputError(f"--set {text}: must be key=value, such as algorithm.phi=0.3")
        table = put(table, dotted, _value(value.strip()))
        ours.add(dotted)
    return read(cls, table, lambda dotted: "--set" if dotted in ours else file)


def _value(text: str) -> object:
    """The value after the equals sign as TOML has it; what is no TOML is text."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def put(raw: Mapping[str, Any], dotted: str, value: object) -> Raw:
    """Tables with one dotted key set, or left out for None.

    >>> put({"a": {"b": 1}}, "a.b", 2), put({"a": {"b": 1}}, "a.b", None)
    ({'a': {'b': 2}}, {'a': {}})
    """
    table = deepcopy(dict(raw))
    *sections, last = dotted.split(".")
    at = table
    for section in sections:
        at = at.setdefault(section, {})
        if not isinstance(at, dict):
            raise InputError(f"--set {dotted}: {section} is a value, not a section; give the key itself")
    if value is None:
        at.pop(last, None)
    else:
        at[last] = value
    return table


def read(cls: type[S], raw: Mapping[str, Any], where: Where) -> S:
    """The whole spec, checked key by key and then as a whole."""
    values: Raw = {}
    sections = {f.name: f for f in fields(cls) if "key" not in f.metadata}  # type: ignore[arg-type]
    own = {f.name: f.metadata["key"] for f in fields(cls) if "key" in f.metadata}  # type: ignore[arg-type]
    for name, value in raw.items():
        if name in sections:
            values[name] = _section(sections[name], value, where)
        elif name in own:
            values[name] = own[name].check(value, f"{where(name)}: {name}")
        else:
            raise InputError(f"{where(name)}: {name} = {written(value)}: {_unknown(name, [*own, *sections])}")
    spec = cls(**values)
    from evenkeel.runs.rules import check

    check(cast("Spec", spec), where)
    return spec


def _section(section: Field[Any], raw: object, where: Where) -> Any:  # noqa: ANN401 — one of the sections
    name: str = section.name
    if not isinstance(raw, Mapping):
        raise InputError(f"{where(name)}: {name} = {written(raw)}: must be a section; write [{name}] on its own line")
    kind: Any = section.default_factory
    known: dict[str, Key] = {f.name: f.metadata["key"] for f in fields(kind) if "key" in f.metadata}
    values: Raw = {}
    for option, value in raw.items():
        if option in known:
            at = f"{where(f'{name}.{option}')}: {name}.{option}"
            values[option] = known[option].check(value, at)
    if name in CATALOGUES:
        chooser = CATALOGUES[name][0]
        chosen = values.get(chooser, next(f.default for f in fields(kind) if f.name == chooser))
        rest = {k: v for k, v in raw.items() if k not in known}
        values["options"] = _options(name, chosen, rest, [*known], where)
    else:
        for option, value in raw.items():
            if option not in known:
                at = f"{where(f'{name}.{option}')}: {name}.{option}"
                raise InputError(f"{at} = {written(value)}: {_unknown(option, known, name)}")
    return kind(**values)


def _options(section: str, chosen: str | None, raw: Raw, fixed: list[str], where: Where) -> dict[str, Value]:
    """The options of a named entry; required ones must be there."""
    chooser = CATALOGUES[section][0]
    takes = taken(section, chosen)
    values = {}
    for option, value in raw.items():
        at = f"{where(f'{section}.{option}')}: {section}.{option}"
        if option not in takes:
            raise InputError(f"{at} = {written(value)}: {_not_taken(section, chosen, option, [*fixed, *takes])}")
        values[option] = OPTIONS[section][option].check(value, at)
    for option, default in takes.items():
        if required(default) and option not in values:
            hint = OPTIONS[section][option].hint
            at = where(f"{section}.{chooser}")
            raise InputError(f"{at}: {section}.{option} is missing: {chosen!r} cannot do without; {hint}")
    return values


def _not_taken(section: str, chosen: str | None, option: str, known: list[str]) -> str:
    chooser = CATALOGUES[section][0]
    if option in OPTIONS[section] and chosen == GIVEN:
        return f"what a program hands in has no options; leave it out or give another {chooser}"
    if option in OPTIONS[section] and chosen is None:
        return f"without a {chooser} there are no options; give {section}.{chooser} as well"
    if option in OPTIONS[section]:
        return f"{chosen!r} does not take it; leave it out, or give another {chooser}"
    return _unknown(option, known, section)


def _unknown(name: str, known: Sequence[str] | Mapping[str, Key], section: str = "") -> str:
    """No such key: where it would belong, or the nearest name."""
    from evenkeel.runs.spec import Spec

    homes = [f.name for f in fields(Spec) if name in _keys_of(f) and f.name != section]
    if not section and name not in known and homes:
        return f"no such key here; write it under [{homes[0]}]"
    near = nearest(name, known)
    if section and not near.startswith("did") and homes:
        return f"no such key in [{section}]; write it under [{homes[0]}]"
    return f"no such key{f' in [{section}]' if section else ''}; {near}"


def _keys_of(section: Field[Any]) -> set[str]:
    if "key" in section.metadata:
        return set()
    kind: Any = section.default_factory
    return {f.name for f in fields(kind) if "key" in f.metadata} | set(OPTIONS.get(section.name, {}))


def table(spec: Any, *, keep_none: bool = False) -> Raw:  # noqa: ANN401 — a spec or one of its sections
    """A dataclass as nested dictionaries, options among the keys of their section."""
    out: Raw = {}
    for f in fields(spec):
        value = getattr(spec, f.name)
        if f.name == "options":
            out |= value
        elif "key" not in f.metadata:
            out[f.name] = table(value, keep_none=keep_none)
        elif value is not None or keep_none:
            out[f.name] = value
    return out
