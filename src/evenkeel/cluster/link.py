"""The connection to Ray: one a process, shared by whoever needs it, and ended with the last of them.

Without an address Ray is started here, bound to loopback, without dashboard and usage reports, in a folder that is
removed when it ends. A connection that the program made itself is used and left alone.
"""

import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from evenkeel.errors import InputError, RunFailedError

STORE = 2**27  # bytes of shared memory for what moves; Ray wants at least 75 MiB
_HOST = "127.0.0.1"
_lock = threading.RLock()
_held: dict[str, Any] = {"users": 0, "ours": False, "folder": None, "address": None}


def imported() -> ModuleType:
    """Ray, told before it loads to report nothing to anybody."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise InputError("transport 'ray' needs Ray, which is not installed: pip install 'evenkeel[ray]'") from None
    module: ModuleType = ray
    return module


def take(address: str | None, workers: int, store: int = STORE, *, gpus: bool = False) -> ModuleType:
    """Ray, connected; each `take` needs a `give_back`. One that is started here takes no GPUs unless told to."""
    ray = imported()
    with _lock:
        if not ray.is_initialized():
            quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
            if address is None:
                _start(
                    ray, num_cpus=workers, num_gpus=None if gpus else 0, object_store_memory=max(store, STORE), **quiet
                )
            else:
                _join(ray, address, **quiet)
            # Ray tells of a lost worker on standard output, whatever it is told; there may be JSON, and we say it
            ray._private.worker._worker_logs_enabled = False
            _held.update(ours=True, address=address)
        elif _held["ours"] and _held["address"] != address:
            raise InputError(f"address = {address!r}: this process is connected to {_held['address']!r}; give that one")
        _held["users"] += 1
    return ray


def give_back() -> None:
    """End the connection, and what was started for it, with the last user."""
    with _lock:
        _held["users"] -= 1
        if _held["users"] == 0 and _held["ours"]:
            imported().shutdown()
            if _held["folder"]:
                shutil.rmtree(_held["folder"], ignore_errors=True)
            _held.update(ours=False, folder=None, address=None)


@contextmanager
def opened(address: str | None, workers: int = 1, store: int = STORE) -> Iterator[ModuleType]:
    """`take` and `give_back` around a block: several clusters and sweeps inside share one Ray."""
    ray = take(address, workers, store)
    try:
        yield ray
    finally:
        give_back()


def cores(address: str | None) -> int:
    """The cores of the cluster at this address."""
    with opened(address) as ray:
        return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _join(ray: ModuleType, address: str, **how: Any) -> None:  # noqa: ANN401 — options of ray.init
    try:
        ray.init(address=address, **how)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        reason = str(error).strip().split("\n", 1)[0]
        rule = "no Ray cluster answers there from this machine"
        raise InputError(f"address = {address!r}: {rule} ({reason}); `ray start` on this node joins one") from None


def _start(ray: ModuleType, **how: Any) -> None:  # noqa: ANN401 — options of ray.init
    _held["folder"] = tempfile.mkdtemp(prefix="evenkeel-ray-", dir=_short())
    try:
        ray.init(
            address="local",  # whatever RAY_ADDRESS says
            include_dashboard=False,
            _node_ip_address=_HOST,
            _temp_dir=_held["folder"],
            **how,
        )
    except (ConnectionError, RuntimeError, OSError) as error:
        shutil.rmtree(_held["folder"], ignore_errors=True)
        _held["folder"] = None
        raise RunFailedError(f"Ray did not start here: {str(error).strip().splitlines()[0]}") from None


def _short() -> str:
    """A folder with a short name: the path of a socket may have 107 characters."""
    found = tempfile.gettempdir()
    return found if len(found) <= 24 else "/tmp"  # noqa: S108 — mkdtemp makes a folder of its own there
