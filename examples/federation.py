"""A federation on one machine: three sites, each with a key and processes of its own, over TLS on 127.0.0.1.

The same spec is then run in this process, over the same rows, and compared: the network changes no bit of the model.
Needs Flower: pip install "evenkeel[federate]". The same with commands: evenkeel federate new DIR, then
evenkeel federate up DIR --local 3. Run: python examples/federation.py
"""

import argparse
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import torch

import evenkeel
from evenkeel.runs import execute, federation_of


def federate(*words: str | Path) -> None:
    """One command of `evenkeel federate`, as a user gives it."""
    subprocess.run([sys.executable, "-m", "evenkeel", "federate", *map(str, words)], check=True)  # noqa: S603 - ours


def here(app: Path, spec: evenkeel.Spec, folder: Path) -> evenkeel.Run:
    """The spec without a network: the plain loop over all sites' rows, with the model of the app."""
    found = importlib.util.spec_from_file_location("task", app / "task.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    torch.set_num_threads(1)  # as the sites compute: other sums have other last digits
    rows = federation_of(spec)
    task = module.task(spec, tuple(rows.x.shape[1:]), rows.classes)
    return execute(spec.replace("engine.transport", "loop"), folder, federation=rows, task=task)


def main(sites: int, rounds: int, out: Path) -> tuple[evenkeel.Run, evenkeel.Run]:
    """Set up, train over the network, train here, compare."""
    federate("new", out / "hospitals")
    federate("up", out / "hospitals", "--local", sites, "--set", f"rounds={rounds}", "--out", out / "run")
    run = evenkeel.Run.open(out / "run")
    alone = here(out / "hospitals" / "app", run.spec, out / "alone")
    happened = [json.loads(line) for line in (out / "run" / "federation.jsonl").read_text().splitlines()]
    print(f"{len(happened)} things happened on the way, from {happened[0]['event']!r} to {happened[-1]['event']!r}")
    audit = run.audit(draws=0)
    print(f"{audit.n} sites: R {audit.R:.3f}, mean loss {audit.mean:.3f}, weights {run.lam.round(3).tolist()}")
    print(f"the same model as without a network, bit for bit: {torch.equal(run.theta, alone.theta)}")
    return run, alone


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sites", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("runs/federation"))
    asked = parser.parse_args()
    main(asked.sites, asked.rounds, asked.out)
