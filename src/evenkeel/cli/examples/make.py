"""Write `synthetic_clinics.csv`: an invented table of two training runs over the same 100 clinics, from a stated seed.

Each clinic has a difficulty, larger where there are few patients and on the islands. The first run («averaging») passes
the difficulty on in full. The second («relative») is what relative-fairness training aims at: the hard clinics gain
much, the easy ones lose a little. Run it as `python -m evenkeel.cli.examples.make`.
"""

import csv
import io

import numpy as np
from numpy.typing import NDArray

from evenkeel.cli.examples import SYNTHETIC
from evenkeel.draws import generator

SEED = 20
REGIONS = {"coast": 0.0, "hills": 0.1, "islands": 0.7, "plain": -0.1}  # how much harder than elsewhere, in log loss
HEADER = ("run", "client", "region", "size", "loss", "accuracy")


def table(clinics: int = 100) -> str:
    """The table as CSV text; the same seed gives the same text.

    >>> table().splitlines()[:2]
    ['run,client,region,size,loss,accuracy', 'averaging,clinic 001,coast,160,0.6526,0.7686']
    """
    rng = generator(SEED, "clinics")
    regions = np.array(list(REGIONS))[np.arange(clinics) * len(REGIONS) // clinics]
    size = np.maximum(20, np.exp(rng.normal(5.3, 0.7, clinics))).astype(np.int64)
    harder = np.array([REGIONS[r] for r in regions]) + 0.25 * (5.3 - np.log(size)) + rng.normal(0, 0.3, clinics)
    out = io.StringIO(newline="")
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(HEADER)
    for run, level, slope in (("averaging", 0.42, 1.0), ("relative", 0.5, 0.55)):
        loss = level * np.exp(slope * harder + rng.normal(0, 0.05, clinics))
        for i, share in enumerate(accuracy(loss, rng)):
            name = f"clinic {i + 1:03d}"
            lines.writerow([run, name, regions[i], size[i], f"{loss[i]:.4f}", f"{share:.4f}"])
    return out.getvalue()


def accuracy(loss: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """A share right that falls as the loss rises: 1 − 0.35·loss and a little noise, within [0, 1].

    >>> accuracy(np.array([0.0, 9.0]), np.random.default_rng(0)).round(1).tolist()
    [1.0, 0.0]
    """
    return np.clip(1 - 0.35 * loss + rng.normal(0, 0.01, len(loss)), 0, 1)


if __name__ == "__main__":
    SYNTHETIC.write_text(table(), encoding="utf-8", newline="\n")
