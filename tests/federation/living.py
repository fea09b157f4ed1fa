"""A whole federation as its people would run it: new, init, up and join by the command line, on 127.0.0.1, locked.

South's way to the proxy leads through a machine in between that holds a stolen server key: it hears every request.
"""

import contextlib
import importlib.util
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

from evenkeel.federation import journal
from evenkeel.federation.answering import reply_to
from evenkeel.federation.deploy import layout
from evenkeel.federation.deploy.control import Control
from evenkeel.federation.deploy.rehearsing import free_ports
from evenkeel.federation.serving import serve
from evenkeel.federation.sites import load_site
from evenkeel.runs import Run, Spec

COMMAND = Path(sys.executable).with_name("evenkeel")
HURRIED = Path(__file__).with_name("hurried")
SPEC = """name = "lived"
rounds = 3
[data]
source = "given"
[task]
model = "given"
[algorithm]
name = "scaff-pd-ia"
alpha = 0.5
phi = 0.2
tau = 0.5
eta = 0.05
sigma = 0.05
[work]
batch = 32
epochs = 1
[evaluation]
every = 3
splits = ["valid"]
alpha = 0.5
beta = 0.5
[engine]
deadline = 900.0
"""
DATA = '''"""Every second digit; waits while a file called hold is there."""

import time
from pathlib import Path

from sklearn.datasets import load_digits


def load():
    while Path({hold!r}).exists():
        time.sleep(0.2)
    x, y = load_digits(return_X_y=True)
    return (x[{at}::2] / 16).astype("float32"), y[{at}::2]
'''


class Between:
    """A machine in between: TLS to the node, TLS to the proxy, and everything that went by written down."""

    def __init__(self, server, port):
        self.server, self.heard = server, []
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(server.file("server.pem"), server.file("server.key"))
        self.trusted = ssl.create_default_context(cafile=str(server.file("ca.pem")))
        self.listener = own.wrap_socket(socket.create_server(("127.0.0.1", port)), server_side=True)
        self.open = True
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        while self.open:
            with contextlib.suppress(OSError):
                here, _ = self.listener.accept()
                threading.Thread(target=self._relay, args=(here,), daemon=True).start()

    def _relay(self, here):
        with contextlib.suppress(OSError), here:
            plain = socket.create_connection(("127.0.0.1", self.server.port))
            with self.trusted.wrap_socket(plain, server_hostname="127.0.0.1") as there:
                heard = bytearray()
                self.heard.append(heard)
                back = threading.Thread(target=_copied, args=(there, here, None), daemon=True)
                back.start()
                _copied(here, there, heard)
                back.join()

    def requests(self, path):
        """The requests to a path, as they went over the wire, whole ones only."""
        out = []
        for heard in self.heard:
            rest = bytes(heard)
            while b"\r\n\r\n" in rest:
                head, _, body = rest.partition(b"\r\n\r\n")
                lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                length = int(lengths[0].partition(b":")[2]) if lengths else 0
                if head.startswith(b"POST " + path.encode() + b" ") and len(body) >= length:
                    out.append(head + b"\r\n\r\n" + body[:length])
                rest = body[length:]
        return out

    def close(self):
        self.open = False
        self.listener.close()


def _copied(one, two, heard):
    with contextlib.suppress(OSError):
        while piece := one.recv(65536):
            if heard is not None:
                heard.extend(piece)
            two.sendall(piece)
        two.shutdown(socket.SHUT_WR)


