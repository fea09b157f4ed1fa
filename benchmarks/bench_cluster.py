"""Rounds on a Ray cluster: one against two workers, what Ray costs, bytes, growth, and a model for more workers.

    python benchmarks/bench_cluster.py --parts turns                       # against the engine, each taking turns
    python benchmarks/bench_cluster.py --parts growth ray bytes            # what the model is fitted to, and bytes
    python benchmarks/bench_cluster.py --parts --chart docs/images --page docs/scale.md     # measures nothing

Each part is measured in a process of its own and kept in `--record` (JSON), so that they need not be measured at once.
`turns` are 160 rows a client, 784-50-10 with dropout, the paper's work (5 epochs, batch 64) and light work (5 steps of
32); all else is light work. A busy machine is marked: its seconds are too long, and its ratios are noisy.
"""

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

import cluster_rounds as rounds
import cluster_told
from idle import busy_cores

PARAMETERS = (10_000, 100_000, 1_000_000, 10_000_000)
WORKERS = (1, 2, 4, 8)
HERE = Path(__file__).parent
RECORD = HERE.parent / "docs" / "benchmarks" / "cluster.json"
TURNS = (("paper", 100, 40_000), ("paper", 1_000, 40_000), ("light", 1_000, 40_000), ("light", 50, 1_000_000))


def turns(many: int) -> list[dict]:
    """Engine and cluster in turns, so many rounds each."""
    works = {"paper": rounds.PAPER, "light": rounds.LIGHT}
    return [{"work": w} | rounds.transports(n, d, works[w], many) for w, n, d in TURNS]


def growth(many: int) -> list[dict]:
    """One engine thread with more clients and with more parameters, each in a process of its own for its memory."""
    wanted = [(n, 40_000) for n in (100, 1_000, 10_000)] + [(10, d) for d in PARAMETERS]
    return [alone("grown", n, d, 3 if n > 1_000 else many) for n, d in wanted]


def ray(many: int) -> list[dict]:
    """Workers that compute nothing."""
    found = []
    for d in PARAMETERS:
        with rounds.link.opened(None, max(WORKERS), 2**31):
            found += [rounds.echoed(w, d, many) for w in WORKERS]
    return found


def bytes_(many: int) -> dict:
    """Payload bytes by count and formula; bytes between two nodes."""
    counted = [rounds.moved(*of, rounds=many) for of in ((100, 40_000, 2), (1_000, 40_000, 2), (100, 1_000_000, 2))]
    return {"payload": counted, "wire": [rounds.wired(100, d, many) for d in (40_000, 1_000_000)]}


PARTS = {"turns": turns, "growth": growth, "ray": ray, "bytes": bytes_}


def alone(name: str, *given) -> dict:
    """A part, or a function of `cluster_rounds`, in a process of its own."""
    words = [sys.executable, __file__, "--alone", name, *map(str, given)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def here(name: str, given: list[str]) -> object:
    """What `alone` asked for."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if name in PARTS:
        return {"busy_before": busy_cores(), "found": PARTS[name](int(given[0]))}
    n, d, many = map(int, given)
    return rounds.grown(n, d, rounds.LIGHT, many)


def kept(record: Path) -> dict:
    """What was measured before, by part."""
    return json.loads(record.read_text("utf-8")) if record.exists() else {}


@pytest.mark.parametrize("clients", [200])
def test_a_round_on_one_and_two_workers(clients):
    """Prints the ratio; demanded is that all transports come to the same θ, and that bytes are those of the formula."""
    found = rounds.transports(clients, 40_000, rounds.PAPER, 5)
    load = {"busy_before": busy_cores()}
    print("\n" + "\n".join(cluster_told.turns({"turns": load | {"found": [{"work": "paper"} | found]}})))
    assert found["theta_apart"] < 1e-6
    counted = rounds.moved(clients, 40_000, 2, rounds=2)
    assert counted["counted"] == counted["formula"]


def main() -> None:
    """Measure the parts asked for, keep them beside those that are there, print all."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    arguments.add_argument("--rounds", type=int, default=9, help="that count, after two of warm-up")
    arguments.add_argument("--record", type=Path, default=RECORD)
    arguments.add_argument("--chart", type=Path, help="draw the model into this folder")
    arguments.add_argument("--page", type=Path, help="put the tables between the marks of this page")
    arguments.add_argument("--alone", nargs="+", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.alone:
        print(json.dumps(here(given.alone[0], given.alone[1:])))
        return
    record = kept(given.record)
    for part in given.parts:
        print(part, file=sys.stderr, flush=True)
        found = alone(part, given.rounds)
        record = kept(given.record) | {part: found}
        given.record.parent.mkdir(parents=True, exist_ok=True)
        given.record.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    told = cluster_told.parts(record, given.record.with_name("clients.csv"))
    for name, lines in told.items():
        print(f"\n{name}\n" + "\n".join(lines))
    if given.page:
        given.page.write_text(cluster_told.put(given.page.read_text("utf-8"), told), "utf-8")
    if given.chart:
        from cluster_chart import draw

        draw(record, given.chart)


if __name__ == "__main__":
    main()
