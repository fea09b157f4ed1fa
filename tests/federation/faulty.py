"""The apps with faults that a plan orders: a folder of small JSON files, each acted on once, when its moment comes.

A plan's entry: {"side": …, "act": …, "client": name or null, "phase": …, "round": …, and what it needs}. Acts at a
site: raise, die, hang (asleep), deaf (asleep, and no signal wakes it), unsent (dies before its reply is handed over),
slow, nan, replay, kill (other processes, by the ids in pids/). Acts at the server: write (dies at its k-th step of
writing a file).
"""

import contextlib
import fcntl
import json
import os
import signal
import time
from functools import partial
from pathlib import Path

HOME = Path(os.environ.get("EVENKEEL_FAULTS", "/nonexistent"))


def order(home, **fault):
    """Put a fault on the plan; its number."""
    plan = home / "plan"
    plan.mkdir(parents=True, exist_ok=True)
    number = len(list(plan.glob("*.json")))
    part = plan / f"{number:03d}.part"
    part.write_text(json.dumps(fault))
    part.rename(plan / f"{number:03d}.json")
    return number


def done(home):
    """The faults that have happened, with the moment of each."""
    return {int(file.name): float(file.read_text()) for file in (home / "done").glob("*")}


def due(**now):
    """The faults whose moment this is; each is handed out once."""
    for file in sorted((HOME / "plan").glob("*.json")):
        fault = json.loads(file.read_text())
        if any(fault.get(key) not in {None, value} for key, value in now.items()):
            continue
        mark = HOME / "done" / file.stem
        mark.parent.mkdir(exist_ok=True)
        try:
            with mark.open("x") as out:
                out.write(str(time.time()))
        except FileExistsError:
            continue
        yield fault


def kill(name):
    """End a process at once, by the id that it or the test wrote down."""
    os.kill(int((HOME / "pids" / name).read_text()), signal.SIGKILL)


@contextlib.contextmanager
def in_turn():
    """One site after the other, where a file says so: ten large models are more than one machine holds at once."""
    if not (HOME / "turns").exists():
        yield
        return
    with (HOME / "turns").open("r+") as turns:
        fcntl.flock(turns, fcntl.LOCK_EX)
        yield


def note(name):
    """Write down who we are."""
    (HOME / "pids").mkdir(parents=True, exist_ok=True)
    (HOME / "pids" / name).write_text(str(os.getpid()))


def _spoilt(record, act, name):
    """The reply as a liar sends it: without a number, or with the facts of an answer that was good once."""
    from evenkeel.federation.codec import Envelope
    from evenkeel.federation.wire import envelope
    from evenkeel.federation.wire import record as recorded

    said = envelope(record)
    facts = {**said.facts, "scalars": {k: float("nan") for k in said.facts["scalars"]}}
    if act == "replay":
        facts = json.loads((HOME / f"kept-{name}").read_text())
    return recorded(Envelope(kind="reply", facts=facts, arrays=said.arrays))


def client():
    """The ClientApp."""
    from flwr.app import Message
    from flwr.clientapp import ClientApp

    from evenkeel.federation.client import answered
    from evenkeel.federation.wire import envelope, record

    app = ClientApp()

    @app.train("ask")
    def ask(message, context):
        asked = envelope(message.content)
        name = str(context.node_config["name"])
        spoil = None
        if asked.kind == "ask":
            for fault in due(client=name, phase=asked.facts["phase"], round=asked.facts["round"], side="site"):
                spoil = act(fault) or spoil
            if spoil in {"hang", "deaf"}:  # within the time that a site gives itself
                import evenkeel.federation.client as module

                module.reply_to = partial(_hang, deaf=spoil == "deaf")
        with in_turn():
            content = record(answered(message, context.node_config, context.run_config, None))
        if asked.kind == "ask":
            if spoil in {"nan", "replay"}:
                content = _spoilt(content, spoil, name)
            elif asked.facts["phase"] == "local":
                (HOME / f"kept-{name}").write_text(json.dumps(dict(envelope(content).facts)))
        return Message(content, reply_to=message)

    return app


def act(fault):
    """Do it; what it returns is done to the reply."""
    what = fault["act"]
    if what == "raise":
        raise RuntimeError("a fault that was ordered")
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "slow":
        time.sleep(fault["seconds"])
    if what == "unsent":
        _die_while_sending()
    for whom in fault.get("whom", ()):
        kill(whom)
    return what


def _hang(*_, deaf):
    """Never come back; a deaf one as a loop in C does, which no handler of signals interrupts."""
    if deaf:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(1e6)


def _die_while_sending():
    """The node has been told that a reply comes; its bytes never do."""
    from flwr.supernode.runtime import run_clientapp

    run_clientapp.push_objects = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)


def server():
    """The ServerApp."""
    from flwr.serverapp import ServerApp

    from evenkeel.federation.serving import serve
    from evenkeel.federation.wire import GridPost

    app = ServerApp()

    @app.main()
    def main(grid, context):
        note("server")
        fault = next(due(side="server", act="write"), None)  # one at each start
        if fault is not None:
            from tests.runs.killing import Points, die

            Points(fault["k"], die).install()
        serve(GridPost(grid), dict(context.run_config))

    return app
