"""A post in memory, whose nodes answer at once, late, twice, wrongly or never; time is a number that sleeping moves."""

import itertools

from evenkeel.federation.answering import reply_to
from evenkeel.federation.codec import Envelope, digest, opened
from evenkeel.federation.exchange import Fault
from evenkeel.federation.sites import Site
from evenkeel.runs.parts import federation_of, task_of


def travelled(envelope):
    """As it comes out at the other end: text and bytes only."""
    return opened(envelope.text(), {n: bytes(p.data) for n, p in envelope.arrays.items()}, digest(envelope))


class Clock:
    """Seconds since the start; sleeping takes no time."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += max(seconds, 1e-3)


class Node:
    """A site's process: `behave(envelope, answer)` returns what the server sees, a list of (seconds, reply)."""

    def __init__(self, site, behave=None):
        self.site, self.behave = site, behave

    def replies(self, asked, answer):
        if asked.kind == "describe" or self.behave is None:
            return [(0.0, answer())]
        return self.behave(asked, answer)


class MemoryPost:
    """Nodes by number; messages go through the codec both ways."""

    def __init__(self, made, clock=None, state=None):
        self.federation = federation_of(made)
        self.task = task_of(made, self.federation)
        self.clock, self.state = clock or Clock(), state
        self.there, self.registered, self.letters = {}, {}, itertools.count()
        self.waiting, self.sent = [], []

    def join(self, node, at, behave=None, name=None):
        self.there[node] = Node(Site(name=name or self.federation.names[at], rows=self.federation, at=at), behave)

    def everybody(self):
        for i in range(self.federation.n):
            self.join(100 + i, i)
        return self

    def nodes(self):
        return {node: self.registered.get(node, "") for node in self.there}

    def send(self, node, envelope, seconds):
        letter = f"letter-{next(self.letters)}"
        asked = travelled(envelope)
        self.sent.append((node, asked))
        if node in self.there:
            held = self.there[node]

            def answer():
                return reply_to(asked, held.site, lambda shape, classes: self.task, self.state)

            for after, reply in held.replies(asked, answer):
                self.waiting.append((self.clock() + after, letter, reply))
        return letter

    def fetch(self, letters):
        wanted = set(letters)
        due = [w for w in self.waiting if w[1] in wanted and w[0] <= self.clock()]
        self.waiting = [w for w in self.waiting if w not in due]
        for _, letter, reply in due:
            yield letter, reply if isinstance(reply, Fault) else travelled(reply)


def changed(reply, **facts):
    """A reply with other facts."""
    return Envelope(kind=reply.kind, facts={**reply.facts, **facts}, arrays=reply.arrays)
