"""Which processes descend from one, what they use and where they listen, read from /proc."""

import ipaddress
import os
from pathlib import Path


def parent(pid):
    """The parent of a process; 0 where it is gone or a zombie."""
    try:
        state, up = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state == "Z" else int(up)


def children(root=None):
    """The living descendants of a process."""
    above = {int(p.name): parent(int(p.name)) for p in Path("/proc").iterdir() if p.name.isdigit()}
    found, fresh = set(), {root or os.getpid()}
    while fresh:
        fresh = {pid for pid, up in above.items() if up in fresh} - found
        found |= fresh
    return found


def words(pid):
    """The command line of a process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def used(pid):
    """Processor seconds of a process so far."""
    cells = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")


def listening(pids):
    """(host, port) of every TCP socket on which one of these listens."""
    inodes = set()
    for pid in pids:
        try:
            handles = list(Path(f"/proc/{pid}/fd").iterdir())
            inodes |= {str(handle.readlink()) for handle in handles}
        except OSError:  # it has just ended
            continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == "0A" and f"socket:[{cells[9]}]" in inodes:
                host, port = cells[1].split(":")
                found.add((str(_address(host)), int(port, 16)))
    return found


def _address(text):
    """An address as the kernel prints it: 32-bit words in the machine's order."""
    raw = b"".join(bytes.fromhex(text[i : i + 8])[::-1] for i in range(0, len(text), 8))
    found = ipaddress.ip_address(raw)
    mapped = getattr(found, "ipv4_mapped", None)
    return mapped or found
