"""The two locks in front of SuperLink: a signature is good once, and control wants the server's secret."""

import asyncio
from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pytest

from evenkeel.federation.deploy.superlink import KNOWN, REMEMBERED, Locks, Once

SECRET = b"the server's"
KEY = b64encode(b"a public key").decode()


class Flower:
    """Stands in for SuperLink: counts what reaches it, notes whether it knows the key, answers with one status."""

    def __init__(self, status=200, *, known=True):
        self.status, self.known, self.heard = status, known, []

    async def __call__(self, scope, receive, send):
        self.heard.append(scope["path"])
        if self.known:
            scope["state"][KNOWN] = True
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def ask(locks, path, *headers):
    """The status that a request ends with."""
    said = []

    async def send(message):
        said.append(message)

    scope = {"type": "http", "path": path, "state": {}, "headers": [(k.encode(), v.encode()) for k, v in headers]}
    asyncio.run(locks(scope, None, send))
    return said[0]["status"]


def signed(when=None, key=KEY):
    when = when or datetime.now(UTC) + timedelta(seconds=1)
    return ("flwr-timestamp", when.isoformat()), ("flwr-public-key", key), ("flwr-signature", "c2lnbmVk")


def test_a_request_is_heard_once():
    flower = Flower()
    locks, request = Locks(flower, SECRET), signed()
    assert [ask(locks, "/v1/fleet/pull-messages", *request) for _ in range(3)] == [200, 401, 401]
    assert len(flower.heard) == 1


def test_a_signature_is_not_good_for_another_path():
    flower = Flower()
    locks, request = Locks(flower, SECRET), signed()
    assert ask(locks, "/v1/fleet/pull-messages", *request) == 200
    assert ask(locks, "/v1/fleet/deactivate-node", *request) == 401


@pytest.mark.parametrize("spelling", [KEY + "=", " " + KEY, KEY.replace("=", "")])
def test_another_spelling_of_the_same_key_is_no_other_request(spelling):
    """base64 has several spellings of the same bytes: whatever is not refused must be recognised."""
    flower = Flower()
    locks, when = Locks(flower, SECRET), datetime.now(UTC) + timedelta(seconds=1)
    assert ask(locks, "/v1/fleet/pull-messages", *signed(when)) == 200
    assert ask(locks, "/v1/fleet/pull-messages", *signed(when, spelling)) == 401


def test_a_second_time_cannot_hide_behind_the_first():
    flower = Flower()
    locks, request = Locks(flower, SECRET), signed()
    assert ask(locks, "/v1/fleet/pull-messages", *request) == 200
    for again in ([*request, *signed()], [*signed(), *request], [*request, request[0]]):
        assert ask(locks, "/v1/fleet/pull-messages", *again) == 401
    assert len(flower.heard) == 1


def test_what_was_signed_before_the_server_began_is_refused():
    """A server that was started again has forgotten what it heard."""
    flower = Flower()
    assert (
        ask(Locks(flower, SECRET), "/v1/fleet/pull-messages", *signed(datetime.now(UTC) - timedelta(seconds=30))) == 401
    )
    assert not flower.heard


@pytest.mark.parametrize("when", ["", "yesterday", "2026-01-01T00:00:00", "9" * 500, "2999-01-01"])
def test_a_time_that_is_none_is_refused(when):
    flower = Flower()
    request = ("flwr-timestamp", when), ("flwr-public-key", KEY)
    assert ask(Locks(flower, SECRET), "/v1/fleet/get-run", *request) == 401
    assert not flower.heard


def test_nothing_signed_is_refused():
    assert ask(Locks(Flower(), SECRET), "/v1/fleet/get-run") == 401


@pytest.mark.parametrize("status", [400, 401, 404, 412, 415, 500])
def test_a_stranger_cannot_fill_the_memory(status):
    """Whatever Flower answers: otherwise a flood of made-up times would be a memory leak."""
    locks = Locks(Flower(status, known=False), SECRET)
    for k in range(50):
        ask(locks, "/v1/fleet/activate-node", *signed(datetime.now(UTC) + timedelta(microseconds=k, seconds=1)))
    assert len(locks.once.seen) == 0


@pytest.mark.parametrize("status", [403, 404, 412, 500])
def test_what_a_site_signed_is_good_once_even_where_it_failed(status):
    """A signature of a refused request must not be good for another one."""
    flower = Flower(status)
    locks, request = Locks(flower, SECRET), signed()
    assert ask(locks, "/v1/fleet/push-object", *request) == status
    assert ask(locks, "/v1/fleet/deactivate-node", *request) == 401
    assert len(flower.heard) == 1


