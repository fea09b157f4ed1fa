"""`federate up --local N`: the whole federation on this machine, with keys, TLS and processes of its own.

It lives in DIR/rehearsal, is made anew each time, and listens on 127.0.0.1 only.
"""

import shutil
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from evenkeel.errors import InputError
from evenkeel.federation.deploy import layout, processes, writing
from evenkeel.federation.deploy.initial import Wanted, init
from evenkeel.federation.deploy.layout import Server
from evenkeel.runs import Spec
from evenkeel.runs.options import GIVEN
from evenkeel.runs.parts import federation_of

FOLDER = "rehearsal"
MOST = 50  # sites on one machine: each is two processes and a torch


def rehearsal(root: Path, spec: Spec, n: int) -> tuple[Server, tuple[str, ...], Spec]:
    """A federation of n sites on this machine, their names in client order, and the spec that it runs."""
    if not 1 <= n <= MOST:
        raise InputError(f"--local {n}: must lie in [1, {MOST}]; 3 is a start")
    if not (root / "app").is_dir():
        raise InputError(f"{root}: holds no app; `evenkeel federate new {root}` writes one")
    place = root / FOLDER
    processes.refuse_second(place / "server" / processes.RUNNING)
    spec, sites = _cast(root, spec, n)
    port, inner, *ports = free_ports(n + 2)
    sites = {name: Wanted(port=p, data=w.data, part=w.part) for (name, w), p in zip(sites.items(), ports, strict=True)}
    shutil.rmtree(place, ignore_errors=True)
    writing.make_folder(place, 0o700)
    shutil.copytree(root / "app", place / "app", ignore=shutil.ignore_patterns("__pycache__"))
    server, _ = init(place, host="127.0.0.1", port=port, inner=inner, sites=sites)
    return server, tuple(sites), spec


def _cast(root: Path, spec: Spec, n: int) -> tuple[Spec, Mapping[str, Wanted]]:
    """Who plays: the sites that `init` made with their own loaders, or the clients of the spec's own data."""
    if spec.data.source == GIVEN:
        names = sorted(folder.name for folder in (root / "sites").glob("*") if folder.is_dir())
        if len(names) != n:
            rule = f"{root / 'sites'} holds {len(names)} sites, each with its own data.py"
            raise InputError(f"--local {n}: {rule}; give that number, or a data.source that can be dealt out")
        return spec, {name: Wanted(data=str((root / "sites" / name / "data.py").absolute())) for name in names}
    if spec.partition.name is not None or spec.partition.n is not None:
        spec = spec.replace("partition.n", n)
    names = list(federation_of(spec).names)
    if len(names) != n:
        raise InputError(f"--local {n}: the spec's data have {len(names)} clients; give that number")
    return spec, {layout.checked_name(name): Wanted(part=name) for name in names}


def free_ports(n: int) -> list[int]:
    """Ports of the loopback that nobody has now; all are held until all are known, so that they differ."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(n)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
