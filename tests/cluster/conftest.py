"""One Ray for all tests here, on this machine alone; what needs another one runs in a process of its own."""

import pytest

from evenkeel.cluster import link


@pytest.fixture(scope="session")
def ray():
    with link.opened(None, 4) as module:
        yield module
