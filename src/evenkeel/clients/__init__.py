"""What one client does when it is asked: pure functions of the task, its rows, the ask and the key."""

from evenkeel.clients.config import Gradient, Local, Probe, Score, demand_theta, settings
from evenkeel.clients.rows import Client, Part
from evenkeel.clients.steps import STEPS, ClientStep, answer_one

__all__ = [
    "STEPS",
    "Client",
    "ClientStep",
    "Gradient",
    "Local",
    "Part",
    "Probe",
    "Score",
    "answer_one",
    "demand_theta",
    "settings",
]
