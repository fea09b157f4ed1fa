"""evenkeel: federated learning in which no client is left behind.

The package is kept light at import: `evenkeel.sets` and `evenkeel.indices` need NumPy only.
"""

__version__ = "0.1.0"
