"""Attacks on a federation that is training: the running proxy, SuperLink, two sites. Refused, logged, the run unharmed.

The sites are held in the middle of a round while they last; the last tests let go and look at what came of the run.
"""

import contextlib
import json
import os
import socket
import ssl
import stat
import subprocess
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from evenkeel.federation import journal
from evenkeel.federation.deploy import layout, proxy
from evenkeel.runs import Run
from tests.federation.knocking import body_of, key_headers, key_of, knock, new_key
from tests.federation.living import Living, undisturbed
from tests.federation.places import ROOT, installed_nginx, leaks, secrets_of
from tests.federation.small import differences
from tests.federation.test_site_proxy import flowers_paths

REPORTING = ROOT / ".venv" / "bin" / "evenkeel"  # with the extra `report`, which the federation does not need
FLEET = [f"/v1/fleet/{path}" for path in proxy.PATHS]


@pytest.fixture(scope="module")
def living(tmp_path_factory):
    installed_nginx()
    made = Living(tmp_path_factory.mktemp("living")).set_up()
    try:
        made.begin()
        made.hold.touch()
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def ids(living):
    """Flower's numbers of the sites, which an attacker may well have guessed."""
    return {name: node.id for name, node in living.nodes().items()}


@pytest.fixture
def logged(living):
    """Whether a log says these words, this often or more, since the test began; it is given time to."""
    before = {name: len(living.log(name)) for name in ("proxy", "superlink")}

    def said(name, words, times=1):
        late = time.monotonic() + 10
        while living.log(name)[before[name] :].count(words) < times and time.monotonic() < late:
            time.sleep(0.05)
        return living.log(name)[before[name] :].count(words) >= times

    return said


def test_both_sites_are_there_and_nobody_else(living):
    there = living.status()
    assert {site["name"]: site["online"] for site in there["sites"]} == {"north": True, "south": True}
    assert set(there["processes"]) == {"superlink", "executor", "proxy"}


@pytest.mark.parametrize("path", FLEET)
def test_a_stranger_without_a_key_is_refused(living, ids, logged, path):
    assert knock(living.server, path, body=body_of(path, new_key(), ids["north"])) == 401
    assert logged("proxy", f"401 POST {path} ")
    assert logged("superlink", f"refused {path} from 127.0.0.1: no signed time")


@pytest.mark.parametrize("path", FLEET)
def test_a_key_that_nobody_registered_is_refused(living, ids, logged, path):
    key = new_key()
    status = knock(living.server, path, key_headers(key), body_of(path, key, ids["north"]))
    assert status == (412 if path == "/v1/fleet/activate-node" else 401)
    assert logged("superlink", f"refused {path} from 127.0.0.1: no registered key signed it")


@pytest.mark.parametrize("path", FLEET)
def test_a_revoked_key_is_refused(living, ids, logged, path):
    key = key_of(living.server.site("gone"))
    status = knock(living.server, path, key_headers(key), body_of(path, key, ids["north"]))
    assert status == (412 if path == "/v1/fleet/activate-node" else 401)
    assert logged("superlink", "no registered key signed it")


@pytest.mark.parametrize("path", [path for path in FLEET if path != "/v1/fleet/activate-node"])
def test_a_site_cannot_speak_for_another(living, ids, logged, path):
    """South's good key under north's number: neither north's questions nor an answer in its name."""
    south = key_of(living.server.site("south"))
    assert knock(living.server, path, key_headers(south), body_of(path, south, ids["north"])) == 401
    assert logged("superlink", f"refused {path} from")


def test_a_site_cannot_be_activated_by_another_sites_key(living, ids):
    north, south = (key_of(living.server.site(name)) for name in ("north", "south"))
    path = "/v1/fleet/activate-node"
    assert knock(living.server, path, key_headers(south), body_of(path, north)) == 401
    assert knock(living.server, path, key_headers(south, claimed=north), body_of(path, north)) == 401


def test_a_site_that_took_anothers_key_is_not_let_in_beside_it(living, logged):
    """A real node with north's key, while north is there."""
    thief = living.root / "thief"
    subprocess.run(["cp", "-a", living.server.site("north"), thief], check=True)
    (thief / "running.json").unlink()
    told = (thief / "site.toml").read_text()
    port = layout.site_opened(thief).port
    (thief / "site.toml").write_text(told.replace(f"port = {port}", "port = 9").replace("north", "south"))
    from evenkeel.federation.deploy import commands

    node = commands.site_commands(layout.site_opened(thief), "")["node"]
    ended = subprocess.run(node, capture_output=True, text=True, timeout=120, env={**os.environ, "FLWR_HOME": thief})
    assert ended.returncode != 0
    assert "Failed to activate SuperNode" in ended.stderr + ended.stdout
    assert logged("proxy", "412 POST /v1/fleet/activate-node")
    assert {name: node.online for name, node in living.nodes().items()} == {"north": True, "south": True}


