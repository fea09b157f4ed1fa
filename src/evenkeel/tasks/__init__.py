"""What is learned: a model and a per-row loss over one flat vector θ."""

from evenkeel.tasks.dropout import Dropped, draw_masks
from evenkeel.tasks.models import MODELS, build
from evenkeel.tasks.task import Task

__all__ = ["MODELS", "Dropped", "Task", "build", "draw_masks"]
