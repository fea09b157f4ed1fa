"""What a run was computed with: versions, commit, device, threads."""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import evenkeel

PACKAGES = ("numpy", "polars", "safetensors", "scipy", "torch")


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment(*, device: str, workers: int, data: str, origin: str) -> dict[str, Any]:
    """The facts of `env.json`; `data` is the digest of the rows, `origin` says in words what they are."""
    return {
        "evenkeel": evenkeel.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        "packages": {name: installed(name) for name in PACKAGES},
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": cores(),
        "device": device,
        "threads": workers,
        "data": origin,
        "data_sha256": data,
        "sessions": [session(0)],
    }


def session(start: int) -> dict[str, Any]:
    """One stretch of work: when it began and with which round."""
    return {"started": datetime.now(UTC).isoformat(timespec="seconds"), "round": start}


def changed(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What differs in a way that may change last digits.

    >>> changed({"python": "3.11.0"}, {"python": "3.12.0"})
    ['python 3.11.0 → 3.12.0']
    """
    out = [
        f"{k} {before.get(k)} → {now.get(k)}" for k in ("evenkeel", "python", "processor") if _differ(k, before, now)
    ]
    old, new = before.get("packages", {}), now.get("packages", {})
    return out + [f"{name} {old[name]} → {new.get(name)}" for name in old if old[name] != new.get(name)]


def _differ(key: str, before: dict[str, Any], now: dict[str, Any]) -> bool:
    return bool(before.get(key) != now.get(key))


@cache
def commit() -> str | None:
    """The commit of the source tree, with "+changes" where files differ from it; None for an installed package."""
    here = Path(evenkeel.__file__).parent
    try:
        if _git(here, "ls-files", "--error-unmatch", "__init__.py") is None:
            return None
        name, changes = _git(here, "rev-parse", "HEAD"), _git(here, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if name is None else name + ("+changes" if changes else "")


def _git(folder: Path, *words: str) -> str | None:
    done = subprocess.run(  # noqa: S603 — fixed words
        ["git", "-C", str(folder), *words],  # noqa: S607 — whichever git is installed
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else None


def as_bytes(facts: dict[str, Any]) -> bytes:
    """The bytes of `env.json`."""
    return (json.dumps(facts, indent=2) + "\n").encode()


@cache
def installed(package: str) -> str | None:
    """The version of a package; None where it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
