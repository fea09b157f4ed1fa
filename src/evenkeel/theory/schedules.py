"""The theorem's schedule from constants: as Assumption «hyperparameters» has it, or with longer steps for practice."""

import math

from evenkeel.dual import Theorem, conditions
from evenkeel.errors import InputError
from evenkeel.sets import AmbiguitySet
from evenkeel.theory.constants import Constants, demand_smooth

PRACTICAL = 600.0  # τ₀ = 1/(2M‖Λ‖₁) in place of 1/(1200M‖Λ‖₁): the step of plain gradient descent, halved


def lipschitz(constants: Constants, n: int, radius: float) -> float:
    """L_λθ ≤ √n·M·radius, where `radius` bounds ‖θ − argmin f_i‖ over Θ and all clients.

    The paper writes diam(Θ) for it, which is right only where Θ holds every client's own minimiser.
    """
    return math.sqrt(n) * constants.M * radius


def theorem_schedule(
    ambiguity: AmbiguitySet,
    constants: Constants,
    *,
    L: float,
    J: int = 1,
    factor: float = 1.0,
    c_alpha: float = 0.5,
) -> Theorem:
    """τ₀ = factor·min(1/(1200M‖Λ‖₁), 18(1+√3)/(4κ)) and the largest γ₀ with 4L²τ₀²γ₀/c_α + 27Mτ₀ ≤ 1.

    `L` is L_λθ of the losses. factor = 1 is literal; `PRACTICAL` lengthens τ₀ 600-fold. Where 27Mτ₀ then exceeds ½, ½
    stands for it, so that 8στL² ≤ c_α still holds. κ ≤ 0 keeps the steps constant, without the proof.
    """
    demand_smooth(constants)
    if not (L > 0 and factor > 0 and 0 < c_alpha < 1):
        raise InputError(f"L = {L}, factor = {factor}, c_alpha = {c_alpha}: must be above 0, and c_alpha below 1")
    m, M = constants.m, constants.M
    met = conditions(ambiguity, m, M)
    tau = 1 / (1200 * M * met.l1_norm)
    if met.kappa > 0:
        tau = min(tau, 18 * (1 + math.sqrt(3)) / (4 * met.kappa))
    tau *= factor
    room = max(1 - 27 * M * tau, 0.5)
    gamma = c_alpha * room / (4 * L**2 * tau**2)
    return Theorem(tau_0=tau, gamma_0=gamma, kappa=max(met.kappa, 0.0), J=J, beta=max(1.0, 2 * tau * M))
