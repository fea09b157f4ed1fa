"""One Ray for all tests here, on this machine alone; what needs another one runs in a process of its own."""

import os

import pytest

from evenkeel.cluster import link

# On a machine that is busy with other tests Ray would end workers when memory is nearly full, whoever took it (these
# tests count the workers that they kill), run them with the least priority, and give up on those that begin slowly.
PATIENT = {"memory_monitor_refresh_ms": 0, "worker_niceness": 0, "worker_register_timeout_seconds": 300}
os.environ.update({f"RAY_{name}": str(value) for name, value in PATIENT.items()})


@pytest.fixture(scope="session")
def ray():
    with link.opened(None, 4) as module:
        yield module
