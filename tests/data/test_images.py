"""The real MNIST and CIFAR10, against what others have published about them; skipped where they cannot be had."""

import hashlib
from functools import cache as once

import numpy as np
import pytest

from evenkeel.data.sources import cache, load
from evenkeel.data.sources.cifar10 import FILES as CIFAR_FILES
from evenkeel.data.sources.mnist import FILES as MNIST_FILES
from evenkeel.errors import InputError


@once
def reason(name):
    """Why a data set cannot be had; empty if it can."""
    try:
        load(name, part="test")
    except InputError as error:
        return str(error)
    return ""


def real(name, part="train", **options):
    if reason(name):
        pytest.skip(reason(name))
    return load(name, part=part, **options)


def counts(source):
    return np.bincount(source.y).tolist()


def test_mnist_has_the_published_counts_of_each_digit():
    train, test = real("mnist"), real("mnist", "test")
    assert counts(train) == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert counts(test) == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert train.x.shape == (60_000, 1, 28, 28)


def moments(pixels):
    """Mean and deviation of pixel/255, from a histogram of the bytes."""
    shares = np.bincount(pixels.ravel(), minlength=256) / pixels.size
    levels = np.arange(256) / 255
    mean = shares @ levels
    return mean, np.sqrt(shares @ (levels - mean) ** 2)


def test_mnist_has_the_published_mean_and_deviation():
    x = real("mnist").x
    pixels = cache.decode((cache.folder("mnist") / MNIST_FILES[0]).read_bytes())
    assert moments(pixels) == pytest.approx((0.1307, 0.3081), abs=5e-5)
    assert float(x.mean()) == pytest.approx(0, abs=1e-3)
    assert float(x.std()) == pytest.approx(1, abs=1e-3)


def test_the_cached_mnist_files_have_the_md5_sums_that_others_print():
    """MD5 of the four files uncompressed, as found in several public projects (secml-zoo among them)."""
    real("mnist", "test")
    published = (
        "6bbc9ace898e44ae57da46a324031adb",
        "a25bea736e30d166cdddb491f175f624",
        "2646ac647ad5339dbf082846283269ea",
        "27ae3e4e09519cfbb04c329615203637",
    )
    for name, md5 in zip(MNIST_FILES, published, strict=True):
        assert hashlib.md5((cache.folder("mnist") / name).read_bytes()).hexdigest() == md5  # noqa: S324


def test_cifar10_has_five_thousand_of_each_class_and_the_published_means():
    train, test = real("cifar10"), real("cifar10", "test")
    assert counts(train) == [5000] * 10
    assert counts(test) == [1000] * 10
    assert train.x.shape == (50_000, 3, 32, 32)
    pixels = cache.decode((cache.folder("cifar10") / CIFAR_FILES[0]).read_bytes())
    means, deviations = zip(*(moments(pixels[:, c]) for c in range(3)), strict=True)
    assert means == pytest.approx((0.4914, 0.4822, 0.4465), abs=5e-5)
    assert deviations == pytest.approx((0.2470, 0.2435, 0.2616), abs=5e-5)
    assert train.x.mean(dim=(0, 2, 3)).tolist() == pytest.approx([0] * 3, abs=1e-3)


def test_cifar10_makes_the_published_binary_files_byte_for_byte():
    """Each batch as label and 3,072 bytes a row has the MD5 sum that public build scripts print for it."""
    real("cifar10", "test")
    x, y, test_x, test_y = (cache.decode((cache.folder("cifar10") / f).read_bytes()) for f in CIFAR_FILES)
    batches = [(x[i : i + 10_000], y[i : i + 10_000]) for i in range(0, 50_000, 10_000)] + [(test_x, test_y)]
    published = (
        "5dd7e06a14cb22eb9f671a540d1b7c25",
        "5ea93a67294ea407fff1d09f752e9692",
        "942cd6a4bcdd0dd3c604fbe906cb4421",
        "ae636b3ba5c66a11e91e8cb52e771fcb",
        "53f37980c15c3d472c316c40844f3f0d",
        "803d5f7f4d78ea53de84dbe85f74fb6d",
    )
    for (pixels, labels), md5 in zip(batches, published, strict=True):
        rows = np.concatenate([labels[:, None], pixels.reshape(10_000, 3072)], axis=1)
        assert hashlib.md5(rows.tobytes()).hexdigest() == md5  # noqa: S324
