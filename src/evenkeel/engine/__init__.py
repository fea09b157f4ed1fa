"""The in-process transports: a plain loop over clients (the oracle) and all clients at once (the engine)."""

from evenkeel.engine.asked import Absent, All, Attendance
from evenkeel.engine.engine import Engine
from evenkeel.engine.guarded import Bounds, Guarded, heaviest
from evenkeel.engine.loop import Loop
from evenkeel.engine.trace import Trace, read_trace

__all__ = ["Absent", "All", "Attendance", "Bounds", "Engine", "Guarded", "Loop", "Trace", "heaviest", "read_trace"]
