"""evenkeel: federated learning in which no client is left behind.

`evenkeel.train(model, data, algorithm)` trains; `evenkeel.Federation` brings your rows; `evenkeel.Run` is what is left.
The package is kept light at import: these names load torch when they are first used, and `evenkeel.sets` and
`evenkeel.indices` need NumPy only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenkeel.api import Federation, Run, Spec, train

__version__ = "0.1.0"
__all__ = ["Federation", "Run", "Spec", "__version__", "train"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 — a module's own hook
    if name in __all__:
        return getattr(import_module("evenkeel.api"), name)
    raise AttributeError(f"module 'evenkeel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
