"""What the coordinator asks of SuperLink, over its control API: the one place that knows Flower's names for it."""

import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from evenkeel.errors import RunFailedError
from evenkeel.federation.deploy.layout import Server
from evenkeel.federation.deploy.superlink import CONTROL_HEADER


class Node(NamedTuple):
    """A registered site: Flower's id for it, its name, its key, and whether it is there."""

    id: int
    name: str
    key: bytes
    online: bool


class Outcome(NamedTuple):
    """Where a Flower run is: "pending", "starting", "running", "finished"; and how it ended."""

    status: str
    sub_status: str
    details: str

    @property
    def over(self) -> bool:
        """Nothing more will come of it."""
        return self.status == "finished"

    @property
    def good(self) -> bool:
        """It did what it was to do."""
        return self.over and self.sub_status == "completed"


@dataclass(frozen=True, slots=True)
class Control:
    """The control API of a SuperLink on this machine, with the server's secret."""

    client: Any

    @classmethod
    def of(cls, server: Server) -> "Control":
        """The one of a federation."""
        from flwr.supercore.control import ControlHttpClient

        secret = server.file("control.secret").read_text("utf-8")
        return cls(
            ControlHttpClient.from_server_address(
                server_address=f"127.0.0.1:{server.inner}",
                insecure=False,
                root_certificates=server.file("ca.pem").read_bytes(),
                interceptors=[_Secret(secret)],
            )
        )

    def nodes(self) -> tuple[Node, ...]:
        """The registered sites, by name."""
        from flwr.proto.control_pb2 import ListNodesRequest

        held = _asked(lambda: self.client.ListNodes(ListNodesRequest())).nodes_info
        known = [
            Node(n.node_id, n.name, n.public_key, n.status == "online") for n in held if n.status != "unregistered"
        ]
        return tuple(sorted(known, key=lambda node: node.name))

    def register(self, name: str, public: Path) -> None:
        """Let a site in."""
        from flwr.cli.supernode.register import try_load_public_key
        from flwr.proto.control_pb2 import RegisterNodeRequest

        request = RegisterNodeRequest(public_key=try_load_public_key(public), name=name)
        _asked(lambda: self.client.RegisterNode(request))

    def unregister(self, node: int) -> None:
        """Let a site in no longer."""
        from flwr.proto.control_pb2 import UnregisterNodeRequest

        _asked(lambda: self.client.UnregisterNode(UnregisterNodeRequest(node_id=node)))

    def start(self, bundled: bytes, config: Mapping[str, str | int | float]) -> int:
        """Start a run of an app; its number."""
        from flwr.common.serde import fab_to_proto, user_config_to_proto
        from flwr.proto.control_pb2 import StartRunRequest
        from flwr.supercore.fab import Fab

        fab = fab_to_proto(Fab(sha256(bundled).hexdigest(), bundled, {}))
        request = StartRunRequest(fab=fab, override_config=user_config_to_proto(dict(config)))
        return int(_asked(lambda: self.client.StartRun(request)).run_id)

    def outcome(self, run: int) -> Outcome:
        """Where a run is."""
        from flwr.proto.control_pb2 import ListRunsRequest

        held = _asked(lambda: self.client.ListRuns(ListRunsRequest(run_id=run))).run_dict[run].status
        return Outcome(held.status, held.sub_status, held.details)

    def stop(self, run: int) -> None:
        """End a run."""
        from flwr.proto.control_pb2 import StopRunRequest

        _asked(lambda: self.client.StopRun(StopRunRequest(run_id=run)))


class _Secret:
    """Sends the server's secret along."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def intercept(self, context: Any, call_next: Callable[[Any], Any]) -> Any:  # noqa: ANN401 — Flower's types
        context.request.headers[CONTROL_HEADER] = self.secret
        return call_next(context)


def healthy(server: Server) -> bool:
    """Whether SuperLink answers on loopback, with our certificate."""
    trusted = ssl.create_default_context(cafile=str(server.file("ca.pem")))
    try:
        with urllib.request.urlopen(f"https://127.0.0.1:{server.inner}/health", context=trusted, timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _asked(call: Callable[[], Any]) -> Any:  # noqa: ANN401 — Flower's responses
    """Ask; whatever goes wrong is one line."""
    import httpx

    try:
        return call()
    except (httpx.HTTPError, ValueError) as error:
        raise RunFailedError(f"SuperLink does not answer as it should ({type(error).__name__}: {error})") from None
