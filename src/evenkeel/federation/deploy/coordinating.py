"""`federate up`: the coordinator's processes, the sites' keys, one run to its end; `--local` adds the sites."""

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenkeel.errors import InputError, RunFailedError
from evenkeel.federation.deploy import commands, joining, layout, writing
from evenkeel.federation.deploy.control import Control, Outcome, healthy
from evenkeel.federation.deploy.following import Follower, Tries
from evenkeel.federation.deploy.layout import Server
from evenkeel.federation.deploy.processes import Family
from evenkeel.runs import Spec
from evenkeel.runs.observers import Observer

START = 180.0  # seconds that SuperLink may take: a busy machine imports slowly
_LOOK = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What `up` is to do."""

    spec: Spec
    folder: Path
    wait: float
    local: Sequence[str] = ()


def up(server: Server, wish: Wish, observer: Observer, tell: Callable[[str], None]) -> bool:
    """Start what does not run yet, train to the end, and end what was started. Whether the run is finished."""
    checked(server)
    bundled = writing.bundle(server.app)
    follower = Follower(wish.folder, observer, tell)
    with Family(server.file("running.json")) as family:
        if not healthy(server):
            begin(server, family, tell)
        synchronise(server, Control.of(server), tell)
        for name in wish.local:
            site = layout.site_opened(server.site(name))
            joining.start(family, site, joining.checked(site))
        server.file(layout.LAST_RUN).write_text(f"{wish.folder.absolute()}\n", "utf-8")
        follower.begin(wish.spec)
        outcome = "failed"
        try:
            _to_the_end(server, wish, bundled, follower, lambda: _tend(family, tell))
            outcome = "done"
        except KeyboardInterrupt:
            outcome = "interrupted"
            raise
        finally:
            observer.end(outcome)
    return follower.finished


def checked(server: Server) -> None:
    """Secrets that others can read are no secrets."""
    for name in ("server.key", "executor.secret", "control.secret"):
        file = server.file(name)
        if not file.is_file():
            raise InputError(f"{file}: no such file; `evenkeel federate init` makes it")
        if writing.loose(file):
            raise InputError(f"{file}: others can read it; `chmod 600 {file}`")


def begin(server: Server, family: Family, tell: Callable[[str], None]) -> None:
    """Start SuperLink, wait until it answers, then what needs it."""
    for port, what in ((server.inner, "SuperLink's"), (server.port, "the proxy's")):
        if not free(port):
            raise InputError(f"port {port}, {what}: is taken by another program; end that, or choose another with init")
    told, home = commands.server_commands(server), commands.server_environment(server.file("home"))
    tell("starting SuperLink and the proxy")
    family.start("superlink", told["superlink"], home, server.logs / "superlink.log")
    late = time.monotonic() + START
    while not healthy(server):
        family.demand_alive()
        if time.monotonic() > late:
            raise RunFailedError(f"SuperLink does not answer after {START:.0f} s; see {server.logs / 'superlink.log'}")
        time.sleep(0.2)
    family.start("executor", told["executor"], home, server.logs / "executor.log")
    family.start("proxy", told["proxy"], {}, server.logs / "nginx.log")
    while free(server.port):
        family.demand_alive()
        time.sleep(0.1)


def synchronise(server: Server, control: Control, tell: Callable[[str], None]) -> None:
    """The keys in `server/sites` are let in, and no others: a revoked one is not there any more."""
    from flwr.cli.supernode.register import try_load_public_key

    wanted = {name: try_load_public_key(server.keys / f"{name}.pub") for name in server.sites}
    known = control.nodes()
    for node in known:
        if wanted.get(node.name) != node.key:
            control.unregister(node.id)
            tell(f"{node.name or node.id}: let in no longer")
    there = {node.name for node in known if wanted.get(node.name) == node.key}
    for name in wanted:
        if name not in there:
            control.register(name, server.keys / f"{name}.pub")


def revoke(server: Server, name: str) -> bool:
    """Put a site's public key aside, and unregister it where SuperLink runs; whether it ran."""
    file = server.keys / f"{layout.checked_name(name)}.pub"
    if not file.is_file():
        known = ", ".join(server.sites) or "none"
        raise InputError(f"{name}: no such site; there are: {known}")
    gone = file.with_suffix(".revoked")
    k = 1
    while gone.exists():
        k, gone = k + 1, file.with_suffix(f".revoked-{k + 1}")
    file.rename(gone)
    if not healthy(server):
        return False
    synchronise(server, Control.of(server), lambda _: None)
    return True


def free(port: int) -> bool:
    """Whether nobody listens on this port of the loopback."""
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def config(wish: Wish, names: Sequence[str]) -> dict[str, str | int | float]:
    """The run config that `evenkeel.federation.server` reads."""
    return {
        "spec": wish.spec.to_toml(),
        "folder": str(wish.folder.absolute()),
        "sites": ",".join(names),
        "n": 0,
        "wait": float(wish.wait),
    }


def _to_the_end(server: Server, wish: Wish, bundled: bytes, follower: Follower, tend: Callable[[], None]) -> None:
    """Start a Flower run, and another where it fails: Flower resumes none, but the run folder goes on."""
    control, tries, names = Control.of(server), Tries(), wish.local or server.sites
    while not follower.finished:
        run = control.start(bundled, config(wish, names))
        try:
            last = _watch(control, run, follower, tend)
        except KeyboardInterrupt:
            control.stop(run)
            raise
        if last.good or follower.finished:
            break
        if not tries.again(follower.rows, last.details, follower.observer.warn):
            reason = last.details or f"it {last.sub_status or 'ended'}"
            raise RunFailedError(f"the run failed: {reason}; see {server.logs / 'executor.log'}")
    follower.look()


def _watch(control: Control, run: int, follower: Follower, tend: Callable[[], None]) -> Outcome:
    """Until a Flower run is over. A SuperLink that is being started again is waited for."""
    late = None
    while True:
        time.sleep(_LOOK)
        tend()
        follower.look()
        try:
            last = control.outcome(run)
        except (RunFailedError, KeyError):
            late = late or time.monotonic() + START
            if time.monotonic() > late:
                raise
            continue
        late = None
        if last.over:
            return last


def _tend(family: Family, tell: Callable[[str], None]) -> None:
    for line in family.tend():
        tell(line)
    family.demand_hope()
