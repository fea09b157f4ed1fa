"""A federation of real processes on 127.0.0.1: SuperLink, one ServerApp executor, a SuperNode and an executor a site.

No keys and no TLS: what is tested here is the protocol and its faults; tests of the locks have them.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from evenkeel.errors import RunFailedError
from evenkeel.federation.deploy import writing
from evenkeel.federation.deploy.commands import SPARING
from evenkeel.federation.deploy.control import Control
from evenkeel.federation.deploy.rehearsing import free_ports
from tests.federation.small import ENVIRONMENT

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
LINK = """
from evenkeel.federation.deploy.superlink import patient
from flwr.superlink.cli import flower_superlink
patient()
flower_superlink()
"""
HURRIED = Path(__file__).parent / "hurried"
APP = {
    "app.py": "from tests.federation.faulty import client as make_client, server as make_server\n\n"
    "client = make_client()\nserver = make_server()\n",
    "pyproject.toml": """[project]
name = "tested"
version = "1.0.0"
description = "tests"
license = { text = "tests" }
dependencies = []
[tool.flwr.app]
publisher = "evenkeel"
[tool.flwr.app.components]
serverapp = "app:server"
clientapp = "app:client"
[tool.flwr.app.config]
spec = ""
folder = ""
sites = ""
n = 0
wait = 300.0
""",
}


class Deployment:
    """Processes by name, each in a group of its own, ended by id."""

    def __init__(self, home, names, host="127.0.0.1", hurried=True):
        self.home, self.names, self.host, self.hurried = Path(home), tuple(names), host, hurried
        self.home.mkdir(parents=True, exist_ok=True)
        self.port, *ports = free_ports(1 + len(self.names))
        self.ports = dict(zip(self.names, ports, strict=True))
        self.processes, self.commands, self.prefixes = {}, {}, {}
        self.client = None
        (self.home / "secret").write_bytes(os.urandom(32))
        (self.home / "pids").mkdir(exist_ok=True)
        (self.home / "app").mkdir(exist_ok=True)
        for name, text in APP.items():
            (self.home / "app" / name).write_text(text)
        self.bundle = writing.bundle(self.home / "app")
        self._orders()

    def _orders(self):
        shared = ("--superexec-auth-secret-file", str(self.home / "secret"))
        at = f"{self.host}:{self.port}"
        executor = (sys.executable, "-m", "evenkeel.federation.deploy.executor", "--insecure", *shared)
        self.commands["superlink"] = (
            *(sys.executable, "-c", LINK, "--insecure", "--host", self.host, "--port", str(self.port)),
            *("--isolation", "process", *shared, "--database", str(self.home / "link.db")),
            "--disable-runtime-dependency-installation",
        )
        self.commands["executor"] = (*executor, "--task", "flwr-serverapp", "--runtime-api-address", at)
        for name, port in self.ports.items():
            self.commands[f"node-{name}"] = (
                *(sys.executable, "-m", "evenkeel.federation.deploy.node", "--insecure", "--superlink", at),
                *("--host", "127.0.0.1", "--port", str(port), "--isolation", "process", *shared),
                *("--node-config", f'name="{name}" part="{name}" threads=1'),
            )
            self.commands[f"executor-{name}"] = (
                *(*executor, "--task", "flwr-clientapp"),
                *("--runtime-api-address", f"127.0.0.1:{port}"),
            )

    def reach(self, name, address):
        """Let a site's node speak to SuperLink by another address."""
        words = list(self.commands[f"node-{name}"])
        words[words.index("--superlink") + 1] = address
        self.commands[f"node-{name}"] = tuple(words)

    def environment(self):
        return {
            **os.environ,
            **ENVIRONMENT,
            "FLWR_HOME": str(self.home / "flwr"),
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.3" if self.hurried else "0.1",  # every poll costs a core some ms
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "PYTHONPATH": f"{HURRIED}:{ROOT}" if self.hurried else f"{ROOT}",
            "EVENKEEL_FAULTS": str(self.home),
        }

    def start(self, *names):
        for name in names:
            log = (self.home / f"{name}.log").open("ab")
            sparing = SPARING if name in {"superlink", "executor"} else {}
            command = (*self.prefixes.get(name, ()), *self.commands[name])
            self.processes[name] = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                env={**self.environment(), **sparing},
                start_new_session=True,
                cwd=self.home,
            )
            log.close()
            (self.home / "pids" / name).write_text(str(self.processes[name].pid))

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self.end)
            self.start("superlink")
            self.settle(lambda: self.control().nodes() is not None, 180, "SuperLink")
            self.start("executor", *(f"{kind}-{name}" for name in self.names for kind in ("node", "executor")))
            undo.pop_all()
        return self

    def __exit__(self, *_):
        self.end()

    def settle(self, good, seconds, what):
        end = time.monotonic() + seconds
        why = "it says no"
        while time.monotonic() < end:
            try:
                if good():
                    return
            except RunFailedError as error:  # not up yet
                why = str(error)
            time.sleep(0.3)
        raise AssertionError(f"{what}: not there after {seconds} s: {why}: {self.tail()}")

    def control(self):
        from flwr.supercore.control import ControlHttpClient

        if self.client is None:
            address = f"{self.host}:{self.port}"
            self.client = ControlHttpClient.from_server_address(
                server_address=address, insecure=True, root_certificates=None, interceptors=[]
            )
        return Control(self.client)

    def submit(self, made, folder, wait=300.0):
        (self.home / "pids" / "server").unlink(missing_ok=True)  # that of a run before
        config = {"spec": made.to_toml(), "folder": str(folder), "sites": ",".join(self.names), "wait": wait}
        return self.control().start(self.bundle, config)

    def tend(self):
        """Start again whatever has ended, as a supervisor does; the names."""
        ended = [name for name, process in self.processes.items() if process.poll() is not None]
        if ended:
            time.sleep(0.5)
            self.start(*ended)
        return ended

    def finish(self, run, seconds):
        """Wait for a Flower run; its outcome."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            last = self.control().outcome(run)
            if last.over:
                return last
            time.sleep(0.3)
        raise AssertionError(f"run {run} hangs: {self.tail()}")

    def through(self, made, folder, seconds, tended=None):
        """A run to its end, started again as often as it fails; how many Flower runs it took."""
        from evenkeel.runs import Run, store

        end, runs = time.monotonic() + seconds, 0
        run = None
        while time.monotonic() < end:
            ended = self.tend()
            if tended is not None:
                tended.extend(ended)
            with contextlib.suppress(RunFailedError, KeyError):  # SuperLink is away
                if run is None:
                    run, runs = self.submit(made, folder), runs + 1
                last = self.control().outcome(run)
                if (folder / store.FINAL).exists() and last.over:
                    return runs, Run.open(folder)
                if last.over or self._server_died():
                    with contextlib.suppress(RunFailedError):
                        self.control().stop(run)
                    run = None
            time.sleep(0.5)
        raise AssertionError(f"not finished after {seconds} s: {self.tail()}")

    def _server_died(self):
        """The ServerApp's own process is gone: Flower would notice after a minute, a supervisor at once."""
        file = self.home / "pids" / "server"
        if not file.exists():
            return False
        try:
            state = Path(f"/proc/{file.read_text()}/stat").read_text().rpartition(")")[2].split()[0]
            gone = state == "Z"
        except OSError:
            gone = True
        if gone:
            file.unlink(missing_ok=True)
        return gone

    def tail(self):
        return "\n".join(f"{f.name}: {f.read_text(errors='replace')[-700:]}" for f in self.home.glob("*.log"))

    def end(self):
        if self.client is not None:
            self.client.close()
            self.client = None
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        time.sleep(1)
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.processes.clear()
