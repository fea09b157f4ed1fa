"""What a federation does about clients that are slow, absent or wrong, read from a spec."""

from dataclasses import dataclass
from typing import Self

from evenkeel.runs import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`deadline` seconds an exchange; a client is asked again `retries` times; `quorum` of those asked must answer.

    A client that no node speaks for is waited for one attempt's share of the deadline, then it is absent: its last
    loss is carried and its weight handled as docs/decisions/0007 says; lost between probe and local it counts as
    Δu_i = c. `worst` is the largest loss that is believed at all.
    """

    deadline: float = 300.0
    retries: int = 2
    quorum: float = 0.5
    wire: str = "exact"
    feedback: bool = False
    worst: float = 1e6
    poll: float = 0.2

    @property
    def patience(self) -> float:
        """Seconds that one attempt may take.

        >>> Policy(deadline=300, retries=2).patience
        100.0
        """
        return self.deadline / (self.retries + 1)

    @classmethod
    def of(cls, spec: Spec) -> Self:
        """The policy that a spec sets."""
        clients, engine = spec.clients, spec.engine
        return cls(
            deadline=engine.deadline,
            retries=engine.retries,
            quorum=0.5 if clients.quorum is None else clients.quorum,
            wire=clients.wire or "exact",
            feedback=bool(clients.feedback),
        )
