"""Algorithm 1, Scaff-PD-IA(A, B, φ); by choice of the set also Scaff-PD (Yu et al. 2023) and the paper's Scaffold.

With ψ(λ) = (psi·n/2)·‖λ − 1/n‖² it is Algorithm «Scaff-PD-IA with regularization». With a cohort a round asks only the
clients whose turn it is; λ and the last known losses stay those of all (docs/decisions/0014-cross-device.md).
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from evenkeel import draws
from evenkeel.algorithms.limits import check
from evenkeel.algorithms.regions import Everywhere, Region
from evenkeel.algorithms.work import Ids, Work, carry, scaled, staleness
from evenkeel.dual import Constant, Schedule, dual_step
from evenkeel.errors import InputError
from evenkeel.protocol import Ask, Key, Round, Step
from evenkeel.sets import AmbiguitySet, CVaR, Integrated, Point

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """θ^r, λ^r, the last known losses (NaN: never heard), the round, and with cohorts the round each was last heard."""

    theta: torch.Tensor
    lam: Vector
    loss: Vector
    round: int = 0
    heard: Ids | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffPDIA:
    """min over θ, max over λ in the ambiguity set, of Σ λ_i f_i(θ); `cohort` clients a round, 0 is all."""

    ambiguity: AmbiguitySet
    schedule: Schedule
    work: Work = field(default_factory=Work)
    region: Region = field(default_factory=Everywhere)
    psi: float = 0.0
    cohort: int = 0

    def __post_init__(self) -> None:
        check(self)

    def init(self, theta: torch.Tensor, n: int) -> State:
        """λ¹: the member of Λ nearest to uniform."""
        if n != self.ambiguity.n:
            raise InputError(f"ambiguity set over {self.ambiguity.n} clients, but the federation has {n}")
        lam = self.ambiguity.project(np.full(n, 1 / n))
        heard = np.full(n, -1) if self._sampled else None
        return State(theta=theta, lam=lam, loss=np.full(n, np.nan), heard=heard)

    def round(self, state: State, key: Key) -> Round:
        """One round, line by line as Algorithm 1."""
        rates, theta = self.schedule.rates(state.round), state.theta
        who = draws.turn(key, "turn", len(state.lam), self.cohort) if self._sampled else None
        seen = yield Ask("probe", {"theta": theta}, who=who)
        loss, s = carry(state.loss, seen, rates.varsigma)
        lam = dual_step(self.ambiguity, state.lam, s, rates.sigma, self.psi)

        control = yield Ask(
            "gradient", {"theta": theta}, who=seen.who, weights=scaled(lam, seen.who), config=self.work.gradient()
        )
        c = control["grad"] * (len(seen.who) / len(control.who))
        weights = scaled(lam, control.who)
        moved = yield Ask(
            "local", {"theta": theta, "c": c}, who=control.who, weights=weights, config=self.work.local(rates.eta)
        )
        present = float(weights[np.searchsorted(control.who, moved.who)].sum())
        d = moved["delta"] + (1 - present) * c  # Δu_i = c for whoever is missing

        free = theta - rates.tau * d
        new = self.region.project(free)
        info = {"lam": lam, "loss": loss, "who": moved.who, "rates": rates, "theta_bound": new is not free}
        heard = state.heard
        if heard is not None:
            heard, old = staleness(heard, seen.who, key.round)
            info |= old
        return Step(State(theta=new, lam=lam, loss=loss, round=state.round + 1, heard=heard), info)

    @property
    def _sampled(self) -> bool:
        return 0 < self.cohort < self.ambiguity.n


def scaff_pd_ia(
    n: int,
    *,
    alpha: float = 0.2,
    beta: float | None = None,
    phi: float = 0.2,
    sigma: float = 1e-3,
    tau: float = 2.5e-2,
    eta: float = 1e-2,
    psi: float = 0.0,
    cohort: int = 0,
    work: Work | None = None,
    region: Region | None = None,
) -> ScaffPDIA:
    """Λ_φ(CVaR(α), CVaR(β)) with the paper's step sizes."""
    ambiguity = Integrated(CVaR(n, alpha), CVaR(n, alpha if beta is None else beta), phi)
    return _with(ambiguity, sigma, tau, eta, psi, cohort, work, region)


def scaff_pd(
    n: int,
    *,
    alpha: float = 0.2,
    sigma: float = 1e-3,
    tau: float = 2.5e-2,
    eta: float = 1e-2,
    psi: float = 0.0,
    cohort: int = 0,
    work: Work | None = None,
    region: Region | None = None,
) -> ScaffPDIA:
    """CVaR(α): absolute unfairness alone, φ = 0."""
    return _with(CVaR(n, alpha), sigma, tau, eta, psi, cohort, work, region)


def scaffold(
    n: int,
    *,
    tau: float = 2.5e-2,
    eta: float = 1e-2,
    cohort: int = 0,
    work: Work | None = None,
    region: Region | None = None,
) -> ScaffPDIA:
    """The paper's Scaffold: the uniform point, so λ never moves."""
    return _with(Point.uniform(n), 0.0, tau, eta, 0.0, cohort, work, region)


def _with(  # noqa: PLR0917
    ambiguity: AmbiguitySet,
    sigma: float,
    tau: float,
    eta: float,
    psi: float,
    cohort: int,
    work: Work | None,
    region: Region | None,
) -> ScaffPDIA:
    return ScaffPDIA(
        ambiguity=ambiguity,
        schedule=Constant(sigma=sigma, tau=tau, eta=eta),
        work=work or Work(),
        region=region or Everywhere(),
        psi=psi,
        cohort=cohort,
    )
