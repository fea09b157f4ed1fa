"""Flower's SuperLink with two locks that it lacks: `python -m evenkeel.federation.deploy.superlink SECRET FLAGS…`.

1. A node signs the time of a request, not what it asks, and the signature is good for 305 s: whoever saw one request
   could send others under its name. Here each signed time is good once, and none is good that is older than this
   process, which would have forgotten it.
2. The control API, by which code reaches every site, asks nobody who they are. The proxy keeps it from the outside;
   here it also wants the server's secret, so that another user of this machine cannot start a run.
"""

import hmac
import sys
import time
from base64 import b64decode
from binascii import Error as BadBase64
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from datetime import UTC, datetime
from functools import partial
from logging import getLogger
from pathlib import Path
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Callable[[], Awaitable[Message]], Send], Awaitable[None]]

CONTROL_HEADER = "evenkeel-control"
KNOWN = "evenkeel_known"  # in a request's state: a registered key signed it
REMEMBERED = 320.0  # seconds; Flower takes a signature for 300, and 5 on either side for clocks
_REFUSED = 401
_FAILED = 400  # and above
_log = getLogger("flwr")


class Once:
    """What was signed so far. Only what a registered key signed stays, so a stranger cannot fill the memory.

    >>> once = Once(born=datetime(2026, 1, 1, tzinfo=UTC))
    >>> signed = "2026-01-01T00:00:01+00:00"
    >>> [once.first(time, b"key", now=0.0) for time in (signed, signed, "2025" + signed[4:])]
    [True, False, False]
    """

    def __init__(self, born: datetime) -> None:
        self.born = born
        self.seen: OrderedDict[tuple[str, bytes], float] = OrderedDict()

    def first(self, signed: str, key: bytes, now: float) -> bool:
        """Whether this signature was not seen before and is not older than our memory."""
        while self.seen and now - next(iter(self.seen.values())) > REMEMBERED:
            self.seen.popitem(last=False)
        try:
            old = datetime.fromisoformat(signed) < self.born
        except (ValueError, TypeError):  # no time, or one without a zone
            return False
        if old or (signed, key) in self.seen:
            return False
        self.seen[signed, key] = now
        return True

    def forget(self, signed: str, key: bytes) -> None:
        """It was nobody's."""
        self.seen.pop((signed, key), None)


class Locks:
    """The two locks, before everything else that a request meets."""

    def __init__(self, app: App, secret: bytes) -> None:
        self.app, self.secret = app, secret
        self.once = Once(datetime.now(UTC))

    async def __call__(self, scope: Scope, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        """Refuse, or hand on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif scope["path"].startswith("/v1/fleet/"):
            await self._node(scope, receive, send)
        elif scope["path"].startswith("/v1/control/") and not self._may_control(scope):
            await _refuse(scope, send, "the control API wants the server's secret")
        else:
            await self.app(scope, receive, send)

    async def _node(self, scope: Scope, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        times, keys = _header(scope, "flwr-timestamp"), _header(scope, "flwr-public-key")
        try:
            (signed,), (key,) = times, [b64decode(k, validate=True) for k in keys]
        except (ValueError, BadBase64):
            await _refuse(scope, send, "no signed time")
            return
        if not self.once.first(signed, key, time.monotonic()):
            await _refuse(scope, send, "a signature that was used before, or is older than this server")
            return

        state = scope.setdefault("state", {})

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start" and KNOWN not in state:
                self.once.forget(signed, key)
                if message["status"] >= _FAILED:
                    _tell(scope, f"no registered key signed it ({message['status']})")
            await send(message)

        await self.app(scope, receive, watched)

    def _may_control(self, scope: Scope) -> bool:
        given = _header(scope, CONTROL_HEADER)
        return len(given) == 1 and hmac.compare_digest(given[0].encode(), self.secret)


def _header(scope: Scope, name: str) -> list[str]:
    """Every value of a header, so that a second one cannot hide behind the first."""
    held: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return [value.decode("latin-1") for key, value in held if key.decode("latin-1").lower() == name]


def _tell(scope: Scope, why: str) -> None:
    forwarded = _header(scope, "x-real-ip")
    _log.warning("refused %s from %s: %s", scope["path"][:80], forwarded[0][:45] if forwarded else "here", why)


async def _refuse(scope: Scope, send: Send, why: str) -> None:
    _tell(scope, why)
    await send({"type": "http.response.start", "status": _REFUSED, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def noting(authenticate: Callable[[Any], None]) -> Callable[[Any], None]:
    """Flower's own check of a node's signature, and a note where the key is a registered one.

    Flower refuses some requests before this check, and lets whoever has any key at all ask to be activated.
    """

    def check(request: Any) -> None:  # noqa: ANN401 — Starlette's
        from flwr.superlink.dependencies.linkstate import get_linkstate

        authenticate(request)
        key = b64decode(request.headers["flwr-public-key"])
        if get_linkstate(request).get_node_id_by_public_key(key) is not None:
            request.scope["state"][KNOWN] = True

    return check


def lock(secret: bytes) -> None:
    """Every SuperLink that this process starts from now on has the locks."""
    from flwr.superlink import extensions
    from flwr.superlink.routers.fleet import node_auth
    from starlette.middleware import Middleware

    patient()
    ours = Middleware(partial(Locks, secret=secret))
    extensions.get_middleware = lambda: (ours,)
    node_auth.authenticate_node = noting(node_auth.authenticate_node)


def patient() -> None:
    """Wait a minute for SuperLink's database: after Flower's five seconds it answers 500, and runs are lost."""
    from flwr.supercore import sql_mixin

    held = dict(sql_mixin.SQLITE_PRAGMAS) | {"busy_timeout": "60000"}
    sql_mixin.SQLITE_PRAGMAS = tuple(held.items())


def main() -> None:
    """Start SuperLink with the locks in front; the first argument is the file of the server's secret."""
    from flwr.superlink.cli import flower_superlink

    lock(Path(sys.argv.pop(1)).read_bytes())
    flower_superlink()


if __name__ == "__main__":
    main()
