"""`--on` and `--address`: the same spec on a Ray cluster."""

from evenkeel.errors import InputError, nearest

TRANSPORTS = ("engine", "loop", "ray")


def overrides(on: str | None, address: str | None, workers: int | None = None) -> list[str]:
    """What the options mean as keys of the spec.

    >>> overrides("ray", "10.0.0.1:6379", 8)
    ['engine.transport="ray"', 'engine.address="10.0.0.1:6379"', 'engine.workers=8']
    >>> overrides("engine", None)
    ['engine.transport="engine"']
    """
    if on is None and address is not None:
        raise InputError(f"--address {address}: belongs to --on ray; give that too")
    if on is not None and on not in TRANSPORTS:
        raise InputError(f"--on {on}: no such transport; {nearest(on, TRANSPORTS)}")
    if workers is not None and workers < 1:
        raise InputError(f"--workers {workers}: must be at least 1; leave it out for one a core")
    given = {"engine.transport": on, "engine.address": address}
    keys = [f'{key}="{value}"' for key, value in given.items() if value is not None]
    return keys if workers is None else [*keys, f"engine.workers={workers}"]


def many(on: str | None, address: str | None, processes: int) -> list[str]:
    """The same where whole runs are spread: Ray knows how many a cluster takes at once."""
    if address is not None and processes:
        raise InputError(f"--processes {processes}: a cluster runs one on each of its cores; leave it out")
    return overrides(on, address)
