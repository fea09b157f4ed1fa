"""The in-process transports: a plain loop over clients (the oracle) and all clients at once (the engine)."""

from evenkeel.engine.asked import Absent, Attendance
from evenkeel.engine.engine import Engine
from evenkeel.engine.guarded import Bounds, Guarded
from evenkeel.engine.loop import Loop

__all__ = ["Absent", "Attendance", "Bounds", "Engine", "Guarded", "Loop"]
