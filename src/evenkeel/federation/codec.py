"""What travels: envelopes of plain facts and packed arrays, sealed by a digest.

An ask says which step, which round, which client, and carries a nonce; a reply repeats the nonce and the ask's digest,
so that a reply to another question, an older round or another client is never taken for the one that is awaited.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenkeel.errors import InputError
from evenkeel.federation.packing import Packed, pack, tensor, unpack
from evenkeel.protocol import Ask, Key

VERSION = 1
_EACH = "each."


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Facts (JSON) and arrays (bytes); `kind` is "describe", "ask", "reply" or "refusal"."""

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Packed] = field(default_factory=dict)

    def text(self) -> str:
        """Kind, facts and what the arrays are, as canonical JSON."""
        arrays = {name: packed.facts() for name, packed in self.arrays.items()}
        head = {"version": VERSION, "kind": self.kind, "facts": dict(self.facts), "arrays": arrays}
        return json.dumps(head, sort_keys=True, separators=(",", ":"))

    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return sum(len(packed.data) for packed in self.arrays.values())


def digest(envelope: Envelope) -> str:
    """SHA-256 of all of it.

    >>> digest(Envelope(kind="ask", facts={"a": 1})) == digest(Envelope(kind="ask", facts={"a": 1}))
    True
    """
    state = hashlib.sha256(envelope.text().encode())
    for name in sorted(envelope.arrays):
        state.update(name.encode() + b"\0")
        state.update(envelope.arrays[name].data)
    return state.hexdigest()


def opened(text: str, data: Mapping[str, bytes], seal: str) -> Envelope:
    """The envelope again; one that is altered, of another version or malformed is refused.

    >>> opened('{"version": 9}', {}, "")
    Traceback (most recent call last):
    evenkeel.errors.InputError: envelope of version 9, ours is 1: install the same evenkeel on both sides
    """
    try:
        head = json.loads(text)
        if head["version"] != VERSION:
            other = f"envelope of version {head['version']!r}, ours is {VERSION}"
            raise InputError(f"{other}: install the same evenkeel on both sides")
        arrays = {
            str(name): Packed(wire=str(wire), dtype=str(dtype), shape=tuple(int(k) for k in shape), data=data[name])
            for name, (wire, dtype, shape) in head["arrays"].items()
        }
        envelope = Envelope(kind=str(head["kind"]), facts=dict(head["facts"]), arrays=arrays)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"malformed envelope ({error!r})") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"malformed envelope ({error})") from None
    if digest(envelope) != seal:
        raise InputError("altered on its way: its digest is another one")
    return envelope


def ask_envelope(ask: Ask, key: Key, at: int, shared: Mapping[str, Packed], facts: Mapping[str, Any]) -> Envelope:
    """The ask to the `at`-th of the clients asked. `shared` are the packed shared arrays, `facts` name the client."""
    each = {_EACH + name: pack(value[at]) for name, value in ask.each.items()}
    plain = {"phase": ask.phase, "config": _plain(ask.config), "seed": key.seed, "round": key.round}
    return Envelope(kind="ask", facts=plain | dict(facts), arrays=dict(shared) | each)


def ask_of(envelope: Envelope, config: Mapping[str, Any] | None = None) -> tuple[Ask, Key]:
    """The ask and the key that an envelope holds."""
    facts = envelope.facts
    held = {name: tensor(packed) for name, packed in envelope.arrays.items()}
    shared = {name: value for name, value in held.items() if not name.startswith(_EACH)}
    each = {name.removeprefix(_EACH): value for name, value in held.items() if name.startswith(_EACH)}
    ask = Ask(facts["phase"], shared, each, config=facts["config"] if config is None else config)
    return ask, Key(int(facts["seed"]), int(facts["round"]))


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in config.items()}


__all__ = ["VERSION", "Envelope", "ask_envelope", "ask_of", "digest", "opened", "unpack"]
