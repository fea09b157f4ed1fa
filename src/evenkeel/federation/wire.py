"""Envelopes over Flower: a RecordDict of text and raw bytes, and a `Post` over its grid."""

import functools
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import httpx
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid
from flwr.superlink.grid import http_grid

from evenkeel.errors import InputError, RunFailedError
from evenkeel.federation.codec import Envelope, digest, opened
from evenkeel.federation.exchange import Fault

MESSAGE = "train.ask"
_STYPE = "evenkeel"  # raw bytes; Flower's own kind would be a NumPy file
_HEAD, _ARRAYS = "head", "arrays"
_AT_ONCE = 2**26  # bytes of replies held at a time
_PULL = "pull-messages"
_PULLED = http_grid.pull_objects
_AWAY = 60.0  # seconds without SuperLink, where Flower would wait for ever


def record(envelope: Envelope) -> RecordDict:
    """The envelope as Flower carries it; equal arrays are stored once at the SuperLink."""
    arrays = {name: Array(packed.dtype, packed.shape, _STYPE, packed.data) for name, packed in envelope.arrays.items()}
    head = ConfigRecord({"text": envelope.text(), "seal": digest(envelope)})
    return RecordDict({_HEAD: head, _ARRAYS: ArrayRecord(arrays)})


def envelope(content: RecordDict) -> Envelope:
    """The envelope again, checked."""
    try:
        head, arrays = content[_HEAD], content[_ARRAYS]
        data = {str(name): array.data for name, array in arrays.items()}
        text, seal = str(head["text"]), str(head["seal"])
    except (KeyError, AttributeError, TypeError) as error:
        raise InputError(f"malformed message ({error!r})") from None
    return opened(text, data, seal)


@dataclass(slots=True)
class GridPost:
    """Flower's grid as a `Post`: push and pull, never its own waiting.

    A SuperLink whose database is busy answers 500, now and then. That is a reason to ask again, not to lose a run.
    """

    grid: Grid
    _largest: int = 1
    _unsent: set[str] = field(default_factory=set)
    _there: Mapping[int, str] = field(default_factory=dict)
    _late: float = 0.0  # when nobody waits any more for what was sent last
    _patience: float = 1.0  # what one attempt may take
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        invoker = getattr(self.grid, "_retry_invoker", None)
        if invoker is not None:
            invoker.max_time = _AWAY

    def nodes(self) -> Mapping[int, str]:
        """The nodes that are there, with the names they are registered under."""
        try:
            seen = self.grid.get_nodes()
        except httpx.HTTPError as error:
            _demand_passing(error)
            return self._there
        self._there = {int(node.node_id): str(getattr(node, "name", "") or "") for node in seen}
        return self._there

    def send(self, node: int, envelope_: Envelope, seconds: float) -> str:
        """One message; the id that its reply names."""
        self._late = time.monotonic() + seconds
        self._patience = float(envelope_.facts.get("patience", seconds))
        self._largest = max(self._largest, envelope_.nbytes())
        round_ = str(envelope_.facts.get("round", ""))
        message = Message(record(envelope_), node, MESSAGE, ttl=max(seconds, 1.0), group_id=round_)
        try:
            ids = [letter for letter in self.grid.push_messages([message]) if letter]
        except httpx.HTTPError as error:
            _demand_passing(error)
            ids = []
        if ids:
            return str(ids[0])
        letter = f"unsent-{next(self._numbers)}"
        self._unsent.add(letter)
        return letter

    def fetch(self, letters: Iterable[str]) -> Iterable[tuple[str, Envelope | Fault]]:
        """What has come back, a few replies at a time, so that large ones need not all be in memory."""
        wanted = list(letters)
        for letter in self._unsent.intersection(wanted):
            self._unsent.discard(letter)
            yield letter, Fault("could not be sent")
        rest = [letter for letter in wanted if not letter.startswith("unsent-")]
        step = max(1, min(256, _AT_ONCE // self._largest))
        for k in range(0, len(rest), step):
            yield from self._pulled(rest[k : k + step])

    def _pulled(self, letters: list[str]) -> Iterator[tuple[str, Envelope | Fault]]:
        """A reply whose sender died while it handed it over never comes whole: Flower would wait two hours for it.

        Nobody else is heard meanwhile, so it is not waited for until the deadline, but for one attempt's share of it.
        """
        left = max(min(self._late - time.monotonic(), self._patience), 1.0)
        http_grid.pull_objects = functools.partial(_PULLED, max_time=left)
        try:
            messages = list(self.grid.pull_messages(letters))
        except httpx.HTTPError as error:
            _demand_passing(error)
            if not error.request.url.path.endswith(_PULL):  # on the way of the contents: some count as delivered by now
                yield from ((letter, Fault("SuperLink could not hand the reply over")) for letter in letters)
            return
        for message in messages:
            yield str(message.metadata.reply_to_message_id), _found(message)


def _demand_passing(error: httpx.HTTPError) -> None:
    """What SuperLink fails at may go better the next time; what it refuses is an error, and so is its silence."""
    if not isinstance(error, httpx.HTTPStatusError):
        raise RunFailedError(f"SuperLink does not answer ({error}); start it again and resume") from None
    if error.response.status_code < httpx.codes.INTERNAL_SERVER_ERROR:
        raise error


def _found(message: Message) -> "Envelope | Fault":
    if message.has_error():
        return Fault(f"error {message.error.code}: {(message.error.reason or 'no reason given')[:200]}")
    try:
        return envelope(message.content)
    except InputError as error:
        return Envelope(kind="refusal", facts={"why": str(error)})
