"""One virtual environment a peer, built once under `.envs` and kept: peers' pins exclude each other, and ours."""

import json
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENTS = Path(__file__).with_name(".envs")
TORCH = ("torch==2.13.0",)  # first and pinned: a plain `pip install torch` would draw gigabytes of CUDA packages


@dataclass(frozen=True, slots=True)
class Environment:
    """What `pip install` is given, step by step; an empty one is the interpreter that runs the benchmark."""

    name: str = ""
    steps: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Built:
    """An interpreter that is ready, or why there is none."""

    python: Path | None
    failure: str = ""


def build(environment: Environment, limit: float) -> Built:
    """Make the environment unless it is there already; give up after `limit` seconds and say why."""
    if not environment.name:
        return Built(Path(sys.executable))
    folder = ENVIRONMENTS / environment.name
    python, stamp = folder / "bin" / "python", folder / "installed.json"
    if stamp.exists() and json.loads(stamp.read_text()) == [list(step) for step in environment.steps]:
        return Built(python)
    stamp.unlink(missing_ok=True)
    venv.create(folder, with_pip=True, clear=True)
    end = time.monotonic() + limit
    for step in environment.steps:
        failure = _install(python, step, end - time.monotonic())
        if failure:
            return Built(None, f"pip install {' '.join(step)}: {failure}")
    stamp.write_text(json.dumps(environment.steps))
    return Built(python)


def _install(python: Path, step: tuple[str, ...], left: float) -> str:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *step]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=max(left, 1))
    except subprocess.TimeoutExpired:
        return "took too long"
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return "" if done.returncode == 0 else " ".join((errors or done.stderr.splitlines())[-2:])[:300]


def versions(python: Path, packages: tuple[str, ...]) -> dict[str, str]:
    """The installed versions of these packages."""
    text = "import importlib.metadata as m, json, sys; print(json.dumps({p: m.version(p) for p in sys.argv[1:]}))"
    done = subprocess.run([str(python), "-c", text, *packages], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
