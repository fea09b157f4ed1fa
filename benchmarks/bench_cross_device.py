"""A round of Scaff-PD-IA for 10² to 10⁶ registered clients, cohorts of 1,000: time by part, peak memory, both by n.

Each number of clients runs in a process of its own, from a store mapped from disk, as any run does: a spec, a folder,
checkpoints, a panel scored. Rows are noise with labels by a linear rule that fits some clients better than others.

    python benchmarks/bench_cross_device.py --stores runs/stores                   # writes stores that are not there
    python benchmarks/bench_cross_device.py --stores runs/stores --cold            # pages dropped from the cache first
    python benchmarks/bench_cross_device.py --stores runs/stores --save            # docs/benchmarks, docs/images

A share is of the seconds of a round: what is spent answering asks, and all else (drawing whose turn it is, the dual
step, the losses of all, what is told of the round).
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from evenkeel.data.mapped import dealt, open_store, write
from idle import busy_cores

CLIENTS = (100, 1_000, 10_000, 100_000, 1_000_000)
COHORT, ROWS, INPUTS, HIDDEN, CLASSES = 1_000, 20, 64, 512, 10
ROUNDS, WARM_UP, PANEL = 7, 2, 1_000
MOST_GIB, LEAST_SHARE = 6.0, 0.7


def blocks(clients: int, at_once: int = 10_000):
    """Rows of so many clients; those with more noise in their labels will have the larger losses."""
    rule = np.random.default_rng(0).normal(size=(INPUTS, CLASSES)).astype(np.float32)
    for first in range(0, clients, at_once):
        gen = np.random.default_rng([1, first])
        n = min(at_once, clients - first)
        x = gen.standard_normal((n * ROWS, INPUTS), dtype=np.float32)
        noise = np.repeat(gen.uniform(0, 10, n).astype(np.float32), ROWS)[:, None]
        y = (x @ rule + noise * gen.standard_normal((n * ROWS, CLASSES), dtype=np.float32)).argmax(1)
        yield dealt(x, y, np.full(n, ROWS), first=first)


def store(folder: Path, clients: int) -> tuple[Path, float]:
    """A store of so many clients and the seconds that writing it took; 0 where it was there."""
    place, begun = folder / f"clients-{clients}", time.perf_counter()
    if (place / "store.json").exists():
        return place, 0.0
    write(place, blocks(clients), classes=CLASSES, origin=f"noise, {clients:,} clients of {ROWS} rows")
    return place, time.perf_counter() - begun


@dataclass
class Timed:
    """A transport, and the wall and processor seconds spent in it by phase."""

    inner: object
    spent: dict = field(default_factory=dict)
    cpu: dict = field(default_factory=dict)

    @property
    def n(self):
        return self.inner.n

    def answer(self, ask, key):
        begun, used = time.perf_counter(), time.process_time()
        try:
            return self.inner.answer(ask, key)
        finally:
            self.spent.setdefault(ask.phase, []).append(time.perf_counter() - begun)
            self.cpu.setdefault(ask.phase, []).append(time.process_time() - used)


class Clock:
    """An observer that notes wall and processor seconds when each round is complete; what follows is the next one's."""

    def __init__(self):
        self.wall, self.cpu, self.own = [], [], []

    def begin(self, spec, first): ...
    def warn(self, line): ...
    def end(self, outcome): ...

    def round(self, row):
        self.wall.append(time.perf_counter())
        self.cpu.append(time.process_time())
        status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
        self.own.append(int(status["RssAnon"].split()[0]))

    def middle(self, which):
        """The median from one complete round to the next, checkpoints included; the last row has no round."""
        return float(np.median(np.diff(which)[WARM_UP - 1 : ROUNDS - 1]))


def spec_of(clients: int, place: Path):
    """The paper's step sizes at 100 clients, the dual one in proportion to 1/n, as λ is."""
    from evenkeel.runs import Spec

    return Spec.of(
        {
            "name": f"cross-device-{clients}",
            "rounds": ROUNDS,
            "data": {"source": "mapped", "store": str(place)},
            "task": {"model": "mlp", "hidden": HIDDEN, "dropout": 0.0},
            "algorithm": {"name": "scaff-pd-ia", "cohort": COHORT, "sigma": 0.1 / clients},
            "evaluation": {"every": ROUNDS, "clients": PANEL, "splits": ["valid"]},
        },
        "bench_cross_device",
    )


