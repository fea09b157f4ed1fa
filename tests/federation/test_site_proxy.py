"""The reverse proxy as nginx really runs it: ten paths come through, and no way around them.

Behind it stands no SuperLink but a server of ours that writes down every request that reaches it.
"""

import http.client
import socket
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from evenkeel.federation.deploy import proxy
from evenkeel.federation.deploy.coordinating import free
from evenkeel.federation.deploy.rehearsing import free_ports
from tests.federation.places import installed_nginx, made


class Inside(BaseHTTPRequestHandler):
    """Writes down who came."""

    protocol_version = "HTTP/1.1"
    heard: list = []  # noqa: RUF012 — emptied by the fixture

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.heard.append((self.path, self.headers.items(), len(body)))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_PUT = do_DELETE = do_POST  # noqa: N815 — the names that http.server looks for

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    nginx = installed_nginx()
    port, inner = free_ports(2)
    server, _ = made(tmp_path_factory.mktemp("proxy") / "fed", port=port, inner=inner)
    inside = ThreadingHTTPServer(("127.0.0.1", inner), Inside)
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(server.file("server.pem"), server.file("server.key"))
    inside.socket = own.wrap_socket(inside.socket, server_side=True)
    threading.Thread(target=inside.serve_forever, daemon=True).start()
    command = [nginx, "-p", server.logs, "-c", server.file("proxy.conf"), "-e", "stderr"]
    process = subprocess.Popen(command)
    late = time.monotonic() + 20
    while free(port) and time.monotonic() < late:
        time.sleep(0.05)
    yield server
    process.terminate()
    process.wait(20)
    inside.shutdown()
    inside.server_close()


@pytest.fixture(autouse=True)
def heard():
    Inside.heard.clear()
    return Inside.heard


def ask(server, path, method="POST", headers=(), body=b"x"):
    """The status of a request through TLS; paths are sent as they are written."""
    trusted = ssl.create_default_context(cafile=str(server.file("ca.pem")))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trusted, timeout=20)
    connection.putrequest(method, path, skip_accept_encoding=True)
    for name, value in [*headers, ("content-length", str(len(body)))]:
        connection.putheader(name, value)
    connection.endheaders(body)
    status = connection.getresponse().status
    connection.close()
    return status


def flowers_paths():
    """Every path that Flower's SuperLink serves, as its own routers list them."""
    from fastapi.routing import iter_route_contexts
    from flwr.superlink.main import create_app

    return sorted({context.route.path for context in iter_route_contexts(create_app().routes)})


def test_what_nodes_need_comes_through(server, heard):
    for path in proxy.PATHS:
        assert ask(server, f"/v1/fleet/{path}") == 200
    assert [path for path, _, _ in heard] == [f"/v1/fleet/{path}" for path in proxy.PATHS]


def test_every_path_that_a_node_of_this_flower_asks_for_is_among_them():
    """A newer Flower may add one: this is where that shows."""
    import inspect
    import re

    from flwr.supernode.fleet_http_client import FleetHttpClient

    asked = set(re.findall(r'path="/v1/fleet/([a-z-]+)"', inspect.getsource(FleetHttpClient)))
    assert asked - set(proxy.PATHS) == {"register-node", "unregister-node"}  # Flower refuses these with authentication


def test_nothing_else_that_flower_serves_comes_through(server, heard):
    paths = [path for path in flowers_paths() if path not in {f"/v1/fleet/{p}" for p in proxy.PATHS}]
    assert len([p for p in paths if p.startswith("/v1/control/")]) > 40
    assert len([p for p in paths if p.startswith("/v1/runtime/")]) > 15
    for path in paths:
        for method in ("POST", "GET"):
            assert ask(server, path, method) == 404, path
    assert heard == []


@pytest.mark.parametrize(
    "path",
    [
        "/v1/fleet/../control/start-run",
        "/v1/fleet/..%2fcontrol/start-run",
        "/v1/fleet/%2e%2e/control/start-run",
        "/v1/fleet/%252e%252e/control/start-run",
        "/v1/fleet/pull-messages/../../control/start-run",
        "/v1/fleet/pull-messages/..;/..;/control/start-run",
        "//v1/control/start-run",
        "/v1//control/start-run",
        "/v1/./control/start-run",
        "/V1/control/start-run",
        "/v1/fleet/../../v1/control/start-run",
        "/v1/fleet/pull-messages%00/../control",
        "/v1/fleet/pull-messages%0d%0aX:%20y",
        "/v1/fleet/pull-messagesx",
        "/v1/fleet/",
        "/v1/fleet/register-node",
        "/v1/fleet/unregister-node",
        "/health",
        "/docs",
        "/openapi.json",
        "https://127.0.0.1/v1/control/start-run",
        "http://127.0.0.1/v1/control/start-run",
        "*",
        "/",
    ],
)
def test_no_way_of_writing_a_path_leads_around(server, heard, path):
    status = ask(server, path)
    assert status in {400, 404, 405}
    assert heard == []


