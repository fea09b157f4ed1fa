"""What a run of the peers found, as a table on the screen and as docs/benchmarks/peers.{json,md}."""

import datetime
import json
import os
import platform
import statistics
import time
from pathlib import Path

from contestants import REFERENCE
from rich import box
from rich.console import Console
from rich.table import Table

BUSY = 0.1  # of the machine; a quiet one shows .00 to .03
HEADER = ("contestant", "median s", "fastest s", "÷ evenkeel (medians)", "÷ evenkeel (fastest)", "remarks")


def others(seconds=0.5):
    """The share of the machine that others use, while we do nothing."""

    def ticks():
        fields = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]

    (total, idle), _ = ticks(), time.sleep(seconds)
    total_after, idle_after = ticks()
    return 1 - (idle_after - idle) / max(total_after - total, 1)


def conditions():
    """When and where, and how busy."""
    names = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return {
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "load": os.getloadavg(),
        "processor": names[0] if names else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
    }


def busy(record):
    """Whether something else ran: seen in the pauses before the contestants."""
    shares = [r["others"] for table in record["results"].values() for r in table.values() if "others" in r]
    return max(shares, default=0.0) > BUSY


def lines(table):
    """The rows of one number of clients, as texts under `HEADER`."""
    base = table.get(REFERENCE, {}).get("seconds")
    for name, result in table.items():
        if "failure" in result:
            yield name, "", "", "", "", f"failed: {result['failure']}"
            continue
        middle, least = statistics.median(result["seconds"]), min(result["seconds"])
        ratios = (f"{middle / statistics.median(base):.2f}", f"{least / min(base):.2f}") if base else ("", "")
        yield name, f"{middle:.4f}", f"{least:.4f}", *ratios, ", ".join(remarks(result))


def remarks(result):
    """What to know of one number."""
    if result["wrong"]:
        yield f"WRONG: {result['wrong']}"
    if result["others"] > BUSY:
        yield f"others used {result['others']:.0%}"
    if "drift" in result and abs(result["drift"] - 1) > 0.1:
        yield f"second half ×{result['drift']:.2f}"


def heading(record):
    """One line on the conditions."""
    start, end = record["start"], record["end"]
    loads = " → ".join("/".join(f"{value:.2f}" for value in when["load"]) for when in (start, end))
    mark = "BUSY MACHINE: read only the ratios, and those with care. " if busy(record) else ""
    return f"{mark}{start['processor']}, {start['cores']} cores, {start['time']}, load {loads} (includes our own work)"


def show(record):
    """Print it."""
    console = Console(width=150)
    console.print(heading(record))
    for clients, table in record["results"].items():
        drawn = Table(title=f"{clients} clients, seconds a round", box=box.SIMPLE)
        for column in HEADER:
            drawn.add_column(column, justify="left" if column in {HEADER[0], HEADER[-1]} else "right")
        for line in lines(table):
            drawn.add_row(*line)
        console.print(drawn)


def save(record, chosen, folder):
    """Write both files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.json").write_text(json.dumps(record, indent=1) + "\n")
    (folder / "peers.md").write_text("\n".join(page(record, chosen)) + "\n")


def page(record, chosen):
    """The lines of the page."""
    yield "# Seconds a round, beside other frameworks and a hand-written loop"
    yield ""
    yield from (
        "Workload W: MNIST shape, 160 rows a client, 784-50-10 with ReLU and dropout .5, five SGD steps of 32 rows,",
        "every client in every round, each client's full training loss in every round, the mean of all models.",
        "Rows are random and labelled by a teacher. Everyone starts from the same θ⁰, so the first loss is the same",
        "number for all, and the last must be that of the plain loop: a contestant that did other work is marked.",
        "",
        f"Made by `python benchmarks/peers/run.py --save`: {record['rounds']} rounds after two of warm-up, one process",
        "after the other; evenkeel and the plain loops twice, before and after the frameworks.",
        "",
        heading(record) + ".",
    )
    for clients, table in record["results"].items():
        yield from ("", f"## {clients} clients", "", "| " + " | ".join(HEADER) + " |", "|---|--:|--:|--:|--:|---|")
        yield from ("| " + " | ".join(text.replace("|", "/") for text in line) + " |" for line in lines(table))
    yield from ("", "## How each was run", "")
    for contestant in chosen:
        found = ", ".join(f"{name} {version}" for name, version in record["versions"].get(contestant.name, {}).items())
        yield f"- **{contestant.name}** ({found or 'not installed'}): {contestant.note}."
