"""Flower's node, mended: what it does with a message whose run is over, and with a reply that never comes."""

import subprocess
import sys
import time
from types import SimpleNamespace

from evenkeel.federation.deploy.node import mended

MESSAGE = SimpleNamespace(metadata=SimpleNamespace(message_id="m1", ttl=1e4))


class Held:
    """A store that remembers what was deleted."""

    def __init__(self):
        self.gone = []

    def delete_messages(self, *, message_ids):
        self.gone += message_ids

    def delete(self, message_id):
        self.gone.append(message_id)


def pulled(found, run):
    """One pull in which Flower found this and returned that; what was let go."""
    state, store = Held(), Held()

    def pull(*, state, object_store, receive, node_config):
        return run if receive() is not None and node_config == {} else None

    assert mended(pull)(state=state, object_store=store, receive=lambda: found, node_config={}) == run
    return state.gone + store.gone


def test_a_message_whose_run_is_over_is_let_go_and_others_stay():
    assert pulled((MESSAGE, "tree"), None) == ["m1", "m1"]
    assert pulled((MESSAGE, "tree"), 7) == []
    assert pulled(None, None) == []


STUCK = """
import time
from types import SimpleNamespace
from evenkeel.federation.deploy import node
node.GRACE = 0.5
message = SimpleNamespace(metadata=SimpleNamespace(message_id="m", ttl=0.5))
node.mended(lambda *, receive, **_: bool(receive()))(state=None, object_store=None, receive=lambda: (message, None))
time.sleep(60)
"""


def test_a_node_that_waits_past_the_end_of_its_message_ends():
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "Timeout" in done.stderr
    assert time.monotonic() - begun < 50
