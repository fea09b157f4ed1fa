"""Which phi? The run with phi = 0 and its curvature choose one; runs at other values say how good the choice was.

`phi = "auto"` does the same in a spec, `evenkeel phi RUN --check 0,0.2,0.4` at the command line.
Run: python examples/choose_phi.py
"""

import argparse
from pathlib import Path

from hospitals import patients

import evenkeel


def main(rows: int, rounds: int, others: list[float], out: Path) -> dict[float, float]:
    """Train at the chosen phi and at the others; the negative utility u = worst/√best of training losses."""
    table = patients(rows)
    data = evenkeel.Federation.from_frame(table, client="hospital", target="readmitted", standardize=True)
    settings = {"work.batch": 0, "work.epochs": 1, "work.control_batch": 0, "evaluation.splits": ["train", "valid"]}
    steps = {"alpha": 0.25, "tau": 2.0, "eta": 0.5, "sigma": 0.1}
    found = {}
    for k, phi in enumerate(["auto", *others]):
        place = out / (f"phi-{phi}" if k else "chosen")
        run = evenkeel.train(
            "logistic", data, "scaff-pd-ia", phi=phi, **steps, rounds=rounds, settings=settings, out=place
        )
        a = run.audit(split="train", alpha=0.25, beta=0.25, draws=0)
        value = float(run.spec.get("algorithm.phi"))
        best = a.absolute / a.R  # mean loss of the best-off quarter
        found[value] = a.absolute / best**0.5
        what = "others" if k else "chosen"
        print(f"{what}: phi {value:.3f}   worst quarter {a.absolute:.4f}   R {a.R:.3f}   utility {found[value]:.4f}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--others", type=float, nargs="*", default=[0.0, 0.1, 0.2, 0.4, 0.6])
    parser.add_argument("--out", type=Path, default=Path("runs/choose-phi"))
    asked = parser.parse_args()
    main(asked.rows, asked.rounds, asked.others, asked.out)
