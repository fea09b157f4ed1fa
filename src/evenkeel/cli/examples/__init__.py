"""The bundled example: 100 clinics, two training runs. All of it is made up by `make.py`; no clinic exists."""

from pathlib import Path

SYNTHETIC = Path(__file__).with_name("synthetic_clinics.csv")