def test_what_is_no_longer_good_is_forgotten():
    once = Once(born=datetime(2026, 1, 1, tzinfo=UTC))
    times = [f"2026-01-02T00:00:00.{k:06d}+00:00" for k in range(100)]
    assert all(once.first(t, b"k", now=float(k)) for k, t in enumerate(times))
    assert not once.first(times[50], b"k", now=100.0)
    once.first("2026-01-02T01:00:00+00:00", b"k", now=99.5 + REMEMBERED)
    assert len(once.seen) == 1


def test_it_remembers_for_as_long_as_flower_would_accept():
    constant = pytest.importorskip("flwr.common.constant")
    assert constant.TIMESTAMP_TOLERANCE + 2 * constant.SYSTEM_TIME_TOLERANCE < REMEMBERED


def test_two_nodes_may_sign_in_the_same_moment():
    locks, when = Locks(Flower(), SECRET), datetime.now(UTC) + timedelta(seconds=1)
    assert ask(locks, "/v1/fleet/pull-messages", *signed(when)) == 200
    assert ask(locks, "/v1/fleet/pull-messages", *signed(when, b64encode(b"another").decode())) == 200


@pytest.mark.parametrize(
    "headers",
    [[], [("evenkeel-control", "")], [("evenkeel-control", "wrong")], [("evenkeel-control", "the server's ")],
     [("evenkeel-control", "wrong"), ("evenkeel-control", "the server's")], [("authorization", "the server's")]],
)  # fmt: skip
@pytest.mark.parametrize("path", ["start-run", "register-node", "list-nodes", "stop-run"])
def test_control_wants_the_secret(path, headers):
    flower = Flower()
    assert ask(Locks(flower, SECRET), f"/v1/control/{path}", *headers) == 401
    assert not flower.heard


def test_control_hears_whoever_has_the_secret():
    flower = Flower()
    assert ask(Locks(flower, SECRET), "/v1/control/list-nodes", ("Evenkeel-Control", "the server's")) == 200


def test_the_rest_is_flowers_own_affair():
    flower = Flower()
    assert ask(Locks(flower, SECRET), "/v1/runtime/acquire-task") == 200
    assert ask(Locks(flower, SECRET), "/health") == 200


def test_a_refusal_is_logged_and_holds_nothing_secret(caplog):
    locks, request = Locks(Flower(), SECRET), signed()
    with caplog.at_level("WARNING", "flwr"):
        ask(locks, "/v1/fleet/pull-messages", *request)
        ask(locks, "/v1/fleet/pull-messages", *request, ("x-real-ip", "192.0.2.7"))
        ask(locks, "/v1/control/start-run", ("evenkeel-control", "guess"))
    said = [record.getMessage() for record in caplog.records]
    assert [line for line in said if "192.0.2.7" in line and "used before" in line]
    assert not [line for line in said if "guess" in line or KEY in line or "c2lnbmVk" in line]


@pytest.fixture
def superlink(monkeypatch):
    """Flower's own server in this process, locked; a way to ask it, and its locks."""
    pytest.importorskip("flwr", reason="runs in .venv-federate")
    import httpx
    from flwr.superlink import extensions, main
    from flwr.superlink.routers.fleet import node_auth

    from evenkeel.federation.deploy.superlink import lock

    monkeypatch.setattr(extensions, "get_middleware", extensions.get_middleware)  # put back afterwards
    monkeypatch.setattr(node_auth, "authenticate_node", node_auth.authenticate_node)
    lock(SECRET)
    app = main.create_app()

    async def ask(body, headers):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="https://localhost") as client:
            return (await client.post("/v1/fleet/activate-node", content=body, headers=headers)).status_code

    def locks(layer=None):
        layer = layer or app.middleware_stack
        return layer if isinstance(layer, Locks) else locks(layer.app)

    return lambda body, headers: asyncio.run(ask(body, headers)), locks, app.state.linkstate_factory.state()


def test_flowers_own_server_tells_a_registered_key_from_any_other(superlink):
    """In Flower's real order of checks: a stranger leaves nothing behind, a site's signature is good once."""
    from tests.federation.knocking import PROTOBUF, body_of, key_headers, new_key, public

    post, locks, state = superlink
    north, stranger = new_key(), new_key()
    soon = datetime.now(UTC) + timedelta(seconds=2)  # the locks are made with the first request
    state.create_node("", "", public(north), 0)

    def activate(key, headers=None, **other):
        return post(body_of("/v1/fleet/activate-node", key), headers or {**PROTOBUF, **key_headers(key, soon), **other})

    assert activate(stranger) == 412
    assert activate(stranger, **{"content-type": "text/plain"}) == 415
    assert activate(north, **{"content-type": "text/plain"}) == 415
    assert len(locks().once.seen) == 0
    once = {**PROTOBUF, **key_headers(north, soon)}
    assert [activate(north, once) for _ in range(2)] == [200, 401]
    assert len(locks().once.seen) == 1