def test_an_absolute_address_is_read_as_its_path(server, heard):
    assert ask(server, "https://evil.example/v1/fleet/pull-messages") == 200
    assert [(path, dict(headers)["Host"]) for path, headers, _ in heard] == [("/v1/fleet/pull-messages", "localhost")]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "HEAD"])
def test_nodes_only_post(server, heard, method):
    assert ask(server, "/v1/fleet/pull-messages", method) in {400, 403, 405}
    assert heard == []


def test_what_comes_after_a_question_mark_is_dropped(server, heard):
    assert ask(server, "/v1/fleet/get-run?x=/v1/control/start-run") == 200
    assert heard[0][0] == "/v1/fleet/get-run"


def test_a_request_cannot_hide_in_another(server, heard):
    """Two lengths, or a length and chunks: what proxy and server might cut at different places."""
    hidden = b"POST /v1/control/start-run HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n"
    trusted = ssl.create_default_context(cafile=str(server.file("ca.pem")))
    for lines in (
        b"content-length: 0\r\ncontent-length: %d" % len(hidden),
        b"content-length: %d\r\ntransfer-encoding: chunked" % len(hidden),
        b"transfer-encoding: chunked\r\ncontent-length: 4",
        b"content-length : 0",
    ):
        with (
            socket.create_connection(("127.0.0.1", server.port), timeout=5) as plain,
            trusted.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
        ):
            secure.sendall(b"POST /v1/fleet/get-run HTTP/1.1\r\nhost: a\r\n" + lines + b"\r\n\r\n0\r\n\r\n" + hidden)
            secure.recv(4096)
    assert not [path for path, _, _ in heard if "control" in path]


def test_the_secret_of_control_cannot_be_sent_from_outside(server, heard):
    assert ask(server, "/v1/fleet/get-run", headers=[("evenkeel-control", "guess"), ("EVENKEEL-CONTROL", "x")]) == 200
    assert not [value for name, value in heard[0][1] if name.lower() == "evenkeel-control"]


def test_each_signed_header_arrives_once(server, heard):
    twice = [("flwr-timestamp", "a"), ("flwr-timestamp", "b"), ("flwr-signature", "s"), ("flwr-signature", "t")]
    assert ask(server, "/v1/fleet/get-run", headers=twice) == 200
    names = [name.lower() for name, _ in heard[0][1]]
    assert (names.count("flwr-timestamp"), names.count("flwr-signature")) == (1, 1)


def test_whoever_claims_another_address_is_not_believed(server, heard):
    assert ask(server, "/v1/fleet/get-run", headers=[("x-real-ip", "10.0.0.1")]) == 200
    assert [value for name, value in heard[0][1] if name.lower() == "x-real-ip"] == ["127.0.0.1"]


def test_without_tls_nobody_is_heard(server, heard):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("POST", "/v1/fleet/pull-messages", b"x")
    assert connection.getresponse().status == 400
    connection.close()
    assert heard == []


@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1"])
def test_old_tls_is_refused(server, version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=20) as plain,
        pytest.raises(OSError, match=r"(?i)tls|ssl|reset|version"),
    ):
        context.wrap_socket(plain)


def test_a_site_does_not_believe_another_server(server):
    """A machine in between has no certificate of our authority."""
    trusted = ssl.create_default_context()
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trusted, timeout=20)
    with pytest.raises(ssl.SSLCertVerificationError):
        connection.request("POST", "/")


def test_a_body_of_a_gigabyte_is_refused_before_it_is_sent(server, heard):
    trusted = ssl.create_default_context(cafile=str(server.file("ca.pem")))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trusted, timeout=20)
    connection.putrequest("POST", "/v1/fleet/push-object")
    connection.putheader("content-length", str(2**30))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    assert heard == []


def test_a_piece_of_a_model_comes_through(server, heard):
    assert ask(server, "/v1/fleet/push-object", body=bytes(6 * 2**20)) == 200
    assert heard[0][2] == 6 * 2**20


def test_the_log_says_who_was_refused_and_holds_no_header(server):
    ask(server, "/v1/control/start-run", headers=[("flwr-signature", "s3cret"), ("authorization", "s3cret")])
    log = server.file("logs/proxy.log").read_text()
    assert "127.0.0.1 404 POST /v1/control/start-run" in log
    assert "s3cret" not in log
