"""Workload W on evenkeel and on its peers, side by side in one run on the same rows: seconds a round, and ratios.

    python benchmarks/peers/run.py                              # 100 and 1,000 clients, about ten minutes when quiet
    python benchmarks/peers/run.py --clients 10 --rounds 3      # a quick look at whether all of them work
    python benchmarks/peers/run.py --only evenkeel plain --save # some; --save writes docs/benchmarks/peers.{json,md}

Each contestant is a process of its own. Our own and the plain loops run before and after the frameworks, and their
rounds are pooled: how far the two halves differ is printed as drift. It exits with 1 if a contestant did other work
than the rest (its first loss must be everyone's, its last that of the plain loop).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import workload
from contestants import FRAMEWORKS, HOUSE, LOOP
from environments import ENVIRONMENTS, build, versions

from report import conditions, others, save, show

HERE = Path(__file__).parent
WARM_UP = 2


def run(contestant, python, *, rows, clients, rounds, limit):
    """One process of a contestant: its JSON line, or why there is none."""
    script = HERE / f"peer_{contestant.script}.py"
    command = [str(python), str(script), "--rows", str(rows), "--clients", str(clients)]
    command += ["--rounds", str(rounds + WARM_UP), "--variant", contestant.variant]
    before = others()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ENVIRONMENTS, start_new_session=True
    ) as process:
        try:
            out, error = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return {"failure": f"no answer in {limit:.0f} s"}
        finally:  # also when we are stopped: a peer may have started processes of its own
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    lines = [line for line in out.splitlines() if line.startswith('{"seconds"')]
    if process.returncode or not lines:
        return {"failure": (error.strip().splitlines() or ["no output"])[-1][:200]}
    answer = json.loads(lines[-1])
    return answer | {"seconds": answer["seconds"][WARM_UP:], "others": before}


def pooled(first, second):
    """The rounds of two runs of one contestant, and how much slower the second was."""
    if "failure" in first or "failure" in second:
        return first if "failure" in first else second
    middle = [sorted(half["seconds"])[len(half["seconds"]) // 2] for half in (first, second)]
    both = {"seconds": first["seconds"] + second["seconds"], "others": max(first["others"], second["others"])}
    return first | both | {"drift": middle[1] / middle[0]}


def wrong(result, reference, clients, *, same):
    """Why this is not workload W, or nothing."""
    if "failure" in result or "failure" in reference:
        return ""
    losses, right = result["losses"], reference["losses"]
    if result["clients"] != [clients]:
        return f"evaluated {result['clients']} clients"
    if abs(losses[0] - right[0]) > 1e-4:
        return f"first loss {losses[0]:.5f}, not {right[0]:.5f}"
    fall, expected = losses[0] - losses[-1], right[0] - right[-1]
    if fall <= 0 or (same and abs(fall - expected) > 0.1 * expected):
        return f"loss fell by {fall:.4f}, not {expected:.4f}"
    return ""


def measure(chosen, pythons, rows, clients, given):
    """All contestants with so many clients: house, frameworks, house again."""
    results = {}
    for contestant in [c for c in HOUSE + FRAMEWORKS + HOUSE if c in chosen]:
        built = pythons[contestant.environment]
        if built.python is None:
            results[contestant.name] = {"failure": built.failure}
            continue
        print(f"  {clients} clients: {contestant.name} …", file=sys.stderr, flush=True)
        result = run(contestant, built.python, rows=rows, clients=clients, rounds=given.rounds, limit=given.limit)
        earlier = results.get(contestant.name)
        results[contestant.name] = result if earlier is None else pooled(earlier, result)
    for contestant in chosen:
        result = results[contestant.name]
        result["wrong"] = wrong(result, results.get(LOOP, result), clients, same=contestant.same)
    return results


def read_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--rounds", type=int, default=7, help=f"rounds that count, after {WARM_UP} of warm-up")
    parser.add_argument("--only", nargs="+", default=[], help="scripts: evenkeel plain flower fedlab flgo pfl fedjax")
    parser.add_argument("--limit", type=float, default=900, help="seconds that a contestant may take")
    parser.add_argument("--build-limit", type=float, default=600, help="seconds that an environment may take")
    parser.add_argument("--save", action="store_true", help="write docs/benchmarks/peers.json and .md")
    return parser.parse_args()


def main():
    """Build, measure, print."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    given = read_arguments()
    known = {c.script for c in HOUSE + FRAMEWORKS}
    if unknown := set(given.only) - known:
        raise SystemExit(f"--only {' '.join(sorted(unknown))}: must be among {' '.join(sorted(known))}")
    chosen = [c for c in HOUSE + FRAMEWORKS if not given.only or c.script in given.only]
    pythons = {e: build(e, given.build_limit) for e in dict.fromkeys(c.environment for c in chosen)}
    rows = ENVIRONMENTS / f"rows-{max(given.clients)}"
    workload.write(rows, max(given.clients))
    start = conditions()
    results = {n: measure(chosen, pythons, rows, n, given) for n in given.clients}
    packages = {
        c.name: versions(pythons[c.environment].python, c.packages) for c in chosen if pythons[c.environment].python
    }
    record = {"start": start, "end": conditions(), "rounds": given.rounds, "versions": packages, "results": results}
    show(record)
    if given.save:
        save(record, chosen, HERE.parents[1] / "docs" / "benchmarks")
    raise SystemExit(any(r["wrong"] for table in results.values() for r in table.values()))


if __name__ == "__main__":
    main()
