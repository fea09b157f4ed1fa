"""Intervals over seeds against SciPy's own t-test and against hand-made numbers."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenkeel.errors import InputError
from evenkeel.runs.paired import Seeded, difference, student

numbers = st.floats(-1e3, 1e3).map(lambda x: round(x, 3))


@given(st.lists(numbers, min_size=2, max_size=8).filter(lambda x: len(set(x)) > 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_interval_is_scipys_one_sample_t_interval(values, level):
    low, high = stats.ttest_1samp(values, 0.0).confidence_interval(level)
    e = student(values, level)
    assert (e.low, e.high) == pytest.approx((low, high), rel=1e-9, abs=1e-9)
    assert e.mean == pytest.approx(np.mean(values))
    assert e.n == len(values)


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=8).filter(lambda x: len({a - b for a, b in x}) > 1))
def test_the_difference_is_scipys_paired_t_interval(pairs):
    a, b = map(list, zip(*pairs, strict=True))
    low, high = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert tuple(difference(a, b))[1:3] == pytest.approx((low, high), rel=1e-9, abs=1e-9)


def test_what_seeds_share_falls_out_of_a_paired_difference():
    shared = np.array([0.0, 50.0, -30.0, 7.0])
    apart = difference(shared + np.array([1.1, 0.9, 1.0, 1.0]), shared)
    assert apart.high - apart.low < 0.3
    assert student(shared).high > 30


def test_one_seed_has_a_mean_and_no_interval():
    e = student([2.0])
    assert e.mean == 2.0
    assert math.isnan(e.low)
    assert e.to_dict() == {"mean": 2.0, "low": None, "high": None, "n": 1}


def test_an_infinite_value_gives_no_interval_and_goes_into_json_as_text():
    s = Seeded(seeds=(0, 1), values={"a": {"R": [math.inf, 2.0]}, "b": {"R": [math.inf, 1.0]}})
    held = json.loads(json.dumps(s.to_dict(), allow_nan=False))
    assert held["runs"]["a"]["R"] == {"values": ["inf", 2.0], "mean": "inf", "low": None, "high": None, "n": 2}
    assert held["differences"]["b"]["R"]["mean"] is None  # inf − inf


def test_the_t_interval_of_five_seeds_covers_the_mean_nineteen_times_in_twenty():
    drawn = np.random.default_rng(1).normal(3.0, 2.0, size=(4000, 5))
    covered = np.mean([e.low <= 3.0 <= e.high for e in map(student, drawn)])
    assert abs(covered - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 4000)


def test_runs_of_unlike_length_are_refused_in_one_line():
    with pytest.raises(InputError, match="a: R has 1 values, there are 2 seeds"):
        Seeded(seeds=(0, 1), values={"a": {"R": [1.0]}})
    with pytest.raises(InputError, match="no run or no seed"):
        Seeded(seeds=(), values={})