class Living:
    """The federation; `hold` stops both sites at their next question."""

    def __init__(self, root):
        self.root, self.folder, self.run = root, root / "fed", root / "run"
        self.hold, self.processes, self.between = root / "hold", {}, None

    def say(self, *words):
        """A command of ours to its end."""
        return subprocess.run(
            [COMMAND, *map(str, words)], capture_output=True, text=True, timeout=600, cwd=self.root, env=environment()
        )

    def done(self, *words):
        ended = self.say(*words)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def start(self, name, *words):
        """A command that goes on."""
        with (self.root / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [COMMAND, *map(str, words)], stdout=log, stderr=log, cwd=self.root, env=environment(HURRIED)
            )

    def set_up(self):
        port, inner, between, *ports = free_ports(5)
        self.done("federate", "new", self.folder)
        (self.folder / "spec.toml").write_text(SPEC)
        sites = [word for name in ("north", "south", "gone") for word in ("--site", name)]
        self.done("federate", "init", self.folder, "--host", "127.0.0.1", "--port", port, "--inner", inner, *sites)
        self.server = layout.opened(self.folder)
        self.done("federate", "revoke", self.folder, "gone")
        for at, name in enumerate(("north", "south")):
            site = self.server.site(name)
            (site / "data.py").write_text(DATA.format(hold=str(self.hold), at=at))
            told = (site / "site.toml").read_text().replace("port = 9094", f"port = {ports[at]}")
            way = told if name == "north" else told.replace(f"127.0.0.1:{port}", f"127.0.0.1:{between}")
            (site / "site.toml").write_text(way)
        self.between = Between(self.server, between)
        return self

    def begin(self):
        """All of it runs, and the run is past its first round."""
        self.start("up", "federate", "up", self.folder, "--out", self.run, "--wait", 900)
        for name in ("north", "south"):
            self.start(name, "federate", "join", self.server.site(name))
        self.until(lambda: any(line["event"] == "round" and line["round"] == 1 for line in journal.read(self.run)), 900)

    def status(self):
        return json.loads(self.done("federate", "status", self.folder, "--json"))["places"][0]

    def until(self, good, seconds):
        late = time.monotonic() + seconds
        while True:
            if good():
                return
            ended = [name for name, process in self.processes.items() if process.poll() is not None]
            assert not ended, self.tail()
            assert time.monotonic() < late, self.tail()
            time.sleep(0.2)

    def tail(self):
        logs = [*self.root.glob("*.log"), *self.folder.glob("*/logs/*.log"), *self.folder.glob("sites/*/logs/*.log")]
        return "\n".join(f"{log}: {log.read_text(errors='replace')[-1500:]}" for log in logs)

    def nodes(self):
        control = Control.of(self.server)
        with contextlib.closing(control.client):
            return {node.name: node for node in control.nodes()}

    def log(self, name):
        return self.server.file(f"logs/{name}.log").read_text(errors="replace")

    def end(self):
        """By our own ids; each tends its own."""
        self.hold.unlink(missing_ok=True)
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.between is not None:
            self.between.close()


def environment(path=""):
    return {**os.environ, "COLUMNS": "200", "PYTHONPATH": str(path)}


class Direct:
    """The same two sites without a network: what they say is heard at once."""

    def __init__(self, living, spec):
        files = {name: str(living.server.site(name) / "data.py") for name in ("north", "south")}
        sites = [load_site({"name": name, "site": file}, spec, {}) for name, file in files.items()]
        self.sites, self.letters = dict(enumerate(sites)), {}
        described = importlib.util.spec_from_file_location("task", living.server.app / "task.py")
        module = importlib.util.module_from_spec(described)
        described.loader.exec_module(module)
        self.make, self.spec = module.task, spec

    def nodes(self):
        return {node: site.name for node, site in self.sites.items()}

    def send(self, node, envelope, seconds):
        letter = f"letter-{len(self.letters)}"
        self.letters[letter] = reply_to(envelope, self.sites[node], lambda *how: self.make(self.spec, *how))
        return letter

    def fetch(self, letters):
        return [(letter, self.letters[letter]) for letter in letters]


def undisturbed(living, folder) -> Run:
    """The run as it must end."""
    spec = Spec.load(living.folder / "spec.toml")
    post = Direct(living, spec)
    settings = {"spec": spec.to_toml(), "folder": str(folder), "sites": "north,south"}
    return serve(post, settings, post.make, lambda _: None)
