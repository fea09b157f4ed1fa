"""Flower's simulation with twenty nodes computes what the plain loop computes, bit for bit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

from evenkeel.runs import Run
from tests.federation.small import SEVEN, alone, differences, spec

NODES, ROUNDS = 20, 3
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """All seven in one simulation, in a process group of its own: Ray leaves daemons where it is killed."""
    folder = tmp_path_factory.mktemp("simulated")
    command = [sys.executable, "-m", "tests.federation.simulated", str(folder), str(NODES), str(ROUNDS)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return folder


@pytest.mark.parametrize("name", SEVEN)
def test_twenty_simulated_nodes_are_bit_identical_to_the_plain_loop(name, simulated, tmp_path):
    expected = alone(spec(name, NODES, ROUNDS), tmp_path / "loop")
    assert differences(Run.open(simulated / name), expected) == []
