"""Your own table: one row a patient, a column that names the hospital. The table is synthetic, made here.

Eight hospitals predict readmission with one linear model. In two small ones more patients come back and age counts the
other way, so that the mean over all serves them badly. What evens the hospitals out costs the large ones something: the
example prints both sides. Run: python examples/hospitals.py
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

import evenkeel


def patients(rows: int, seed: int = 0) -> pl.DataFrame:
    """A synthetic table of about `rows` patients."""
    rng = np.random.default_rng(seed)
    share = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.07, 0.05, 0.03])
    hospital = rng.choice(len(share), size=rows, p=share)
    hospital[: 4 * len(share)] = np.tile(np.arange(len(share)), 4)  # everyone has a few patients
    age, stays = rng.normal(60, 15, rows), rng.poisson(1.5, rows)
    ward = rng.choice(["surgery", "medicine", "cardiology"], size=rows)
    small = hospital >= 6
    score = np.where(small, 1.5 - (age - 60) / 30, (age - 60) / 10) + 0.5 * (stays - 1.5) + 0.4 * (ward == "cardiology")
    readmitted = rng.random(rows) < 1 / (1 + np.exp(-score))
    names = np.array(list("ABCDEFGH"))[hospital]
    columns = {"hospital": names, "age": age, "stays": stays, "ward": ward}
    return pl.DataFrame({**columns, "readmitted": readmitted.astype(int)})


def main(rows: int, rounds: int, out: Path) -> list[evenkeel.Run]:
    """Train both ways and print what each hospital gets."""
    table = patients(rows)
    data = evenkeel.Federation.from_frame(table, client="hospital", target="readmitted", standardize=True)
    settings = {"work.batch": 32, "work.epochs": 1}
    steps = {"tau": 0.5, "eta": 0.05, "sigma": 0.05}
    runs = [
        evenkeel.train("logistic", data, "fedavg", eta=0.05, rounds=rounds, settings=settings, out=out / "fedavg"),
        evenkeel.train(
            "logistic",
            data,
            "scaff-pd-ia",
            alpha=0.25,
            phi=0.2,
            **steps,
            rounds=rounds,
            settings=settings,
            out=out / "ia",
        ),
    ]
    for run in runs:
        a = run.audit()
        print(
            f"{run.name:<12} mean loss {a.mean:.3f}   worst quarter {a.absolute:.3f}   R {a.R:.2f}   Gini {a.gini:.3f}"
        )
    last = [run.losses().loss for run in runs]
    print(pl.DataFrame({"hospital": data.names, "fedavg": last[0], "scaff-pd-ia": last[1], "weight": runs[1].lam}))
    return runs


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("runs/hospitals"))
    asked = parser.parse_args()
    main(asked.rows, asked.rounds, asked.out)
