"""Who is who: a client is a name, and a node speaks for it. Nodes come and go; names, sizes and order stay."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenkeel.data.shards import Federation
from evenkeel.errors import InputError
from evenkeel.federation.codec import Envelope
from evenkeel.federation.journal import Journal
from evenkeel.federation.policy import Policy
from evenkeel.federation.sites import rowless

if TYPE_CHECKING:
    from evenkeel.federation.exchange import Fault, Post

_EVERY = 1.0  # seconds between two looks at who is there
_DESCRIBED = 60.0  # seconds that a description may take at most: it is no work, and its loss must show soon


@dataclass(slots=True, kw_only=True)
class Roster:
    """`names` are the clients in order; empty until the start is over, when whoever is there becomes the list."""

    names: tuple[str, ...] = ()
    sites: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    letters: dict[str, int] = field(default_factory=dict)  # descriptions asked for: letter -> node
    _nonces: dict[str, str] = field(default_factory=dict)
    _of: dict[int, str] = field(default_factory=dict)  # node -> name; "" for one that is refused
    _there: Mapping[int, str] = field(default_factory=dict)
    _order: dict[int, int] = field(default_factory=dict)  # node -> when it was first seen
    _tries: dict[int, int] = field(default_factory=dict)
    _sent: dict[str, float] = field(default_factory=dict)  # letter -> when
    _looked: float = -_EVERY

    def node(self, client: int) -> int | None:
        """The node that speaks for a client: of several that are there, the last that came."""
        mine = [node for node, name in self._of.items() if name == self.names[client] and node in self._there]
        return max(mine, key=self._order.__getitem__, default=None)

    def present(self) -> set[str]:
        """The names that a node speaks for now."""
        return {name for node, name in self._of.items() if name and node in self._there}

    def refresh(self, post: "Post", now: float, policy: Policy) -> None:
        """Look who is there, and ask those that are new to describe themselves."""
        if now - self._looked < _EVERY:
            return
        self._looked = now
        self._there = post.nodes()
        patience = min(policy.patience, _DESCRIBED)
        young = {letter for letter, when in self._sent.items() if now - when < patience}
        self.letters = {
            letter: node for letter, node in self.letters.items() if node in self._there and letter in young
        }
        self._tries = {node: tries for node, tries in self._tries.items() if node in self._there}
        self._of = {node: name for node, name in self._of.items() if name or node in self._there}
        asked = set(self.letters.values())
        for node in self._there:
            self._order.setdefault(node, len(self._order))
            if node in self._of or node in asked or self._tries.get(node, 0) > policy.retries:
                continue
            nonce = secrets.token_hex(8)
            letter = post.send(node, Envelope(kind="describe", facts={"nonce": nonce}), patience)
            self.letters[letter], self._nonces[letter], self._sent[letter] = node, nonce, now

    def hear(self, letter: str, found: "Envelope | Fault", journal: Journal) -> None:
        """A node's description; after a fault it is asked again when it is looked at next."""
        node, nonce = self.letters.pop(letter), self._nonces.pop(letter, "")
        if not isinstance(found, Envelope):
            self._tries[node] = self._tries.get(node, 0) + 1
            journal.warn("fault", f"node {node} does not describe itself: {found.why}", node=node)
            return
        try:
            site = _site(found, nonce, self._there.get(node, ""))
            self._admit(node, site)
            journal.write("joined", client=site["name"], train=site["train"], valid=site["valid"])
        except InputError as error:
            self._of[node] = ""
            journal.warn("refused", f"node {node} is refused: {error}")

    def _admit(self, node: int, site: Mapping[str, Any]) -> None:
        name = site["name"]
        if self.names and name not in self.names:
            raise InputError(f"{name!r} is not on the list of sites: {', '.join(self.names)}")
        before = self.sites.get(name)
        if before is not None and dict(before) != dict(site):
            raise InputError(f"{name!r} came back with other rows than it began with: start a new run")
        first = next(iter(self.sites.values()), site)
        if site["shape"] != first["shape"] or (site["classes"] == 0) != (first["classes"] == 0):
            raise InputError(
                f"{name!r} has rows of shape {site['shape']} ({site['classes']} classes), others {first['shape']}"
            )
        self.sites[name] = site
        self._of[node] = name

    def settle(self, names: Iterable[str], known: Mapping[str, Mapping[str, Any]]) -> None:
        """From now on these are the clients, in this order; `known` describes those that are away."""
        self.names = tuple(names)
        self.sites = {name: self.sites.get(name) or known[name] for name in self.names}

    def federation(self, origin: str) -> Federation:
        """Who has how many rows, and no rows."""
        sites = [self.sites[name] for name in self.names]
        train, valid = ([int(site[part]) for site in sites] for part in ("train", "valid"))
        classes = max(int(site["classes"]) for site in sites)
        return rowless(self.names, train, valid, shape=sites[0]["shape"], classes=classes, origin=origin)


def _site(found: Envelope, nonce: str, registered: str) -> dict[str, Any]:
    """A description that makes sense; the registered name is the one that counts."""
    facts = found.facts
    if found.kind == "refusal":
        raise InputError(str(facts.get("why", "it gave no reason")))
    if found.kind != "reply" or facts.get("nonce") != nonce:
        raise InputError("it answers another question")
    name, shape = facts.get("name"), facts.get("shape")
    train, valid, classes = (facts.get(k) for k in ("train", "valid", "classes"))
    if registered and name and name != registered:
        raise InputError(f"it calls itself {name!r}, but its key is registered to {registered!r}")
    name = registered or name
    if not isinstance(name, str) or not name or not isinstance(shape, list):
        raise InputError("its description is malformed, or it has no name: start the node with a name")
    if not (_whole(train, 1) and _whole(valid, 0) and _whole(classes, 0) and all(_whole(k, 1) for k in shape)):
        raise InputError(f"{name!r} describes impossible rows ({train} train, {valid} validate, shape {shape})")
    return {"name": name, "train": train, "valid": valid, "shape": shape, "classes": classes}


def _whole(value: object, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= low
