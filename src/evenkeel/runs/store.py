"""Files of a run folder: written whole or not at all, by one process at a time."""

import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evenkeel.errors import InputError, RunFailedError

SPEC, ENV, ROUNDS, CLIENTS, FINAL = "spec.toml", "env.json", "rounds.parquet", "clients.parquet", "final.safetensors"
STATE, LOCK = "state", ".lock"
_PART = ".part-"  # what a killed writer leaves behind; nobody reads it, the next one removes it
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def write(file: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a file whole: a neighbour first, flushed to the disk, which then takes its place in one step."""
    part = file.with_name(f"{_PART}{secrets.token_hex(6)}")
    try:
        try:
            with part.open("xb") as out:
                out.write(content)
                out.flush()
                if durable:
                    os.fsync(out.fileno())
            part.replace(file)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        if durable:
            settle(file.parent)
    except OSError as error:
        raise failed(file, error) from None


def settle(folder: Path) -> None:
    """Flush a folder's own list of names, so that a new name outlives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def failed(file: Path, error: OSError) -> RunFailedError:
    """What a write that failed says: the last good state is older and whole."""
    reason = "the disk is full" if error.errno in _FULL else (error.strerror or str(error)).lower()
    remedy = "free some space" if error.errno in _FULL else "mend that"
    return RunFailedError(f"{file}: cannot be written ({reason}); the last good state is kept: {remedy} and resume")


def sweep(folder: Path) -> None:
    """Remove what killed writers left behind; call it under the lock."""
    for part in [*folder.glob(f"{_PART}*"), *folder.glob(f"{STATE}/{_PART}*")]:
        part.unlink(missing_ok=True)


def begun(folder: Path) -> bool:
    """Whether the folder holds a run."""
    return (folder / SPEC).exists()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The folder for this process alone. The system lets go of the lock when the process ends, however it ends."""
    try:
        (folder / STATE).mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{folder}: cannot be used for a run ({reason}); give another folder") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{folder}: another process is running there; wait for it or give another folder"
            ) from None
        yield
    finally:
        os.close(handle)


def refuse_foreign(folder: Path) -> None:
    """A run starts in a folder that is new, empty, or holds no more than a start that was killed."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: is a file; give a folder that does not exist yet")
    if begun(folder):
        raise InputError(f"{folder}: holds a run; continue it with --resume {folder}, or give another folder")
    ours = {STATE, LOCK, ENV}
    for entry in folder.iterdir():
        if entry.name not in ours and not entry.name.startswith(_PART):
            raise InputError(f"{folder}: holds other files ({entry.name}); give a folder that does not exist yet")