@pytest.mark.parametrize("hours", [-24, -1, 1, 24])
def test_a_signature_of_another_time_is_refused(living, ids, hours):
    """Also with the right key: who steals a signature has minutes, and who sets clocks has none."""
    key, path = key_of(living.server.site("north")), "/v1/fleet/pull-messages"
    signed = key_headers(key, datetime.now(UTC) + timedelta(hours=hours))
    assert knock(living.server, path, signed, body_of(path, key, ids["north"])) == 401


def test_what_a_site_really_said_cannot_be_said_again(living, logged):
    """Whole requests of south's own node, heard on the wire, byte for byte: on their own path and on another."""
    heard = {path: living.between.requests(path) for path in ("/v1/fleet/pull-messages", "/v1/fleet/push-messages")}
    for path, requests in heard.items():
        assert requests, path
        for request in requests[-3:]:
            assert raw(living.server, request) == 401
            moved = request.replace(path.encode(), b"/v1/fleet/deactivate-node", 1)
            assert raw(living.server, moved) == 401
    assert logged("superlink", "a signature that was used before", sum(2 * len(r[-3:]) for r in heard.values()))


def raw(server, request):
    """The status of bytes that are sent as they are."""
    trusted = ssl.create_default_context(cafile=str(server.file("ca.pem")))
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=20) as plain,
        trusted.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        secure.sendall(request)
        return int(secure.recv(4096).split()[1])


@pytest.mark.parametrize("path", FLEET)
def test_without_tls_nobody_is_heard(living, ids, path):
    """Not at the proxy, with a good key; and not at SuperLink's own port, which speaks TLS alone."""
    key = key_of(living.server.site("north"))
    signed, body = key_headers(key), body_of(path, key, ids["north"])
    with contextlib.suppress(ConnectionError):  # nginx may hang up before its 400 is read
        assert knock(living.server, path, signed, body, plain=True) == 400
    with pytest.raises(OSError, match=r"."):
        knock(living.server, path, signed, body, plain=True, port=living.server.inner)


def test_no_path_of_control_or_runtime_is_there_from_outside(living, logged):
    """Not for a stranger, not for a site's key, and not for who knows the server's own secret."""
    paths = [path for path in flowers_paths() if path.startswith(("/v1/control/", "/v1/runtime/"))]
    assert len(paths) > 55
    headers = key_headers(key_of(living.server.site("north")))
    headers["evenkeel-control"] = living.server.file("control.secret").read_text()

    def reached():  # the server's own processes have asked for some of them, past the proxy
        return {path for path in paths if f'"POST {path} HTTP' in living.log("superlink")}

    before = reached()
    for path in paths:
        assert knock(living.server, path, headers, b"") == 404, path
        assert logged("proxy", f"404 POST {path} ")
    assert reached() == before
    assert len(before) < len(paths) / 2


def test_another_user_of_the_servers_machine_controls_nothing(living, logged):
    """SuperLink's own port, on loopback, past the proxy."""
    for path in [path for path in flowers_paths() if path.startswith("/v1/control/")]:
        assert knock(living.server, path, {}, b"", port=living.server.inner) == 401, path
        assert logged("superlink", f"refused {path[:80]} from here: the control API wants the server's secret")


def test_nobody_gets_a_task_a_token_or_an_object_without_the_executors_secret(living):
    """The runtime API: at SuperLink's port and at each site's own, both on loopback."""
    ports = [living.server.inner, *(layout.site_opened(living.server.site(n)).port for n in ("north", "south"))]
    for path in [path for path in flowers_paths() if path.startswith("/v1/runtime/")]:
        for port in ports:
            status = knock(living.server, path, {}, body_of(path), port=port, plain=port != ports[0])
            assert status in {401, 403, 404}, (path, port, status)


def test_superlink_and_the_sites_listen_on_loopback_alone(living):
    ports = {living.server.inner, *(layout.site_opened(living.server.site(n)).port for n in ("north", "south"))}
    listening = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        address, state = line.split()[1], line.split()[3]
        host, _, port = address.partition(":")
        if state == "0A":
            listening.setdefault(int(port, 16), set()).add(host)
    for port in ports:
        assert listening[port] == {"0100007F"}
    six = Path("/proc/net/tcp6")
    assert not [line for line in (six.read_text().splitlines()[1:] if six.exists() else ())
                if line.split()[3] == "0A" and int(line.split()[1].rpartition(":")[2], 16) in ports]  # fmt: skip


