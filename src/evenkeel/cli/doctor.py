"""`evenkeel doctor`: what this installation runs on. Reads metadata only, so it is fast and loads no torch."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import evenkeel
from evenkeel.cli.save import as_json
from evenkeel.cli.screen import plain, stdout

PACKAGES = ("numpy", "scipy", "polars", "torch", "scikit-learn", "clarabel", "typer", "rich")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


def doctor(json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False) -> None:
    """Say what this installation runs on: versions, processor, threads, device, data at hand.

    Example:  evenkeel doctor --json
    """
    found = findings()
    if json:
        typer.echo(as_json(found))
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in found.items():
        lines = [f"{k} {v}" for k, v in value.items()] if isinstance(value, dict) else [str(value)]
        table.add_row(plain(name), plain(", ".join(lines) or "none", most=1000))
    stdout().print(table)


def findings() -> dict[str, Any]:
    """What doctor reports, by name.

    >>> findings()["evenkeel"] == evenkeel.__version__
    True
    """
    return {
        "evenkeel": evenkeel.__version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": cores(),
        "memory_gib": memory(),
        "threads": {name: os.environ[name] for name in THREADS if name in os.environ},
        "device": device(),
        "cache": str(cache()),
        "data": data(),
    }


def cores() -> int:
    """The processor cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def memory() -> float | None:
    """The machine's memory in GiB, where the system says it."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None


def device() -> str:
    """What torch computes on, read off its version: a CPU build says so in its name.

    >>> device() in ("cpu", "cpu, or a GPU that torch finds", "none: torch is not installed")
    True
    """
    installed = _version("torch")
    if installed is None:
        return "none: torch is not installed"
    return "cpu" if installed.endswith("+cpu") else "cpu, or a GPU that torch finds"


def cache() -> Path:
    """Where downloaded data are. The rule is that of `evenkeel.data.sources.cache.folder`, which would load torch.

    >>> cache().is_absolute()
    True
    """
    home, named = Path.home(), os.environ.get("EVENKEEL_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "evenkeel"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "evenkeel"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "evenkeel"


def data() -> dict[str, str]:
    """Each data set in the cache, with its size on disk."""
    home = cache()
    return {entry.name: _megabytes(entry) for entry in sorted(home.iterdir())} if home.is_dir() else {}


def _megabytes(entry: Path) -> str:
    files = entry.rglob("*") if entry.is_dir() else [entry]
    return f"{sum(file.stat().st_size for file in files if file.is_file()) / 1e6:.1f} MB"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
