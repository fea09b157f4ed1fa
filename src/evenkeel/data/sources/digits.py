"""Handwritten digits of 8 × 8 pixels (UCI; Alpaydin and Kaynak, 1998), which come with scikit-learn: no download."""

import torch

from evenkeel.data.source import Source


def load(*, raw: bool = False) -> Source:
    """1,797 rows of shape (1, 8, 8), pixel/16 in [0, 1], or `raw` 0…16.

    >>> s = load()
    >>> len(s), s.row_shape, s.classes, float(s.x.max())
    (1797, (1, 8, 8), 10, 1.0)
    """
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    x = torch.from_numpy(pixels).float().reshape(-1, 1, 8, 8)
    return Source(
        x=x if raw else x / 16,
        y=torch.from_numpy(labels).to(torch.int64),
        classes=10,
        name="digits raw" if raw else "digits",
        class_names=tuple("0123456789"),
    )