def test_a_revocation_holds_at_once(living):
    """A site that is let in while the run goes on, and put out again."""
    server, path = living.server, "/v1/fleet/activate-node"
    how = ("--host", "127.0.0.1", "--port", server.port, "--inner", server.inner)
    living.done("federate", "init", living.folder, *how, "--site", "late", "--site", "later")
    living.done("federate", "revoke", living.folder, "later")
    late = key_of(server.site("late"))
    assert knock(server, path, key_headers(late), body_of(path, late)) == 200
    living.done("federate", "revoke", living.folder, "late")
    assert knock(server, path, key_headers(late), body_of(path, late)) == 412


def test_no_secret_stands_in_a_process_list(living):
    """Every process of the federation, as any user of the machine sees it."""
    secrets, seen = secrets_of(living.folder), 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        seen += str(living.folder).encode() in words
        assert not leaks(words, secrets)
        assert b"--token" not in words or str(living.folder).encode() not in words
    assert seen >= 3 + 2 * 2


def test_private_files_are_private_while_it_runs(living):
    private = [f for f in living.folder.rglob("*") if f.name == "key" or f.suffix in {".key", ".secret"}]
    assert len(private) >= 4 + 2 * 3
    for file in private:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    for file in [*living.folder.glob("server/logs/*.log"), living.server.file("superlink.db")]:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_the_live_page_follows_the_run_while_it_goes_on(living):
    """watch, in the middle of a round: what the page asks for holds the round before, and says that more will come."""
    if not REPORTING.exists():
        pytest.skip("the page needs the main environment, .venv")
    command = [REPORTING, "watch", str(living.run), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
        try:
            address = watch.stdout.readline().split(" at ")[1].split()[0]
            with urllib.request.urlopen(f"{address}live?since=", timeout=60) as answer:  # noqa: S310 - our own
                told = json.loads(answer.read())
        finally:
            watch.terminate()
    (block,) = told["payload"]["data"]["tables"]["rounds"]
    assert dict(block["columns"])["round"][-1] >= 1
    assert not Run.open(living.run).finished
    assert not leaks(json.dumps(told).encode(), secrets_of(living.folder))


def test_the_run_ends_as_if_nobody_had_attacked(living, tmp_path):
    """θ, λ and what was measured of each site, bit for bit those of the same two sites without a network."""
    living.hold.unlink()
    assert living.processes["up"].wait(400) == 0, living.tail()
    assert differences(Run.open(living.run), undisturbed(living, tmp_path / "alone")) == []


def test_nobody_was_refused_late_or_absent_in_the_run(living):
    lines = [line for line in journal.read(living.run) if line["event"] != "fault" or "client" in line]
    assert {line["event"] for line in lines} <= {"joined", "sites", "begin", "exchange", "round", "end"}


def test_the_run_reads_like_any_other(living):
    """audit, report: no network, no Flower; nothing of them holds a secret."""
    told = living.done("audit", living.run / "clients.parquet", "--only", "round=3")
    assert "Worst off: " in told
    if REPORTING.exists():
        page = living.root / "report.html"
        subprocess.run([REPORTING, "report", living.run, "--out", page], check=True, timeout=300, capture_output=True)
        assert b"lived" in page.read_bytes()
        assert not leaks(page.read_bytes(), secrets_of(living.folder))
    assert living.status()["run"]["finished"]


def test_stop_ends_the_sites_and_nothing_is_left(living):
    for name in ("north", "south"):
        assert "ended: all of it" in living.say("federate", "stop", living.server.site(name)).stderr
        assert living.processes[name].wait(60) is not None
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            assert str(living.folder).encode() not in (folder / "cmdline").read_bytes()
        except OSError:
            continue


def test_no_log_and_no_file_of_the_run_holds_a_secret(living):
    """All that was written while it ran, a SuperLink's database included: keys, secrets, and tokens of tasks."""
    secrets = secrets_of(living.folder)
    assert len(secrets) >= 4 + 2 * 3
    private = {f for f in living.folder.rglob("*") if f.name == "key" or f.suffix in {".key", ".secret"}}
    for file in sorted(living.root.rglob("*")):
        if file.is_file() and file not in private and "thief" not in file.parts:
            assert not leaks(file.read_bytes(), secrets), file
