"""Θ, the set that parameters may move in, and the projection on it. The theorem assumes that it never binds."""

from dataclasses import dataclass
from typing import Protocol

import torch

from evenkeel.errors import InputError


class Region(Protocol):
    """A convex set of parameters."""

    def project(self, theta: torch.Tensor) -> torch.Tensor:
        """The nearest member; `theta` itself (the same object) where it is one."""
        ...


@dataclass(frozen=True, slots=True)
class Everywhere:
    """No bound.

    >>> theta = torch.ones(2)
    >>> Everywhere().project(theta) is theta
    True
    """

    def project(self, theta: torch.Tensor) -> torch.Tensor:
        """theta itself."""
        return theta


@dataclass(frozen=True, slots=True)
class Ball:
    """‖θ‖₂ ≤ radius.

    >>> Ball(1.0).project(torch.tensor([3.0, 4.0]))
    tensor([0.6000, 0.8000])
    """

    radius: float

    def __post_init__(self) -> None:
        if not self.radius > 0:
            raise InputError(f"radius = {self.radius!r}: must be above 0")

    def project(self, theta: torch.Tensor) -> torch.Tensor:
        """theta scaled back to the sphere."""
        norm = float(torch.linalg.vector_norm(theta))
        return theta if norm <= self.radius else theta * (self.radius / norm)


@dataclass(frozen=True, slots=True)
class Box:
    """low ≤ θ_k ≤ high.

    >>> Box(-1.0, 1.0).project(torch.tensor([3.0, 0.5]))
    tensor([1.0000, 0.5000])
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InputError(f"box = [{self.low!r}, {self.high!r}]: the lower bound must be below the upper one")

    def project(self, theta: torch.Tensor) -> torch.Tensor:
        """theta clipped."""
        inside = bool(((theta >= self.low) & (theta <= self.high)).all())
        return theta if inside else theta.clamp(self.low, self.high)
