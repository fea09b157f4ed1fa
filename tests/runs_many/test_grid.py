"""Grids: both ends, no rounding dust, every fault in one line."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.errors import InputError
from evenkeel.runs.grid import axis, values


@given(st.integers(-50, 50), st.integers(1, 30), st.integers(0, 40), st.sampled_from([1, 10, 100, 1000]))
def test_a_grid_is_the_exact_multiples_rounded_once(first, step, count, unit):
    text = ":".join(str(float(Fraction(v, unit))) for v in (first, first + count * step, step))
    assert values(text, "--phi") == tuple(float(Fraction(first + k * step, unit)) for k in range(count + 1))


def test_a_last_value_off_the_grid_is_not_taken():
    assert values("0:0.55:0.2", "--phi") == (0, 0.2, 0.4)


def test_values_may_be_listed():
    assert values("0.5, 0.1,2", "--phi") == (0.5, 0.1, 2)
    assert axis("work.steps=1,2").short == "steps"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no number"),
        ("a:b:c", "'a' is no number"),
        ("0:1", "first:last:step"),
        ("0:1:2:3", "first:last:step"),
        ("0:1:0", "step = 0 must be above 0"),
        ("1:0:0.1", "must not lie below"),
        ("0:1:1e-9", "at most 1000"),
        ("0:inf:1", "not finite"),
        ("nan", "not finite"),
        ("0,1:2", "not both"),
        ("1,1", "twice"),
        ("1,,2", "'' is no number"),
        ("1e999", "not finite"),
    ],
)
def test_a_bad_grid_is_refused_in_one_line(text, says):
    with pytest.raises(InputError, match=r"^--phi") as error:
        values(text, "--phi")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["phi", "=0:1:0.1", "algorithm.phi:0:1:1"])
def test_over_needs_a_key(text):
    with pytest.raises(InputError, match="must be key=first:last:step"):
        axis(text)
