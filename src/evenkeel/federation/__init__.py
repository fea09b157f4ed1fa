"""A real federation: the seam of `protocol` over a network, Flower its carrier; see README.md beside this file.

Nothing here is imported by the rest of evenkeel but the command line, and Flower only by `wire`, `server` and `client`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenkeel.federation.client import client_app
    from evenkeel.federation.server import server_app

__all__ = ["client_app", "server_app"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 — one of the two apps, loaded when its name is first used
    if name == "client_app":
        from evenkeel.federation.client import client_app

        return client_app
    if name == "server_app":
        from evenkeel.federation.server import server_app

        return server_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
