"""Audit a federation that somebody else trained: all it takes is a CSV with a loss for each client.

The table is synthetic, made here: two models over sixty branches of a library, the second better for the worst-off.
`evenkeel audit losses.csv --compare model` says the same at the command line. Run: python examples/audit_csv.py
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from evenkeel import indices


def write(file: Path, clients: int, seed: int = 0) -> None:
    """One row a branch and model: columns client, loss, size, model."""
    rng = np.random.default_rng(seed)
    base = rng.gamma(4.0, 0.1, clients)
    size = rng.integers(20, 400, clients)
    mild = base + 0.35 * (base.mean() - base) + 0.02  # the spread shrinks, the mean rises a little
    names = [f"branch-{k:02d}" for k in range(clients)]
    parts = [
        pl.DataFrame({"client": names, "loss": loss, "size": size, "model": [model] * clients})
        for model, loss in (("plain", base), ("even", mild))
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    pl.concat(parts).write_csv(file)


def main(clients: int, out: Path) -> indices.Comparison:
    """Write the table, audit each model in it, and compare the two client by client."""
    file = out / "losses.csv"
    write(file, clients)
    tables = {}
    for (model,), rows in pl.read_csv(file).group_by("model", maintain_order=True):
        tables[str(model)] = indices.LossTable.of(
            client=rows["client"].to_list(),
            loss=rows["loss"].to_numpy(),
            size=rows["size"].to_numpy(),
            population="synthetic branches",
            split="valid",
        )
    for model, table in tables.items():
        a = indices.audit(table)
        low, high = a.intervals["R"]
        print(f"{model:<6} R {a.R:.2f} ({low:.2f} to {high:.2f})   mean {a.mean:.3f}   worst off: {a.worst_off[0][0]}")
    compared = indices.compare(tables)
    for index in ("R", "mean"):
        value, low, high = compared.differences["even"][index][:3]
        print(f"{index}: even minus plain {value:+.3f}, interval {low:+.3f} to {high:+.3f}")
    print(f"written to {file}; try: evenkeel audit {file} --compare model")
    return compared


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--clients", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("runs/audit-csv"))
    asked = parser.parse_args()
    main(asked.clients, asked.out)
