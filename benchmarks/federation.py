"""What a federation costs, in Markdown: `.venv-federate/bin/python -m benchmarks.federation [seconds] [bytes] [memory]`

Separate processes on loopback, without TLS; digits, a small perceptron, two local steps of eight rows.
seconds: Scaff-PD-IA with 3, 5 and 10 sites. bytes: seven algorithms, what our journal counts, what the formula says,
and what one site's node really sends and gets. memory: 10 sites of 10 million parameters.
"""

import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from evenkeel.federation.journal import read
from tests.federation.deployed import Deployment
from tests.federation.relay import Relay
from tests.federation.small import SEVEN, spec, travels

ROUNDS = 5


def names(n):
    """Client names as the digits' partition gives them."""
    return [f"client-{i:0{len(str(n - 1))}d}" for i in range(n)]


def exchanges(folder):
    """The journal's exchanges."""
    return [line for line in read(folder) if line["event"] == "exchange"]


def spread(values):
    """Median (least to most)."""
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def seconds(home):
    """Seconds an exchange and a round, from the second round on."""
    print("| sites | an exchange, s | a round (two exchanges), s | n |\n|---|---|---|---|")
    for n in (3, 5, 10):
        made, folder = spec("scaff-pd-ia", n, rounds=ROUNDS), home / f"seconds-{n}"
        with Deployment(home / f"home-{n}", names(n), hurried=False) as deployment:
            _, run = deployment.through(made, folder, 900)
        each = [line["seconds"] for line in exchanges(folder) if line["round"] >= 1 and line["phase"] != "score"]
        rounds = [value for value in run.rounds["seconds"].to_list()[1:] if value is not None]
        print(f"| {n} | {spread(each)} | {spread(rounds)} | {len(each)}, {len(rounds)} |", flush=True)


def bytes_(home, hidden=1333):
    """Bytes a round and site, counted, by the formula, and on the wire of one site over the whole run."""
    d, n, rounds = 75 * hidden + 10, 3, 2
    print(f"θ of {d} numbers, {4 * d} bytes.\n")
    print("| algorithm | down a round and site | up | formula | on the wire, all of a run: down | up |")
    print("|---|---|---|---|---|---|")
    deployment = Deployment(home / "bytes", names(n))
    with Relay(deployment.port) as relay:
        deployment.reach(deployment.names[0], relay.address)
        with deployment:
            for name in SEVEN:
                before = relay.down, relay.up
                deployment.through(spec(name, n, rounds=rounds, task__hidden=hidden), home / name, 600)
                crossed = relay.down - before[0], relay.up - before[1]
                print(_line(name, exchanges(home / name), rounds, 4 * d, crossed), flush=True)


def _line(name, lines, rounds, vector, crossed):
    wrong = [line for line in lines if (line["down"], line["up"]) != _formula(name, line, vector)]
    if wrong:
        raise SystemExit(f"{name}: counted is not the formula: {wrong}")
    last = [line for line in lines if line["round"] == rounds - 1 and line["phase"] != "score"]
    down, up = (sum(line[way] // line["asked"] for line in last) for way in ("down", "up"))
    phases = " then ".join(f"{line['phase']} {travels(name, line['phase'])}" for line in last)
    ways = zip(crossed, ("down", "up"), strict=True)
    over = [f"{c / max(sum(line[way] // line['asked'] for line in lines), 1) - 1:+.1%}" for c, way in ways]
    return f"| {name} | {down} | {up} | {phases} | {over[0]} | {over[1]} |"


def _formula(name, line, vector):
    down, up = travels(name, line["phase"])
    return down * vector * line["messages"], up * vector * line["messages"]


def memory(home, n=10, hidden=133_334):
    """The most that the server's processes held at once, by proportional share: ten sites, ten million numbers."""
    made = spec("scaff-pd-ia", n, rounds=2, task__hidden=hidden, engine__deadline=1800.0)
    most, done = {}, threading.Event()
    deployment = Deployment(home / "memory", names(n), hurried=False)
    (deployment.home / "turns").touch()  # it is the server that is measured; ten clients at once are too much for us
    with deployment:

        def watch():
            while not done.wait(0.5):
                held = {who: _share(_group(deployment, who)) for who in ("superlink", "executor")}
                held["together"] = sum(held.values())
                for who, size in held.items():
                    most[who] = max(most.get(who, 0), size)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            deployment.through(made, home / "large", 2400)
        finally:
            done.set()
            watcher.join()
    took = [round(line["seconds"]) for line in exchanges(home / "large")]
    print(f"{n} sites, θ of {75 * hidden + 10} numbers; exchanges of {took} s.\n")
    print("| process | most, MiB |\n|---|---|")
    for who, label in (
        ("executor", "server app and its executor"),
        ("superlink", "SuperLink"),
        ("together", "together"),
    ):
        print(f"| {label} | {most[who] / 2**20:.0f} |", flush=True)


def _group(deployment, name):
    """The processes that one of the deployment's started, and itself."""
    leader = str(deployment.processes[name].pid)
    out = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.joinpath("stat").read_text().rpartition(")")[2].split()[2] == leader:
                out.append(folder)
        except OSError:
            continue
    return out


def _share(processes):
    """Bytes of memory, a page that several share counted in parts."""
    total = 0
    for folder in processes:
        try:
            lines = folder.joinpath("smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        except OSError:
            continue
    return total


def main():
    """What was asked for, or all of it."""
    parts = {"seconds": seconds, "bytes": bytes_, "memory": memory}
    with tempfile.TemporaryDirectory(prefix="evenkeel-", ignore_cleanup_errors=True) as folder:
        for name in sys.argv[1:] or parts:
            begun = time.monotonic()
            print(f"\n### {name}\n")
            parts[name](Path(folder))
            print(f"\n({time.monotonic() - begun:.0f} s)")


if __name__ == "__main__":
    main()
