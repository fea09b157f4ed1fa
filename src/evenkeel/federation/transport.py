"""The transport: an ask becomes an exchange, its replies a sum in client order, bit for bit as the plain loop adds.

A probe's reply also carries c_i once it is known that the algorithm asks for it at the same θ: one exchange for two
asks. The server then holds each c_i until λ is known, and each Δu_i until all are there: it sees them one by one.
Only a secure sum, which this is not, would hide them.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor

from evenkeel.engine.asked import Asked, asked
from evenkeel.errors import NobodyAnsweredError, RunFailedError
from evenkeel.federation.answering import FUSED
from evenkeel.federation.checks import Expected, said
from evenkeel.federation.codec import Envelope, ask_envelope
from evenkeel.federation.exchange import Exchange, Post, Question, enough
from evenkeel.federation.journal import Journal
from evenkeel.federation.packing import Packed, pack
from evenkeel.federation.policy import Policy
from evenkeel.federation.roster import Roster
from evenkeel.federation.shelf import Shelf
from evenkeel.protocol import Ask, Key, Replies

_NO_ROWS = {"loss": np.nan, "accuracy": np.nan, "error": np.nan, "size": 0.0}


@dataclass(slots=True)
class Heard:
    """The good replies of one exchange."""

    scalars: dict[int, Mapping[str, float]] = field(default_factory=dict)
    shelf: Shelf = field(default_factory=Shelf)

    def take(self, client: int, reply: Envelope) -> None:
        """Keep one."""
        self.scalars[client] = reply.facts["scalars"]
        self.shelf.put(client, reply.arrays)


@dataclass(frozen=True, slots=True)
class Ahead:
    """Gradients that came with a probe: at this θ, in this round, under these settings."""

    theta: Tensor
    key: Key
    config: Mapping[str, Any]
    heard: Heard


@dataclass(slots=True, kw_only=True)
class FederatedTransport:
    """A `protocol.Transport` over whatever carries envelopes. `run` names the run to the sites."""

    post: Post
    roster: Roster
    policy: Policy
    journal: Journal
    run: str
    shape: tuple[int, ...]
    classes: int
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _fuse: Mapping[str, Any] | None = None
    _ahead: Ahead | None = None
    _last: tuple[Key, Any] | None = None

    @property
    def n(self) -> int:
        """The number of clients."""
        return len(self.roster.names)

    def answer(self, ask: Ask, key: Key) -> Replies:
        """Put an ask to the clients; whoever does not answer is left out of `who`."""
        who = asked(ask, key, self.n, None)
        if ask.phase == "gradient":
            known = self._known(ask, key, who)
            if known is not None:
                return known
        fuse = self._fuse if ask.phase == "probe" and set(ask.shared) == {"theta"} and not ask.each else None
        heard = self._exchange(ask, key, who, fuse)
        if ask.phase == "probe":
            self._last = (key, ask.shared["theta"])
        if fuse is not None:
            self._ahead = Ahead(ask.shared["theta"], key, fuse, heard)
            return _replies(_part(heard, fused=False), who)
        replies = self._everybody(heard) if ask.phase == "score" and ask.who is None else _replies(heard, who)
        heard.shelf.close()
        return replies

    def _known(self, ask: Ask, key: Key, who: Asked) -> Replies | None:
        """The gradients that came with the probe; where they did not, they will the next time."""
        if self._last is not None and self._last[0] == key and self._last[1] is ask.shared["theta"]:
            self._fuse = dict(ask.config)
        ahead, self._ahead = self._ahead, None
        if ahead is None:
            return None
        fits = ahead.theta is ask.shared["theta"] and ahead.key == key and dict(ahead.config) == dict(ask.config)
        if not fits or not set(who.ids.tolist()) <= set(ahead.heard.scalars):
            ahead.heard.shelf.close()
            return None
        replies = _replies(_part(ahead.heard, fused=True), who, FUSED)
        ahead.heard.shelf.close()
        return replies

    def _exchange(self, ask: Ask, key: Key, who: Asked, fuse: Mapping[str, Any] | None) -> Heard:
        begun, heard = self.clock(), Heard()
        self._drop_ahead()
        exchange = Exchange(
            post=self.post,
            roster=self.roster,
            policy=self.policy,
            journal=self.journal,
            clock=self.clock,
            sleep=self.sleep,
        )
        exchange.run(who.ids.tolist(), self._questions(ask, key, who, fuse), heard.take)
        there = [self.roster.names[i] for i in sorted(heard.scalars)]
        facts = {"round": key.round, "phase": ask.phase + ("+gradient" if fuse is not None else "")}
        cost = {"seconds": round(self.clock() - begun, 3), "down": exchange.tally.down, "up": exchange.tally.up}
        asked_ = len(who.ids)
        self.journal.write(
            "exchange", **facts, **cost, messages=exchange.tally.messages, asked=asked_, answered=len(there)
        )
        self._demand(heard, who, ask, key)
        return heard

    def _demand(self, heard: Heard, who: Asked, ask: Ask, key: Key) -> None:
        missing = [self.roster.names[i] for i in who.ids.tolist() if i not in heard.scalars]
        if not heard.scalars and self.policy.quorum == 0:
            raise NobodyAnsweredError(f"round {key.round}: no client answered {ask.phase!r}")
        if not enough(max(len(heard.scalars), 0), len(who.ids), self.policy.quorum) or not heard.scalars:
            count = f"{len(heard.scalars)} of {len(who.ids)} clients answered {ask.phase!r}"
            rule = f"quorum = {self.policy.quorum:g}; absent: {', '.join(missing)}"
            raise RunFailedError(f"round {key.round}: {count} ({rule}); bring them back and resume")
        if missing:
            self.journal.write("without", round=key.round, phase=ask.phase, absent=missing)

    def _questions(self, ask: Ask, key: Key, who: Asked, fuse: Mapping[str, Any] | None) -> Any:  # noqa: ANN401
        """A function from client to question; what is shared is packed once."""
        policy = self.policy
        shared = {name: pack(value, policy.wire) for name, value in ask.shared.items()}
        own = ask._replace(each=who.each)
        scalars, vectors = said(ask.phase, ask.config, fused=fuse is not None)
        theta: Packed = shared["theta"]
        plan = {
            "run": self.run,
            "shape": list(self.shape),
            "classes": self.classes,
            "wire": policy.wire,
            "feedback": policy.feedback,
            "fuse": None if fuse is None else dict(fuse),
            "patience": policy.patience,
        }

        def question(client: int) -> Question:
            name = self.roster.names[client]
            facts = {"client": client, "name": name, "train": self.roster.sites[name]["train"], **plan}
            envelope = ask_envelope(own, key, int(np.searchsorted(who.ids, client)), shared, facts)
            identity = {"phase": ask.phase, "round": key.round, "client": client, "name": name}
            return envelope, Expected(
                identity=identity,
                phase=ask.phase,
                scalars=scalars,
                vectors=vectors,
                d=theta.shape[0],
                dtype=theta.dtype,
                wire=policy.wire,
                worst=policy.worst,
                feedback=policy.feedback and policy.wire != "exact",
            )

        return question

    def _everybody(self, heard: Heard) -> Replies:
        """Scores of all: whoever is absent has no rows there, and says so by NaN and a size of 0."""
        told = [heard.scalars.get(i, _NO_ROWS) for i in range(self.n)]
        return Replies(
            np.arange(self.n), {name: np.array([one[name] for one in told], np.float64) for name in _NO_ROWS}
        )

    def _drop_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.heard.shelf.close()
            self._ahead = None


def _part(heard: Heard, *, fused: bool) -> Heard:
    """The replies to the ask itself, or those to the one that was fused with it."""
    scalars: dict[int, Mapping[str, float]] = {
        client: {name: value for name, value in said.items() if name.startswith(FUSED) == fused}
        for client, said in heard.scalars.items()
    }
    return Heard(scalars, heard.shelf if fused else Shelf())


def _replies(heard: Heard, who: Asked, prefix: str = "") -> Replies:
    """As the plain loop has them: scalars by client, vectors summed in client order."""
    ids = np.array([i for i in who.ids.tolist() if i in heard.scalars], np.int64)
    weights = None if who.weights is None else who.weights[np.searchsorted(who.ids, ids)]
    names = heard.scalars[int(ids[0])]
    scalars = {n.removeprefix(prefix): np.array([heard.scalars[int(i)][n] for i in ids], np.float64) for n in names}
    vectors = {name.removeprefix(prefix): heard.shelf.combined(name, ids, weights) for name in heard.shelf.names}
    return Replies(ids, scalars | vectors)
