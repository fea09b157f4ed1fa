"""One exchange: ask everybody, collect, ask again, refuse what is unfit, and stop at the deadline, whatever happens."""

import math
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from evenkeel.federation.checks import Expected, unfit
from evenkeel.federation.codec import Envelope, digest
from evenkeel.federation.journal import Journal
from evenkeel.federation.policy import Policy
from evenkeel.federation.roster import Roster


class Fault(NamedTuple):
    """What came back instead of an envelope."""

    why: str


class Post(Protocol):
    """Whatever carries envelopes: Flower's grid, or a dictionary in a test."""

    def nodes(self) -> Mapping[int, str]:
        """The nodes that are there, and the names that they are registered under ("" where they are not)."""
        ...

    def send(self, node: int, envelope: Envelope, seconds: float) -> str:
        """Send; the letter's id. It need not be kept for longer than this."""
        ...

    def fetch(self, letters: Iterable[str]) -> Iterable[tuple[str, Envelope | Fault]]:
        """What has come back to these letters since the last call; a letter may be answered twice, or never."""
        ...


class Sent(NamedTuple):
    """A letter that is open."""

    client: int
    node: int
    expected: Expected


Question = tuple[Envelope, Expected]  # without nonce and digest, which each attempt has of its own
Take = Callable[[int, Envelope], None]


@dataclass(slots=True, kw_only=True)
class Tally:
    """What an exchange cost."""

    down: int = 0
    up: int = 0
    messages: int = 0


@dataclass(slots=True, kw_only=True)
class Exchange:
    """The state of one exchange: who still owes an answer, how often each was asked, which letters are open."""

    post: Post
    roster: Roster
    policy: Policy
    journal: Journal
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    tally: Tally = field(default_factory=Tally)
    _open: dict[str, Sent] = field(default_factory=dict)
    _tries: dict[int, int] = field(default_factory=dict)
    _owing: set[int] = field(default_factory=set)

    def run(self, who: Iterable[int], question: Callable[[int], Question], take: Take) -> None:
        """Ask `who`; each good reply is handed to `take` once. Ends when nobody owes an answer, or at the deadline."""
        self._owing = set(who)
        begun = self.clock()
        while self._owing:
            spent = self.clock() - begun
            self.roster.refresh(self.post, self.clock(), self.policy)
            self._ask(question, self.policy.deadline - spent)
            self._collect(take)
            self._give_up(spent)
            if self._owing:
                self.sleep(min(self.policy.poll, max(self.policy.deadline - spent, 0.0)))

    def _ask(self, question: Callable[[int], Question], left: float) -> None:
        """A letter to each client that owes an answer and has none open at the node that speaks for it now."""
        at = {(sent.client, sent.node) for sent in self._open.values()}
        for client in sorted(self._owing):
            node = self.roster.node(client)
            if left <= 0 or node is None or (client, node) in at or self._tries.get(client, 0) > self.policy.retries:
                continue
            self._tries[client] = self._tries.get(client, 0) + 1
            envelope, expected = _numbered(*question(client))
            letter = self.post.send(node, envelope, left)
            self._open[letter] = Sent(client, node, expected)
            self.tally.down += envelope.nbytes()
            self.tally.messages += 1

    def _collect(self, take: Take) -> None:
        for letter, found in self.post.fetch([*self._open, *self.roster.letters]):
            if letter in self.roster.letters:
                self.roster.hear(letter, found, self.journal)
                continue
            sent = self._open.pop(letter, None)
            if sent is None or sent.client not in self._owing:
                self.journal.write(
                    "ignored", letter=letter
                )  # an answer to a letter that is closed: a duplicate, or late
                continue
            self._hear(sent, found, take)

    def _hear(self, sent: Sent, found: "Envelope | Fault", take: Take) -> None:
        name = self.roster.names[sent.client]
        if isinstance(found, Fault):
            tries = self._tries[sent.client]
            self.journal.warn("fault", f"client {name!r}: {found.why} (attempt {tries})", client=name, attempt=tries)
            return
        self.tally.up += found.nbytes()
        why = found.facts.get("why", "") if found.kind == "refusal" else unfit(found, sent.expected)
        if why is not None:
            round_, phase = sent.expected.identity["round"], sent.expected.phase
            line = f"round {round_}: {phase!r} of client {name!r} refused: {why}"
            self.journal.warn("refused", line, client=name, round=round_, phase=phase)
            self._owing.discard(sent.client)
            return
        take(sent.client, found)
        self._owing.discard(sent.client)

    def _give_up(self, spent: float) -> None:
        """Nobody is waited for past the deadline; one without a node, for a share of it."""
        waiting = {sent.client for sent in self._open.values()}
        for client in sorted(self._owing):
            gone = self.roster.node(client) is None and client not in waiting
            worn = self._tries.get(client, 0) > self.policy.retries and client not in waiting
            limit = 0.0 if worn else self.policy.patience if gone else self.policy.deadline
            if spent >= limit:
                self._owing.discard(client)
                why = "no attempt is left" if worn else "no node speaks for it" if gone else "no answer in time"
                name = self.roster.names[client]
                self.journal.warn("absent", f"client {name!r} is absent: {why} ({spent:.0f} s)", client=name)


def _numbered(envelope: Envelope, expected: Expected) -> Question:
    """With a nonce of its own, and the digest that the reply must repeat."""
    nonce = secrets.token_hex(8)
    asked = Envelope(kind=envelope.kind, facts={**envelope.facts, "nonce": nonce}, arrays=envelope.arrays)
    identity: dict[str, Any] = {**expected.identity, "nonce": nonce, "ask": digest(asked)}
    return asked, Expected(**{f: getattr(expected, f) for f in expected.__slots__} | {"identity": identity})


def enough(answered: int, asked: int, quorum: float) -> bool:
    """Whether at least this share answered.

    >>> enough(2, 4, 0.5), enough(1, 4, 0.5)
    (True, False)
    """
    return answered >= math.ceil(quorum * asked - 1e-9)
