"""Flower's SuperNode with two mends: `python -m evenkeel.federation.deploy.node FLAGS…`.

1. A node that learns, while it fetches a message, that the run is over keeps the message and its task. What that
   task answers is then sent in place of the next reply, and from there on each reply waits for the next message.
   Here message and task are let go.
2. A node waits for ever for a reply whose process died before it had handed it over. Here a node that still waits
   when its message has expired ends, so that whoever tends it starts it again.
"""

import faulthandler
from collections.abc import Callable
from typing import Any

GRACE = 10.0  # seconds after a message has expired


def mended(pull: Callable[..., Any]) -> Callable[..., Any]:
    """Flower's pulling of one message; it returns None where there is none to answer."""

    def pulled(*, state: Any, object_store: Any, receive: Callable[[], Any], **rest: Any) -> Any:  # noqa: ANN401
        faulthandler.cancel_dump_traceback_later()  # the message before is answered
        found: list[Any] = []

        def received() -> Any:  # noqa: ANN401 — a message and its tree, or None
            one = receive()
            found.extend([] if one is None else [one[0].metadata])
            return one

        run = pull(state=state, object_store=object_store, receive=received, **rest)
        for message in found:
            if run is None:
                state.delete_messages(message_ids=[message.message_id])
                object_store.delete(message.message_id)
            else:
                faulthandler.dump_traceback_later(message.ttl + GRACE, exit=True, file=2)
        return run

    return pulled


def main() -> None:
    """Start Flower's node."""
    from flwr.supernode import start_client_internal
    from flwr.supernode.cli import flower_supernode

    start_client_internal._pull_and_store_message = mended(start_client_internal._pull_and_store_message)
    flower_supernode()


if __name__ == "__main__":
    main()
