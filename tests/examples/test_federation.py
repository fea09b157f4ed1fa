"""The example that starts servers, where Flower is installed: its pins exclude those of the other tests."""

import importlib.util
import subprocess
import sys

import pytest

from tests.examples.test_examples import EXAMPLES

APART = EXAMPLES.parent / ".venv-federate" / "bin" / "python"


def python():
    """An interpreter that has Flower."""
    if importlib.util.find_spec("flwr"):
        return sys.executable
    if not APART.exists():
        pytest.skip("needs Flower: scripts/federate_env.sh makes its environment")
    return APART


def test_two_sites_end_with_the_model_of_the_plain_loop(tmp_path):
    words = [python(), EXAMPLES / "federation.py", "--sites", "2", "--rounds", "1", "--out", tmp_path / "out"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "the same model as without a network, bit for bit: True" in done.stdout
    assert (tmp_path / "out" / "run" / "final.safetensors").exists()
    assert not (tmp_path / "out" / "hospitals" / "rehearsal" / "server" / "running.json").exists(), "all is ended"
