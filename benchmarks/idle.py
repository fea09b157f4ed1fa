"""How busy a machine is before something is timed on it."""

import time
from pathlib import Path

QUIET = 0.2  # cores: more than this is somebody else


def busy_cores(seconds: float = 2.0) -> float:
    """Cores that were busy for so long; the load average would still remember what ended a minute ago."""

    def spent() -> float:
        user, nice, system = (int(k) for k in Path("/proc/stat").read_text().split(maxsplit=4)[1:4])
        return (user + nice + system) / 100  # ticks of the kernel's interface: a hundred a second

    before, begun = spent(), time.perf_counter()
    time.sleep(seconds)
    return (spent() - before) / (time.perf_counter() - begun)
