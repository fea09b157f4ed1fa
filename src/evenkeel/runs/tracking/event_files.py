"""TensorBoard event files in DIR/tensorboard, written by TensorBoard's own writer: `tensorboard --logdir runs`."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from evenkeel.runs.spec import Spec
from evenkeel.runs.tables import STEP
from evenkeel.runs.tracking import Row, numbers

FOLDER = "tensorboard"
_FLUSH = 5  # seconds until a round shows


class Tracker:
    """One scalar a column: `indices/R`, `rounds/lam_min`, …; the spec as text."""

    writer: SummaryWriter | None = None

    def open(self, spec: Spec, folder: Path, rows: Sequence[Row]) -> None:
        """Files are written anew from the run's own rounds: a killed writer leaves half a record behind."""
        place = folder / FOLDER
        shutil.rmtree(place, ignore_errors=True)
        self.writer = SummaryWriter(str(place), flush_secs=_FLUSH)
        toml = "\n".join(f"    {line}" for line in spec.to_toml().splitlines())  # indented: Markdown shows it as it is
        self.writer.add_text("spec", toml)
        for row in rows:
            self.row(row)

    def row(self, row: Row) -> None:
        """Every number of the row."""
        if self.writer is None:
            return
        for name, value in numbers(row).items():
            self.writer.add_scalar(f"{'rounds' if name in STEP else 'indices'}/{name}", value, row["round"])

    def close(self, outcome: str) -> None:
        """Write what is left."""
        if self.writer is not None:
            self.writer.close()
