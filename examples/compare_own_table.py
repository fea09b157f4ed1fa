"""Compare algorithms on your own table, under several seeds: means, paired differences, and tables for a paper.

The table (patients of eight hospitals, synthetic) is written as CSV, each algorithm is a spec. The same with files:
evenkeel compare fedavg.toml scaff-pd-ia.toml --seeds 5. Run: python examples/compare_own_table.py
"""

import argparse
from pathlib import Path

from hospitals import patients

from evenkeel import Spec
from evenkeel.runs.compare import compare
from evenkeel.runs.exports import markdown
from evenkeel.runs.paired import Seeded

ALGORITHMS = {
    "fedavg": {"name": "fedavg", "eta": 0.05},
    "scaff-pd-ia": {"name": "scaff-pd-ia", "alpha": 0.25, "phi": 0.2, "eta": 0.05, "tau": 0.5, "sigma": 0.05},
}


def specs(table: Path, rounds: int) -> dict[str, Spec]:
    """One spec an algorithm, all else the same."""
    shared = {
        "rounds": rounds,
        "data": {
            "source": "table",
            "table": str(table),
            "client": "hospital",
            "target": "readmitted",
            "standardize": True,
        },
        "task": {"model": "logistic"},
        "work": {"batch": 32, "epochs": 1},
        "evaluation": {"every": rounds, "alpha": 0.25, "beta": 0.25},
    }
    return {name: Spec.of(shared | {"name": name, "algorithm": how}) for name, how in ALGORITHMS.items()}


def main(rows: int, rounds: int, seeds: int, out: Path) -> Seeded:
    """Write the table, run everything on all cores, print the result."""
    out.mkdir(parents=True, exist_ok=True)
    table = out.resolve() / "patients.csv"
    patients(rows).write_csv(table)
    held = specs(table, rounds)
    for name, spec in held.items():
        (out / f"{name}.toml").write_text(spec.to_toml(), "utf-8")
    found, _ = compare(held, range(seeds), out)
    print(markdown(found))
    for index in ("R", "mean"):
        gap = found.gap("scaff-pd-ia", index)
        print(f"{index}: scaff-pd-ia minus fedavg {gap.mean:+.4f}, interval {gap.low:+.4f} to {gap.high:+.4f}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("runs/compare-own-table"))
    asked = parser.parse_args()
    main(asked.rows, asked.rounds, asked.seeds, asked.out)
