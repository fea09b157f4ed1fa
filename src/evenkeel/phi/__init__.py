"""Choice of φ from the φ = 0 solution alone (section «Selection of Coefficient φ» and its appendix).

With θ₀ and the saddle's weights a₀, b₀ the paper models max_A by 𝔞 + φ²𝔠/2 and min_B by 𝔟 + φ𝔠, and takes the φ that
minimises the negative utility u = max_A/√min_B of that model. docs/decisions/0010-phi.md has what was measured.
"""

from evenkeel.phi.choice import MOST, Choice, choose_phi
from evenkeel.phi.expansion import Expansion
from evenkeel.phi.measured import Measured, Train, measure, resolve_auto_phi
from evenkeel.phi.solve import Solve, solve

__all__ = [
    "MOST",
    "Choice",
    "Expansion",
    "Measured",
    "Solve",
    "Train",
    "choose_phi",
    "measure",
    "resolve_auto_phi",
    "solve",
]