def measure(place: Path) -> dict:
    """One run; to be called in a process of its own, as peak memory is the process's."""
    from evenkeel.runs import execute, parts

    federation, busy = open_store(place), busy_cores()
    spec = spec_of(federation.n, place)
    task = parts.task_of(spec, federation)
    engine, clock = Timed(parts.transport_of(spec, task, federation)), Clock()
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        run = execute(spec, Path(folder) / "run", federation=federation, task=task, transport=engine, observer=clock)
        wall = time.perf_counter() - begun
        rounds = run.rounds[WARM_UP:ROUNDS]
        disk = sum(f.stat().st_size for f in run.folder.rglob("*") if f.is_file())
        stale = int(run.rounds["stale_max"][ROUNDS - 1] or 0)
    seconds = float(rounds["seconds"].median())
    clients, cpu = (
        sum(float(np.median(held[p][WARM_UP:])) for p in ("probe", "gradient", "local"))
        for held in (engine.spent, engine.cpu)
    )
    return {
        "clients": federation.n,
        "cohort": min(COHORT, federation.n),
        "d": task.d,
        "round_s": seconds,
        "clients_s": clients,
        "share": clients / seconds,
        "rest_s": seconds - clients,
        "cpu_s": clock.middle(clock.cpu),
        "cpu_share": cpu / clock.middle(clock.cpu),
        "whole_s": clock.middle(clock.wall),
        "wall_s": wall,
        "panel_s": float(np.median(engine.spent["score"])),
        "own_gib": max(clock.own) / 2**20,  # without the store's mapped pages, which the system takes back at will
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "folder_mib": disk / 2**20,
        "store_gib": sum(f.stat().st_size for f in place.iterdir()) / 2**30,
        "stale_max": stale,
        "busy_before": busy,
    }


def apart(place: Path, *, cold: bool = False) -> dict:
    """`measure` in a new process; `cold` drops the store's pages from the system's cache before."""
    if cold:
        for file in place.iterdir():
            with file.open("rb") as held:
                os.posix_fadvise(held.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    words = [sys.executable, __file__, "--measure", str(place)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def show(found: list[dict]) -> None:
    """One line a number of clients, and how busy the machine was."""
    columns = {"clients": 9, "cohort": 8, "round_s": 9, "clients_s": 10, "share": 7, "rest_s": 8, "cpu_s": 8}
    columns |= {"cpu_share": 10, "panel_s": 9, "own_gib": 9, "peak_gib": 9, "folder_mib": 11, "store_gib": 10}
    print("".join(f"{name:>{width}}" for name, width in columns.items()))
    for row in found:
        cells = (f"{row[c]:,}" if isinstance(row[c], int) else f"{row[c]:.3f}" for c in columns)
        print("".join(f"{cell:>{w}}" for cell, w in zip(cells, columns.values(), strict=True)), flush=True)


def save(found: list[dict], docs: Path) -> None:
    """The table as CSV, which `bench_cluster --page` puts into the docs, and a picture of it."""
    import altair as alt
    import polars as pl
    import vl_convert

    for folder in ("benchmarks", "images"):
        (docs / folder).mkdir(parents=True, exist_ok=True)
    table = pl.DataFrame(found)
    table.write_csv(docs / "benchmarks" / "clients.csv", float_precision=4)
    x = alt.X(
        "clients:Q",
        scale=alt.Scale(type="log"),
        title="registered clients",
        axis=alt.Axis(format="~s", values=list(CLIENTS)),
    )
    parts = {"clients_s": "answering clients", "rest_s": "all else"}
    long = table.rename(parts).unpivot(
        list(parts.values()), index="clients", variable_name="part", value_name="seconds"
    )
    times = (
        alt.Chart(alt.Data(values=long.to_dicts()))
        .mark_line(point=True)
        .encode(x=x, y=alt.Y("seconds:Q", title="seconds a round"), color=alt.Color("part:N", title=None))
    )
    kinds = {"own_gib": "its own", "peak_gib": "with mapped pages of the store"}
    held = table.rename(kinds).unpivot(list(kinds.values()), index="clients", variable_name="of it", value_name="gib")
    y = alt.Y("gib:Q", title="peak memory, GiB", scale=alt.Scale(domain=[0, MOST_GIB]))
    memory = alt.Chart(alt.Data(values=held.to_dicts())).mark_line(point=True)
    peak = memory.encode(x=x, y=y, color=alt.Color("of it:N", title=None))
    both = (times.properties(width=300, height=200) | peak.properties(width=300, height=200)).resolve_scale(
        color="independent"
    )
    (docs / "images" / "scale-clients.svg").write_text(vl_convert.vegalite_to_svg(both.to_json()), "utf-8")


@pytest.mark.parametrize("clients", [1_000_000])
def test_a_million_clients(clients, tmp_path):
    """Peak memory of a run and the share of a round that is spent answering clients."""
    place, writing = store(Path(os.environ.get("EVENKEEL_STORES", tmp_path)), clients)
    found = apart(place)
    print(f"\nwritten in {writing:.0f} s")
    show([found])
    assert found["peak_gib"] <= MOST_GIB
    assert found["share"] >= LEAST_SHARE


def main() -> None:
    """Read the arguments, measure each number of clients, print a table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments.add_argument("--stores", type=Path, default=Path(tempfile.gettempdir()) / "evenkeel-stores")
    arguments.add_argument("--clients", type=int, nargs="+", default=list(CLIENTS))
    arguments.add_argument("--cold", action="store_true")
    arguments.add_argument("--only-write", action="store_true")
    arguments.add_argument("--save", action="store_true", help="into docs/benchmarks and docs/images")
    given = arguments.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure)))
        return
    places = {clients: store(given.stores, clients) for clients in given.clients}
    for clients, (_, seconds) in places.items():
        if seconds:
            print(f"store of {clients:,} clients written in {seconds:.1f} s")
    if given.only_write:
        return
    found = []
    for place, _ in places.values():
        found.append(apart(place, cold=given.cold))
        show(found[-1:])
    if given.save:
        save(found, Path(__file__).parents[1] / "docs")


if __name__ == "__main__":
    main()
