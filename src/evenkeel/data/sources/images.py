"""What MNIST, Fashion-MNIST and CIFAR10 share: four arrays of bytes, fetched once, checked always, normalised."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from evenkeel.data.source import Source
from evenkeel.data.sources import cache
from evenkeel.data.sources.cache import Bytes
from evenkeel.data.sources.fetch import Way, fetch
from evenkeel.errors import InputError, nearest

PARTS = {"train": ("train",), "test": ("t10k",), "all": ("train", "t10k")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSet:
    """A published set of images: its files' digests, its channels' mean and deviation, and the ways to get it.

    `by_hand` says which published files a user may put into the cache folder instead.
    """

    name: str
    class_names: tuple[str, ...]
    digests: Mapping[str, str]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    ways: Mapping[str, Way]
    by_hand: str

    def file(self, part: str, what: str) -> str:
        """The name of one of the four files.

        >>> from evenkeel.data.sources.mnist import MNIST
        >>> MNIST.file("t10k", "labels")
        't10k-labels-idx1-ubyte'
        """
        return next(f for f in self.digests if f.startswith(f"{part}-{what}"))


def load(images: ImageSet, *, part: str, raw: bool) -> Source:
    """Rows of shape (channels, height, width): (pixel/255 − mean)/std for each channel, or `raw` pixel/255."""
    if part not in PARTS:
        raise InputError(f"{images.name}: part = {part!r}: no such part; {nearest(str(part), PARTS)}")
    ensure(images)
    folder = cache.folder(images.name)

    def bytes_of(what: str) -> Bytes:
        files = [images.file(p, what) for p in PARTS[part]]
        arrays = [cache.read(folder / f, images.digests[f]) for f in files]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    return Source(
        x=normalise(bytes_of("images"), images.mean, images.std, raw=raw),
        y=torch.from_numpy(bytes_of("labels").astype(np.int64)),
        classes=len(images.class_names),
        name=f"{images.name} {part}{' raw' if raw else ''}",
        class_names=images.class_names,
    )


def ensure(images: ImageSet) -> None:
    """Fetch what is not in the cache yet."""
    folder = cache.folder(images.name)
    missing = [f for f in images.digests if not (folder / f).exists()]
    if missing:
        arrays = fetch(images.name, images.ways, images.digests, folder, images.by_hand)
        for f in missing:
            cache.write(folder / f, arrays[f])


def normalise(pixels: Bytes, mean: tuple[float, ...], std: tuple[float, ...], *, raw: bool) -> Tensor:
    """(pixel/255 − mean)/std for each channel; images get a channel axis if they have none.

    By slices that stay in the processor's cache, and on one thread: on a busy machine a pool of them waits for itself.

    >>> normalise(np.full((1, 2, 2), 255, np.uint8), (0.5,), (0.25,), raw=False)[0, 0, 0].tolist()
    [2.0, 2.0]
    """
    pixels = pixels[:, None] if pixels.ndim == 3 else pixels
    centre, spread = ((0.0,), (1.0,)) if raw else (mean, std)
    scale = np.array([1 / (255 * s) for s in spread], np.float32).reshape(-1, 1, 1)
    shift = np.array([m / s for m, s in zip(centre, spread, strict=True)], np.float32).reshape(-1, 1, 1)
    x = torch.empty(pixels.shape)
    for out, rows in zip(*(np.array_split(a, len(x) // 256 + 1) for a in (x.numpy(), pixels)), strict=True):
        np.multiply(rows, scale, out=out)
        np.subtract(out, shift, out=out)
    return x
