"""The command line of every process, said once, for `up`, `join` and the service units. Secrets stay in files."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from evenkeel.errors import InputError
from evenkeel.federation.deploy.layout import Server, Site

Command = tuple[str, ...]

_ALWAYS = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",  # it would run `uv sync` at every run
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
    "OMP_NUM_THREADS": "1",
}
# A vector of megabytes goes back to the system when it is let go, and threads share two arenas: else what one request
# left is not there for the next. Not at the sites: fresh memory is slow, and there is the arithmetic.
SPARING = {"MALLOC_MMAP_THRESHOLD_": str(2**20), "MALLOC_TRIM_THRESHOLD_": str(2**24), "MALLOC_ARENA_MAX": "2"}


def environment(home: Path) -> dict[str, str]:
    """What Flower's processes are told beyond their arguments: no telemetry, no installing, a home of their own."""
    return {**_ALWAYS, "FLWR_HOME": str(home)}


def server_environment(home: Path) -> dict[str, str]:
    """The same for the coordinating machine, which holds vectors of many sites."""
    return {**environment(home), **SPARING}


def server_commands(server: Server) -> Mapping[str, Command]:
    """The three processes of the coordinating machine, in the order they start in."""
    inner, file = f"127.0.0.1:{server.inner}", server.file
    tls = (
        "--ssl-certfile",
        file("server.pem"),
        "--ssl-keyfile",
        file("server.key"),
        "--ssl-ca-certfile",
        file("ca.pem"),
    )
    shared = ("--superexec-auth-secret-file", file("executor.secret"))
    superlink = (
        *(sys.executable, "-m", "evenkeel.federation.deploy.superlink", file("control.secret")),
        *("--host", "127.0.0.1", "--port", server.inner, *tls),
        *("--enable-supernode-auth", "--isolation", "process", *shared),
        *("--database", file("superlink.db"), "--disable-runtime-dependency-installation"),
    )
    executor = (
        *(sys.executable, "-m", "evenkeel.federation.deploy.executor", "--task", "flwr-serverapp"),
        *("--runtime-api-address", inner, "--root-certificates", file("ca.pem"), *shared),
    )
    proxy = (nginx(), "-p", server.logs, "-c", file("proxy.conf"), "-e", "stderr")
    return {"proxy": _words(proxy), "superlink": _words(superlink), "executor": _words(executor)}


def site_commands(site: Site, pin: str) -> Mapping[str, Command]:
    """The two processes of a site: the node, which asks the server for work, and what runs the pinned app."""
    shared = ("--superexec-auth-secret-file", site.root / "executor.secret")
    node = (
        *(sys.executable, "-m", "evenkeel.federation.deploy.node", "--superlink", site.address),
        *("--root-certificates", site.ca, "--auth-supernode-private-key", site.key),
        *("--host", "127.0.0.1", "--port", site.port, "--isolation", "process", *shared),
        *("--node-config", node_config(site)),
    )
    executor = (
        *(sys.executable, "-m", "evenkeel.federation.deploy.executor", "--task", "flwr-clientapp", "--pin", pin),
        *("--runtime-api-address", f"127.0.0.1:{site.port}", "--insecure", *shared),  # loopback to itself
    )
    return {"node": _words(node), "executor": _words(executor)}


def node_config(site: Site) -> str:
    """What the site's app is told: its name, and the file that reads its rows or the part it plays in a rehearsal."""
    rows = f'part="{site.part}"' if site.part else f'site="{site.data_file}"'
    return f'name="{site.name}" {rows} state="{site.root / "state"}" fewest={site.fewest} threads=1'


def nginx() -> str:
    """Where nginx is; a user's PATH often lacks /usr/sbin."""
    found = shutil.which("nginx", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))
    if found is None:
        raise InputError("nginx: not found; install it, on Debian with: apt-get install nginx-light")
    return found


def _words(command: tuple[object, ...]) -> Command:
    return tuple(str(word) for word in command)
