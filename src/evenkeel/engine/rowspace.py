"""The first layer by rows: for clients whose rows are few beside the work on them.

Every gradient of the first layer is slope·xᵀ over the client's own rows, so after any number of steps
W = ρʲ·W(θ) − η·t_j·shift − η·S·X, with S (units, rows) the sum of the slopes so far. The correction is itself by
rows, shift = base − S_c·X, where all clients share base = c − l2·θ and S_c are the slopes of c_i. So a step needs no
product with the inputs, only with their Gram matrix K = X·Xᵀ + 1 (the 1 is the bias), which is the same in every round:
W·x + b = ρʲ·(W·x + b)(θ) − η·t_j·(shift·x) − η·S·K, and S·K grows with S. A weighted sum over clients needs no client's
W: Σ w_i S_i·X_i adds up in one matrix. So X is used twice a round, not twice a step, and nobody's weights are written.
ρ = 1 − η·l2, t_j = 1 + ρ + … + ρ^{j−1}.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenkeel.engine.asked import Ids
from evenkeel.engine.kept import Kept
from evenkeel.engine.layers import Layer
from evenkeel.engine.slopes import Grams, Slopes, joined

_SLOW = 2  # products with K count so often, as K streams from memory, and so do those with stacked weights
EXPECTED = 5  # local steps that a control gradient is taken to prepare for: it is not told


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What decides between weights and rows: the sizes of a chunk's first layer, of its largest client, and its steps.

    >>> few = Work(rows=160, inputs=784, units=50, batch=32, steps=5, shifted=True, known=True, grams=0.0)
    >>> from dataclasses import replace
    >>> few.cheaper_in_rows(), replace(few, steps=2).cheaper_in_rows(), replace(few, rows=5000).cheaper_in_rows()
    (True, False, False)
    """

    rows: int
    inputs: int
    units: int
    batch: int
    steps: int
    shifted: bool
    known: bool  # the products at θ are there already
    grams: float  # the share of its Gram matrix that a client is charged with

    def cheaper_in_rows(self) -> bool:
        """Whether a client's products take less time."""
        passes = self.rows * self.inputs * self.units * (1 + self.shifted + (not self.known))
        inner = _SLOW * self.steps * self.batch * self.rows * self.units
        norm = self.rows**2 * self.units
        outer = self.grams * self.rows**2 * self.inputs
        return passes + inner + norm + outer < _SLOW * self.steps * 2 * self.batch * self.inputs * self.units


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSpace:
    """The state of one chunk's first layer during its local steps; S and S·K change in place."""

    layer: Layer
    eta: float
    decay: float  # ρ
    x: list[Tensor]  # (rows, in) of each client
    grams: Grams
    kept: Kept
    start: Tensor | None  # (clients, units, rows): W·x + b at θ, where it is not kept
    base: Tensor | None  # (1 or clients, last)
    own: Slopes | None  # S_c, where shift is not all in base
    drift: Tensor | None  # (clients, units, rows): shift·x
    slopes: Tensor  # (clients, units, rows): S
    products: Tensor  # (clients, units, rows): S·K

    def outputs(self, j: int, places: Tensor) -> Tensor:
        """W·x + b of step j for these places (clients, slots), as (clients, units, slots)."""
        z = self._start(places)
        if not j:
            return z
        if self.decay != 1:
            z = z * self.decay**j
        if self.drift is not None:
            z = z.sub(self.grams.at(self.drift, places), alpha=self.eta * float(grown(self.decay, j)))
        return self.grams.at(self.products, places).mul_(-self.eta).add_(z)

    def _start(self, places: Tensor) -> Tensor:
        known = self.kept.columns_at(places)
        if known is not None:
            return known
        if self.start is None:
            raise ValueError("no products at θ: neither kept nor made")
        return self.grams.at(self.start, places)

    def add(self, places: Tensor, slope: Tensor) -> None:
        """S ← ρ·S + the slopes of this step's rows, and S·K with it."""
        sums, products = self.slopes[: len(places)], self.products[: len(places)]
        if self.decay != 1:
            sums.mul_(self.decay)
        self.grams.add(sums, places, slope)
        products.baddbmm_(slope, self.grams.rows(places), beta=self.decay)

    def after(self, taken: Ids) -> "After":
        """Where each client stands after so many steps."""
        like = self.slopes
        decay, t = (torch.from_numpy(x).to(like) for x in (self.decay**taken, grown(self.decay, taken)))
        if self.own is None:
            return After(space=self, decay=decay, t=t, slopes=self.slopes)
        slopes = self.slopes.clone()
        self.grams.add(slopes, self.own.places, self.own.slopes * -t[:, None, None])
        return After(space=self, decay=decay, t=t, slopes=slopes)


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """The first layer after some steps: ρᵗ·W(θ) − η·t·base − η·S·X, with those of c_i in S."""

    space: RowSpace
    decay: Tensor  # (clients,): ρᵗ
    t: Tensor  # (clients,)
    slopes: Tensor  # (clients, units, rows): S

    def write(self, u: Tensor, theta: Tensor) -> None:
        """The parameters of each client, into u."""
        space, place = self.space, self.space.layer.weight
        first = torch.mul(theta[: space.layer.last], self.decay[:, None], out=u[:, : space.layer.last])
        if space.base is not None:
            first.addcmul_(space.base, self.t[:, None], value=-space.eta)
        weight = u[:, place.first : place.last].view(len(u), *place.shape)
        for w, s, x in zip(weight, self.slopes, space.x, strict=True):
            w.addmm_(s[:, : x.shape[0]], x, alpha=-space.eta)
        if space.layer.bias is not None:
            u[:, space.layer.bias.first : space.layer.last].sub_(self.slopes.sum(2), alpha=space.eta)

    def moved(self, theta: Tensor, weights: Tensor) -> Tensor:
        """Σ w_i·(u_i − θ), without any u_i."""
        space, w = self.space, weights.to(theta) * -self.space.eta
        total = theta.new_zeros(space.layer.weight.shape)
        for share, s, x in zip((weights * -space.eta).tolist(), self.slopes, space.x, strict=True):
            total.addmm_(s[:, : x.shape[0]], x, alpha=share)
        whole = joined(space.layer, total, w @ self.slopes.sum(2))
        if space.decay != 1:
            whole.add_(theta[: space.layer.last] * ((self.decay - 1) * w).sum() / -space.eta)
        if space.base is not None:
            shares = w * self.t
            whole.add_(shares @ space.base if len(space.base) > 1 else shares.sum() * space.base[0])
        return whole

    def norm2(self, theta: Tensor) -> Tensor:
        """‖u_i − θ‖² = ‖p − ηS·X‖² = ‖p‖² − 2ηS·(p·X) + η²S·K·S of each client, with p = (ρᵗ − 1)θ − ηt·base."""
        space, eta, t = self.space, self.space.eta, self.t
        products, based = space.products, space.drift
        if space.own is not None and based is not None:
            products = torch.addcmul(products, space.own.products, t[:, None, None], value=-1)
            based = based + space.own.products
        square = (products * self.slopes).sum((1, 2)).mul_(eta**2)
        own, a = theta[: space.layer.last], self.decay - 1
        if space.decay != 1 and space.start is not None:
            square += a.square() * own.square().sum() - 2 * eta * a * (self.slopes * space.start).sum((1, 2))
        if space.base is not None and based is not None:
            square += (eta * t).square() * space.base.square().sum(1) - 2 * eta * a * t * (space.base @ own)
            square += 2 * eta**2 * t * (self.slopes * based).sum((1, 2))
        return square.clamp_(min=0)


def grown(decay: float, steps: Ids | int) -> NDArray[np.float64]:
    """t_j = 1 + ρ + … + ρ^{j−1}.

    >>> grown(0.5, 3), grown(1.0, np.array([2, 3]))
    (array(1.75), array([2., 3.]))
    """
    j = np.asarray(steps, dtype=np.float64)
    return j if decay == 1 else np.asarray((1 - decay**j) / (1 - decay))
