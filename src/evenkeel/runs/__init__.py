"""Runs that can be trusted: what they depend on (spec), how they go on after a stop, what they leave behind."""

from evenkeel.runs.execute import execute
from evenkeel.runs.observers import Observer, Quiet
from evenkeel.runs.parts import algorithm_of, federation_of, task_of, transport_of
from evenkeel.runs.presets import PRESETS
from evenkeel.runs.run import Run
from evenkeel.runs.spec import Spec

__all__ = [
    "PRESETS",
    "Observer",
    "Quiet",
    "Run",
    "Spec",
    "algorithm_of",
    "execute",
    "federation_of",
    "task_of",
    "transport_of",
]
