"""Service units, judged by systemd itself where it is installed."""

import shutil
import subprocess

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from evenkeel.federation.deploy.units import quoted, unit
from tests.federation.places import made, secrets_of


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    return made(tmp_path_factory.mktemp("units") / "fed", port=443)[0]


def units(server):
    return [*server.file("units").glob("*.service"), *server.root.glob("sites/*/*.service")]


def test_systemd_takes_every_unit(server):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze")
    for file in units(server):
        done = subprocess.run([program, "verify", "--man=no", file], capture_output=True, text=True, timeout=60)
        ours = [line for line in done.stderr.splitlines() if file.name in line and "not executable" not in line]
        assert not ours, ours


def test_there_is_one_unit_a_process_and_each_comes_back(server):
    assert len(units(server)) == 3 + 2
    for file in units(server):
        lines = file.read_text().splitlines()
        assert {"Restart=always", "StartLimitIntervalSec=0", "User=evenkeel", "NoNewPrivileges=yes"} <= set(lines)


def test_no_unit_holds_a_secret(server):
    for file in units(server):
        assert not [s for s in secrets_of(server.root) if s in file.read_bytes()]


def test_only_the_proxy_may_have_a_low_port(server):
    able = {f.name for f in units(server) if "AmbientCapabilities=CAP_NET_BIND_SERVICE" in f.read_text()}
    assert able == {"evenkeel-proxy.service"}


def test_what_listens_is_on_loopback_except_the_proxy(server):
    superlink = server.file("units/evenkeel-superlink.service").read_text()
    assert "--host 127.0.0.1 --port 8000" in superlink
    assert "--enable-supernode-auth --isolation process --superexec-auth-secret-file" in superlink


@pytest.mark.parametrize(
    "word", ["plain", "with blank", 'with "quotes"', "100%", "$HOME", "back\\slash", "semi;colon", ""]
)
def test_a_word_stays_one_word(word, tmp_path):
    """systemd's own reading: what it would execute is the word that was meant."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze")
    text = unit("x", "x", ("/bin/echo", word), {}, tmp_path)
    (tmp_path / "x.service").write_text(text)
    done = subprocess.run([program, "verify", "--man=no", tmp_path / "x.service"], capture_output=True, text=True)
    assert "x.service" not in done.stderr, done.stderr
    plain = quoted(word)
    if plain.startswith('"'):
        plain = plain[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    assert plain.replace("%%", "%").replace("$$", "$") == word
