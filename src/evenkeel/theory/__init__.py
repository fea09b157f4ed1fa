"""The paper's theory in numbers: constants m, M, conditions on ‖Λ‖₁, schedules, rates, the generalisation bound."""

from evenkeel.theory.constants import Constants, closed_form, estimated
from evenkeel.theory.generalisation import cvar_skewness, gap, log_covering, printed_skewness, skewness
from evenkeel.theory.limits import Limit, largest_phi, limits, warnings_of
from evenkeel.theory.rates import Curve, error_curve, slope
from evenkeel.theory.schedules import PRACTICAL, lipschitz, theorem_schedule

__all__ = [
    "PRACTICAL",
    "Constants",
    "Curve",
    "Limit",
    "closed_form",
    "cvar_skewness",
    "error_curve",
    "estimated",
    "gap",
    "largest_phi",
    "limits",
    "lipschitz",
    "log_covering",
    "printed_skewness",
    "skewness",
    "slope",
    "theorem_schedule",
    "warnings_of",
]
