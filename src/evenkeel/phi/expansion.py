"""The paper's second-order model of u(φ) and its minimiser (appendix «Details of Selection of Coefficient φ»)."""

import math
from typing import NamedTuple

from evenkeel.errors import InputError
from evenkeel.indices.relative import utility


class Expansion(NamedTuple):
    """𝔞 = Σa₀f, 𝔟 = Σb₀f and 𝔠 = ⟨H⁻¹g, g⟩ at θ₀."""

    a: float
    b: float
    c: float

    def predicted(self, phi: float) -> float:
        """u(φ) ≈ (𝔞 + φ²𝔠/2)/√(𝔟 + φ𝔠).

        >>> Expansion(3.0, 1.0, 6.0).predicted(0.5)
        1.875
        """
        return utility(self.a + phi**2 * self.c / 2, self.b + phi * self.c)

    @property
    def root(self) -> float:
        """The minimiser 𝔞/(𝔟 + √(𝔟² + 1.5𝔞𝔠)): the positive root of ¾𝔠φ² + 𝔟φ − 𝔞/2, without cancellation.

        >>> Expansion(1.0, 1.0, 2.0).root, Expansion(3.0, 1.0, 0.0).root
        (0.3333333333333333, 1.5)
        """
        if min(self) < 0 or not all(map(math.isfinite, self)):
            raise InputError(f"a, b, c = {self.a}, {self.b}, {self.c}: must be finite and at least 0; mend the losses")
        below = self.b + math.sqrt(self.b**2 + 1.5 * self.a * self.c)
        return self.a / below if below > 0 else (math.inf if self.a > 0 else 0.0)
