"""The sources that need no download, against their published descriptions and definitions."""

import csv
from importlib.resources import files

import numpy as np
import pytest

from evenkeel.data.sources import SOURCES, load
from evenkeel.data.sources.synthetic import draw
from evenkeel.errors import InputError


def test_digits_are_those_of_the_uci_description():
    """1,797 rows; counts per class as printed in the repository's description; pixels 0…16."""
    raw = load("digits", raw=True)
    assert np.bincount(raw.y).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (float(raw.x.min()), float(raw.x.max())) == (0.0, 16.0)
    assert load("digits").x.tolist() == (raw.x / 16).tolist()


def by_hand(first=None):
    """The penguins through the csv module and plain loops."""
    text = files("evenkeel.data").joinpath("bundled", "penguins.csv").read_text()
    kept: dict[str, list[tuple[float, float, float]]] = {}
    for row in csv.DictReader(text.splitlines()):
        cells = [row[c] for c in ("bill_depth_mm", "flipper_length_mm", "bill_length_mm")]
        if "NA" not in cells:
            kept.setdefault(row["species"], []).append(tuple(float(c) for c in cells))
    return {species: rows[:first] for species, rows in kept.items()}


@pytest.mark.parametrize("first", [0, 10])
def test_penguins_are_the_rows_of_the_table_with_the_incomplete_ones_dropped(first):
    source = load("penguins", first=first)
    for client, species in enumerate(("Adelie", "Chinstrap", "Gentoo")):
        mine = source.groups == client
        rows = np.array(by_hand(first or None)[species], dtype=np.float32)
        assert source.x[mine].tolist() == rows[:, :2].tolist()
        assert source.y[mine].tolist() == rows[:, 2].tolist()


def test_the_penguins_table_has_the_published_counts():
    """Horst et al. (2020): 344 penguins, 152 Adélie, 68 chinstrap, 124 gentoo; two without measurements."""
    assert {s: len(rows) for s, rows in by_hand().items()} == {"Adelie": 151, "Gentoo": 123, "Chinstrap": 68}


def test_the_first_ten_adelies_skip_the_fourth_row_which_has_no_measurements():
    source = load("penguins", first=10)
    assert source.y[:4].tolist() == pytest.approx([39.1, 39.5, 40.3, 36.7])


def test_synthetic_labels_are_the_argmax_of_each_clients_own_model():
    source = load("synthetic", n=5, seed=3)
    for k in range(5):
        mine = source.groups == k
        client = draw(3, k, rows=int(mine.sum()), alpha=1.0, beta=1.0, features=60, classes=10)
        x = source.x[mine].numpy()
        assert x.tolist() == client.x.tolist()
        for row, label in zip(x, source.y[mine], strict=True):
            scores = [sum(row * client.W[:, c]) + client.b[c] for c in range(10)]
            assert int(np.argmax(scores)) == int(label)


def test_synthetic_rows_have_the_covariance_and_centre_of_the_definition():
    """Σ_jj = j^−1.2, no correlation: deviations of m = 20,000 rows within 5 standard errors."""
    m = 20_000
    client = draw(0, 0, rows=m, alpha=1.0, beta=1.0, features=20, classes=3)
    variance = np.array([j**-1.2 for j in range(1, 21)])
    centred = (client.x - client.v) / np.sqrt(variance)
    assert np.abs(centred.mean(axis=0)).max() < 5 / np.sqrt(m)
    assert np.abs((centred**2).mean(axis=0) - 1).max() < 5 * np.sqrt(2 / m)
    off = np.corrcoef(centred.T) - np.eye(20)
    assert np.abs(off).max() < 5 / np.sqrt(m)


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.0), (0.5, 2.0)])
def test_synthetic_clients_spread_as_alpha_and_beta_say(alpha, beta):
    """A client's mean of W estimates u_k with variance 1/600, its mean of v estimates B_k with variance 1/60."""
    clients = [draw(1, k, rows=1, alpha=alpha, beta=beta, features=60, classes=10) for k in range(2000)]
    u = np.array([c.W.mean() for c in clients])
    centres = np.array([c.v.mean() for c in clients])
    assert u.var() == pytest.approx(alpha + 1 / 600, rel=0.16)  # 5 standard errors of a variance: 5·√(2/2000)
    assert centres.var() == pytest.approx(beta + 1 / 60, rel=0.16)
    assert np.mean([c.W.std() for c in clients]) == pytest.approx(1, abs=0.01)


def test_synthetic_sizes_are_lognormal_above_fifty():
    """ln(size − 50) has mean 4 and deviation 2 but for rounding down; 400 clients, 5 standard errors."""
    sizes = np.bincount(load("synthetic", n=400, columns=1, classes=2).groups)
    assert sizes.min() >= 50
    assert np.median(np.log(sizes - 50 + 0.5)) == pytest.approx(4, abs=5 * 1.25 * 2 / 20)


def test_a_synthetic_client_does_not_depend_on_how_many_there_are():
    few, many = load("synthetic", n=2, seed=1, sigma=0.0), load("synthetic", n=4, seed=1, sigma=0.0)
    assert few.x.tolist() == many.x[: len(few)].tolist()


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("minst", {}, "data = 'minst': no such source; did you mean 'mnist'?"),
        ("digits", {"row": True}, "data 'digits': no option 'row'; did you mean 'raw'?"),
        ("penguins", {"first": -1}, "penguins: first = -1: must be a whole number of at least 0"),
        ("synthetic", {"n": 0}, "synthetic: n = 0: must be a whole number of at least 1"),
        ("synthetic", {"alpha": -1}, "synthetic: alpha = -1: must be a number in [0, 10]"),
        ("synthetic", {"classes": 1}, "synthetic: classes = 1: must be a whole number of at least 2"),
        ("mnist", {"part": "trian"}, "mnist: part = 'trian': no such part; did you mean 'train'?"),
    ],
)
def test_bad_options_are_refused_in_one_line(name, options, says):
    with pytest.raises(InputError) as caught:
        load(name, **options)
    assert says in str(caught.value)


def test_every_registered_source_has_a_docstring_of_its_own():
    assert all(f.__doc__ for f in SOURCES.values())
