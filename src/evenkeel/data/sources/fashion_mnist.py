"""Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017): clothes in MNIST's format."""

from evenkeel.data.source import Source
from evenkeel.data.sources import images
from evenkeel.data.sources.fetch import openml, placed, torchvision
from evenkeel.data.sources.mnist import BY_HAND, FILES, from_openml, from_torchvision

# MD5 of the four published files, uncompressed, as several public projects print them. SHA-256 sums of these are
# not to be had without the files. The npm package of this name holds other pixels in class order; it is not used.
FASHION_MNIST = images.ImageSet(
    name="fashion-mnist",
    class_names=(
        "t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot",
    ),
    digests={
        "train-images-idx3-ubyte": "md5:f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "train-labels-idx1-ubyte": "md5:9018921c3c673c538a1fc5bad174d6f9",
        "t10k-images-idx3-ubyte": "md5:8181f5470baa50b63fa0f6fddb340f0a",
        "t10k-labels-idx1-ubyte": "md5:15d484375f8d13e6eb1aabb0c3f46965",
    },
    mean=(0.2860,),
    std=(0.3530,),
    ways={
        "files in the cache folder": placed(FILES),
        "torchvision": torchvision("FashionMNIST", from_torchvision),
        "OpenML": openml("Fashion-MNIST", from_openml),
    },
    by_hand=BY_HAND,
)  # fmt: skip


def load(*, part: str = "train", raw: bool = False) -> Source:
    """`part` is train, test or all; x is (N, 1, 28, 28), (pixel/255 − .2860)/.3530, or `raw` pixel/255.

    >>> load(part="valid")
    Traceback (most recent call last):
    evenkeel.errors.InputError: fashion-mnist: part = 'valid': no such part; known: all, test, train
    """
    return images.load(FASHION_MNIST, part=part, raw=raw)
