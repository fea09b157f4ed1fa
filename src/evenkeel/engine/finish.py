"""The end of Algorithm 2 for a chunk: Δ_i = (θ − u_i)/(η·divisor), its norm, the steps taken and the snapshot."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.clients import Local
from evenkeel.engine.asked import Ids
from evenkeel.engine.chunks import Chunk, Results
from evenkeel.engine.rowspace import RowSpace


def norm2(rows: Tensor) -> NDArray[np.float64]:
    """‖row‖² of each row.

    >>> norm2(torch.tensor([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [25.0, 1.0]
    """
    squares: NDArray[np.float64] = torch.linalg.vector_norm(rows, dim=1).double().square().cpu().numpy()
    return squares


@dataclass(slots=True, kw_only=True)
class Finish:
    """Collects what local steps leave behind; one object a chunk, seen by one worker."""

    steps: Ids
    cfg: Local
    snapshot: Tensor | None = None

    def wants(self, j: int) -> bool:
        """Whether u after step j is needed: at the snapshot and at the end."""
        return j in {self.cfg.snapshot, int(self.steps.max()) - 1}

    def keep(self, j: int, u: Tensor) -> None:
        """Copy u where step j is the one asked for; clients that ended earlier have stopped moving by then."""
        if self.cfg.snapshot >= 0 and j == min(self.cfg.snapshot, int(self.steps.max()) - 1):
            self.snapshot = u.clone()

    def results(self, chunk: Chunk, theta: Tensor, u: Tensor, first: RowSpace | None = None) -> Results:
        """The replies; u becomes Δ in place. With `first` the first layer is there and not in u."""
        divisor = self.steps if self.cfg.divisor == 0 else np.full(len(self.steps), self.cfg.divisor)
        scale = -1 / (self.cfg.eta * divisor)
        rows = u.sub_(theta[theta.numel() - u.shape[1] :])
        squares, delta = norm2(rows), chunk.total(rows, torch.from_numpy(scale))
        if first is not None and chunk.weights is not None:
            after = first.after(self.steps)
            squares += after.norm2(theta).double().cpu().numpy()
            delta = torch.cat([after.moved(theta, chunk.weights * torch.from_numpy(scale)), delta])
        vectors = {"delta": delta}
        if self.snapshot is not None:
            vectors["snapshot"] = chunk.total(self.snapshot)
        return Results({"norm2": squares * scale**2, "steps": self.steps.astype(np.float64)}, vectors)
