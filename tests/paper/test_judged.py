"""Verdicts follow from the numbers: hand cases for each rule, also where it does not hold."""

import math

import pytest

from evenkeel.paper import judged
from evenkeel.paper.printed import COLUMNS, Row
from evenkeel.runs.paired import Estimate, Seeded, student

ONE = Estimate(2.0, math.nan, math.nan, 1)


def seeded(**runs):
    count = len(next(iter(next(iter(runs.values())).values())))
    return Seeded(seeds=tuple(range(count)), values=runs)


def test_the_range_of_one_further_run_is_students():
    # values 1 and 3: x̄ = 2, s = √2, t_{1, .975} = 12.7062; t·s·√(1 + 1/2) = 22.0078
    a = judged.against("20", student([1.0, 3.0]))
    assert (a.low, a.high) == (pytest.approx(2 - 22.0078, abs=1e-3), pytest.approx(2 + 22.0078, abs=1e-3))
    assert a.inside
    assert not judged.against("25", student([1.0, 3.0])).inside
    assert a.ours.high < 20  # the mean's own interval is narrower: 2 ± 12.706


def test_one_seed_judges_no_printed_number():
    a = judged.against("2.0", ONE)
    assert a.inside is None
    assert a.to_dict()["further_low"] is None
    assert list(judged.numbers({"safl": {"R": a}}, "shuffled")) == []


def test_a_row_agrees_only_if_all_its_numbers_are_inside():
    printed = Row(".5", ".5", ".5", "2", ".5")
    values = {c: [0.4, 0.6, 0.5] for c in COLUMNS} | {"R": [2.0, 2.1, 1.9]}
    found = judged.rows(seeded(safl=values), {"safl": printed, "drfa": printed})
    assert list(found) == ["safl"]
    assert [c.agrees for c in judged.numbers(found, "shuffled")] == [True]
    away = judged.rows(seeded(safl=values | {"R": [9.0, 9.1, 9.2]}), {"safl": printed})
    (claim,) = judged.numbers(away, "shuffled")
    assert not claim.agrees
    assert claim.ours == "4 of 5; outside: R"


@pytest.mark.parametrize(
    ("ours", "theirs", "agrees"),
    [
        ([1.0, 1.1, 1.2], [2.0, 2.2, 2.1], True),
        ([2.0, 2.2, 2.1], [1.0, 1.1, 1.2], False),
        ([1.0, 3.0, 2.0], [1.1, 2.9, 2.3], False),  # lower on average, and the interval holds 0
        ([1.0], [1.5], True),
        ([1.0], [1.0], False),  # equal is not lower
    ],
)
def test_better_needs_an_interval_that_leaves_out_zero(ours, theirs, agrees):
    s = seeded(ours={"R": ours}, theirs={"R": theirs})
    assert judged.better(s, ("ours", "R"), ["theirs"], "R", "smaller").agrees is agrees


def test_differences_are_paired_seed_by_seed():
    # the seeds differ by far more than the runs, and the order is the same under each
    s = seeded(ours={"R": [1.0, 5.0, 9.0]}, theirs={"R": [1.1, 5.2, 9.15]})
    assert judged.better(s, ("ours", "R"), ["theirs"], "R", "smaller").agrees
    assert student(s.values["ours"]["R"]).high > student(s.values["theirs"]["R"]).low


def test_accuracy_is_better_high():
    s = seeded(ours={"accuracy": [0.9, 0.91]}, theirs={"accuracy": [0.8, 0.81]})
    assert judged.better(s, ("ours", "accuracy"), ["theirs"], "a", "best").agrees
    assert not judged.better(s, ("theirs", "accuracy"), ["ours"], "a", "best").agrees


def test_better_than_all_needs_all_and_names_those_in_the_way():
    s = seeded(a={"R": [2.0]}, b={"R": [3.0]}, c={"R": [1.0]}, d={"R": [4.0]})
    claim = judged.better(s, ("a", "R"), ["b", "c", "d"], "R", "smallest")
    assert not claim.agrees
    assert claim.ours == "2.0000; better than 2 of 3; not clearly: to c +1.0000"
    assert not judged.better(s, ("a", "R"), ["absent"], "R", "smallest").agrees  # nothing to compare with


def test_at_once_takes_equality_and_leaves_out_the_best_clients():
    def row(accuracy, best, R):
        means = {"accuracy": (".90", accuracy), "best20_accuracy": (".95", best), "R": ("2.5", R)}
        return {c: judged.against(p, Estimate(x, math.nan, math.nan, 1)) for c, (p, x) in means.items()}

    assert judged.at_once(row(0.91, 0.10, 2.4), "").agrees
    assert judged.at_once(row(0.90, 0.10, 2.5), "").agrees
    assert judged.at_once(row(0.89, 0.99, 2.4), "").ours.endswith("misses accuracy")
    assert judged.at_once(row(0.91, 0.99, 2.6), "").ours.endswith("misses R")


def test_near_is_a_fixed_distance():
    row = {"accuracy": judged.against(".90", Estimate(0.88, math.nan, math.nan, 1))}
    assert judged.near(row, ["accuracy"], 0.03, "").agrees
    assert not judged.near(row, ["accuracy"], 0.01, "").agrees
