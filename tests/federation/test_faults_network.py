"""A network that is cut, wrong clocks, replies that come twice and out of order: the run ends with the same bits."""

import os
import shutil
import subprocess
import threading
import time

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from tests.federation.deployed import Deployment
from tests.federation.faulty import done
from tests.federation.places import installed
from tests.federation.relay import Relay
from tests.federation.small import spec
from tests.federation.storms import absent, longest, ordered, site, unlike

A, B, C = NAMES = ("client-0", "client-1", "client-2")
OURS, THEIRS = "169.254.77.1", "169.254.77.2"  # of one link alone: no router hands them on


def through(deployment, folder, rounds=2, **changes):
    made = spec("scaff-pd-ia", len(deployment.names), rounds=rounds, engine__deadline=600.0, **changes)
    runs, run = deployment.through(made, folder / "run", 600)
    assert runs == 1
    assert longest(folder / "run") < 602
    return made, run


def test_replies_that_are_sent_twice_and_arrive_out_of_order_change_nothing(tmp_path):
    deployment = Deployment(tmp_path / "home", NAMES)
    with Relay(deployment.port, twice=1) as twice, Relay(deployment.port, held=1.5) as late:
        for name, relay in ((A, twice), (B, late)):
            deployment.reach(name, relay.address)
        with deployment:
            made, run = through(deployment, tmp_path)
    assert twice.repeated == 1
    assert absent(tmp_path / "run") == {}
    assert unlike(run, made, tmp_path / "run", tmp_path / "loop") == []


def test_clocks_that_are_minutes_behind_or_seconds_ahead_change_nothing(tmp_path):
    deployment = Deployment(tmp_path / "home", NAMES)
    for name, off in ((A, 4), (B, -240)):
        prefix = ("env", f"EVENKEEL_SKEW={off}")
        deployment.prefixes |= {f"node-{name}": prefix, f"executor-{name}": prefix}
    with deployment:
        number = ordered(deployment.home, [site("slow", B, "local", 1, seconds=0)])[0]
        made, run = through(deployment, tmp_path)
    assert abs(done(deployment.home)[number] - time.time()) > 120  # its clock was really off
    assert absent(tmp_path / "run") == {}
    assert unlike(run, made, tmp_path / "run", tmp_path / "loop") == []


@pytest.fixture
def namespace():
    """A network namespace with one wire to ours; its name and the name of our end."""
    if os.geteuid() != 0:
        pytest.skip("a network namespace takes root")
    ip = installed("ip", "iproute2")
    taken = subprocess.run([ip, "route", "show", "to", "match", OURS], capture_output=True, text=True).stdout
    if any(not line.startswith("default") for line in taken.splitlines()):
        pytest.skip(f"this machine uses {OURS} for something else: {taken.strip()}")
    name, wire = f"evenkeel-{os.getpid()}", f"ek{os.getpid() % 10**8}"
    commands = [
        f"netns add {name}",
        f"link add {wire} type veth peer name inside netns {name}",
        f"addr add {OURS}/30 dev {wire}",
        f"link set {wire} up",
        f"-n {name} addr add {THEIRS}/30 dev inside",
        f"-n {name} link set inside up",
        f"-n {name} link set lo up",
    ]
    try:
        for command in commands:
            if subprocess.run([ip, *command.split()], capture_output=True).returncode:
                pytest.skip(f"this machine does not let us: ip {command}")
        yield name, wire
    finally:
        subprocess.run([ip, "netns", "del", name], capture_output=True)
        subprocess.run([ip, "link", "del", wire], capture_output=True)


def test_a_network_that_is_cut_for_a_while_costs_time_and_nothing_else(namespace, tmp_path):
    name, wire = namespace
    ip = shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin")
    deployment = Deployment(tmp_path / "home", NAMES, host=OURS)
    inside = (ip, "netns", "exec", name)
    deployment.prefixes |= {f"node-{A}": inside, f"executor-{A}": inside}
    with deployment:
        number = ordered(deployment.home, [site("slow", A, "local", 0, seconds=4)])[0]
        cut = []

        def cutting():
            while number not in done(deployment.home):
                time.sleep(0.1)
            subprocess.run([ip, "link", "set", wire, "down"], check=True)
            cut.append(time.monotonic())
            time.sleep(12)
            subprocess.run([ip, "link", "set", wire, "up"], check=True)

        thread = threading.Thread(target=cutting, daemon=True)
        thread.start()
        made, run = through(deployment, tmp_path)
        thread.join(30)
    assert cut
    assert longest(tmp_path / "run") > 12
    assert absent(tmp_path / "run") == {}
    assert unlike(run, made, tmp_path / "run", tmp_path / "loop") == []
