"""A run that was killed goes on and ends as if it never had been."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
PARTS = 2  # side by side


def killing(folder, part):
    (Path(folder) / f"{part}").mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "tests.runs.killing", f"{folder}/{part}", f"{part}", f"{PARTS}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
    )


def test_two_hundred_kills_at_every_step_of_writing_and_at_random_times_change_no_bit():
    memory, kills = Path("/dev/shm"), 0  # noqa: S108 — a flush costs nothing there
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        processes = [killing(folder, part) for part in range(PARTS)]
        ended = [(*process.communicate(), process.returncode) for process in processes]
    for told, error, code in ended:
        assert code == 0, error[-3000:]
        found = json.loads(told)
        assert found["wrong"] == []
        kills += found["kills"]
    assert kills >= 200
