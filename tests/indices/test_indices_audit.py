"""The audit as a whole: its keys, its numbers, its intervals, groups, runs, and that it starts light."""

import json
import math
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

from evenkeel.indices import INDICES, Audit, LossTable, Settings, audit, audit_by, compare
from evenkeel.indices.sample import Options
from tests.indices.index_oracles import of_accuracies, of_losses

NUMBERS = {"mean", "min", "max", "R", "discrepancy", "absolute", "gini", "palma", "ratio_20_20", "atkinson_inf"}
NUMBERS |= {"worst20_loss", "best20_loss", "worst20_accuracy", "best20_accuracy", "jain", "theil", "cv"}
CONTEXT = {"population", "split", "group", "weighting", "alpha", "beta", "phi", "worst"}
CONTEXT |= {"method", "draws", "level", "seed", "worst_off"}


def table(n=30, seed=0, **more):
    rng = np.random.default_rng(seed)
    columns = {
        "client": [f"c{i}" for i in range(n)],
        "loss": rng.exponential(size=n),
        "accuracy": rng.random(n),
        "size": rng.integers(1, 20, n),
        "group": rng.choice(["north", "south", "west"], n),
        "population": "hospitals that joined",
        "split": "test",
    }
    return LossTable.of(**(columns | more))


def test_the_json_keys_are_the_agreed_ones():
    assert set(audit(table(), draws=99).to_dict()) == {"n", "lorenz", "intervals", *NUMBERS, *CONTEXT}


def test_every_number_of_an_audit_is_its_definition_and_has_a_line_in_the_catalogue():
    t = table()
    a = audit(t, alpha=0.3, beta=0.1, phi=0.2, draws=0)
    expected = of_losses(t.loss.tolist(), alpha=0.3, beta=0.1, phi=0.2) | of_accuracies(t.accuracy.tolist())
    for name in NUMBERS:
        assert name in INDICES
        assert getattr(a, name) == pytest.approx(expected[name], rel=1e-10), name


def test_weighting_by_size_counts_every_row_of_a_client():
    t = table(12)
    a = audit(t, weighting="size", draws=0)
    rows = np.repeat(np.arange(12), t.size.astype(int))
    expected = of_losses(t.loss[rows].tolist()) | of_accuracies(t.accuracy[rows].tolist())
    for name in NUMBERS:
        assert getattr(a, name) == pytest.approx(expected[name], rel=1e-9), name
    assert (a.n, a.weighting) == (12, "size")


def test_an_audit_leaves_the_table_as_it_was():
    t = table()
    held = {name: getattr(t, name).copy() for name in ("client", "loss", "accuracy", "size", "group")}
    audit(t, weighting="size", draws=39)
    assert all((getattr(t, name) == column).all() for name, column in held.items())


def test_population_split_and_settings_travel_with_the_numbers():
    d = audit(table(), alpha=0.3, beta=0.1, phi=0.2, draws=99, level=0.9, seed=7, method="percentile").to_dict()
    assert (d["population"], d["split"], d["weighting"]) == ("hospitals that joined", "test", "clients")
    assert [d[k] for k in ("alpha", "beta", "phi", "draws", "level", "seed")] == [0.3, 0.1, 0.2, 99, 0.9, 7]
    assert d["method"] == "percentile"


def test_each_index_but_min_and_max_has_an_interval_round_it():
    a = audit(table(), draws=199)
    assert set(a.intervals) == NUMBERS - {"min", "max"}
    for name, (low, high) in a.intervals.items():
        assert low <= high, name
    low, high = a.intervals["mean"]
    assert low < a.mean < high


def test_seeds_repeat_and_rows_may_come_in_any_order():
    t = table(40)
    order = np.random.default_rng(3).permutation(40)
    shuffled = table(
        40,
        client=t.client[order],
        loss=t.loss[order],
        accuracy=t.accuracy[order],
        size=t.size[order],
        group=t.group[order],
    )
    for options in ({}, {"weighting": "size"}):
        assert audit(t, draws=99, **options) == audit(shuffled, draws=99, **options)
    assert audit(t, draws=99, seed=1).intervals != audit(t, draws=99, seed=2).intervals


def test_ties_in_loss_do_not_tie_the_intervals_to_the_order_of_rows():
    columns = {"loss": [1.0] * 6 + [2.0] * 6, "accuracy": np.arange(12) / 12}
    back = {name: list(reversed(column)) for name, column in columns.items()}
    assert audit(LossTable.of(**columns), draws=99).intervals == audit(LossTable.of(**back), draws=99).intervals


def test_bca_is_used_up_to_2000_clients_and_the_method_is_stated():
    rng = np.random.default_rng(0)
    assert audit(LossTable.of(loss=rng.random(2000)), draws=39).method == "bca"
    assert audit(LossTable.of(loss=rng.random(2001)), draws=39).method == "percentile"
    assert audit(LossTable.of(loss=rng.random(20)), draws=39, method="percentile").method == "percentile"


def test_infinite_and_unmeasured_numbers_are_strict_json():
    a = audit(LossTable.of(loss=[0.0, 0.0, 1.0, 2.0, 0.0]), draws=99)
    d = json.loads(json.dumps(a.to_dict(), allow_nan=False))
    assert math.isinf(a.R)
    assert d["R"] == "inf"
    assert d["intervals"]["R"][1] == "inf"
    assert d["worst20_accuracy"] is None
    assert "worst20_accuracy" not in d["intervals"]


def test_another_worst_share_changes_the_names_that_carry_it():
    t = table()
    d = audit(t, worst=0.1, draws=99).to_dict()
    assert d["worst10_loss"] == pytest.approx(np.sort(t.loss)[-3:].mean())
    assert "worst20_loss" not in d
    assert "worst10_loss" in d["intervals"]
    assert {"ratio_20_20", "best10_accuracy"} <= set(d)


def test_the_worst_off_are_the_largest_losses_ties_by_name():
    a = audit(LossTable.of(client=list("fedcbag"), loss=[1.0, 3.0, 3.0, 3.0, 9.0, 0.5, 3.0]), draws=0)
    assert a.worst_off == (("b", 9.0), ("c", 3.0), ("d", 3.0), ("e", 3.0), ("g", 3.0))


def test_one_client_is_equal_to_itself_and_has_no_intervals():
    a = audit(LossTable.of(client=["only"], loss=[0.7], accuracy=[0.6]))
    assert (a.R, a.gini, a.jain, a.atkinson_inf, a.worst20_loss, a.worst20_accuracy) == (1, 0, 1, 1, 0.7, 0.6)
    assert (dict(a.intervals), a.method, a.draws) == ({}, None, 0)


def test_equal_clients_are_equal_in_every_draw():
    a = audit(LossTable.of(loss=[0.1] * 9), draws=99)
    assert (a.R, a.palma, a.gini, a.cv, a.jain) == (1, 1, 0, 0, 1)
    assert a.intervals["R"] == (1.0, 1.0)
    assert a.intervals["gini"] == (0.0, 0.0)


def test_a_group_is_audited_like_a_table_of_its_own():
    t = table(60)
    audits = audit_by(t, draws=99)
    assert [a.group for a in audits] == ["north", "south", "west"]
    assert sum(a.n for a in audits) == 60
    south = t.group == "south"
    alone = audit(LossTable.of(client=t.client[south], loss=t.loss[south], accuracy=t.accuracy[south]), draws=99)
    assert (audits[1].R, audits[1].intervals) == (alone.R, alone.intervals)


def test_a_comparison_audits_each_run_and_takes_differences_to_the_first():
    runs = {"a": table(seed=1), "b": table(seed=2), "c": table(seed=3)}
    c = compare(runs, draws=99)
    assert c.baseline == "a"
    assert c.audits == {run: audit(t, draws=99) for run, t in runs.items()}
    assert set(c.differences) == {"b", "c"}
    for run, held in c.differences.items():
        for name, d in held.items():
            assert d.value == getattr(c.audits[run], name) - getattr(c.audits["a"], name)
            assert d.low <= d.high
    json.dumps(c.to_dict(), allow_nan=False)


def test_a_paired_difference_is_that_of_the_same_clients_in_both_runs():
    t = table(50)
    more = table(50, loss=t.loss + 0.25)  # every client worse by the same: no draw can differ
    c = compare({"t": t, "more": more}, draws=99)
    assert c.paired == {"more": True}
    assert c.differences["more"]["mean"] == pytest.approx((0.25, 0.25, 0.25), rel=1e-9)
    order = np.arange(50)[::-1]
    turned = table(
        50, client=more.client[order], loss=more.loss[order], accuracy=more.accuracy[order], size=more.size[order]
    )
    assert compare({"t": t, "more": turned}, draws=99).differences == c.differences


def test_other_clients_are_drawn_on_their_own_and_the_interval_is_wider():
    t = table(50)
    other = table(50, loss=t.loss + 0.25, client=[f"x{i}" for i in range(50)])
    d = compare({"t": t, "other": other}, draws=199).differences["other"]["mean"]
    # the difference of two means of 50: ± 1.96 · √(2/50) · sd
    expected = 2 * 1.96 * math.sqrt(2 / 50) * t.loss.std()
    assert d.high - d.low == pytest.approx(expected, rel=0.3)


def test_runs_of_another_split_or_population_are_noted():
    c = compare({"a": table(split="test"), "b": table(split="train")}, draws=0)
    assert c.notes == ("split differs: a 'test', b 'train'",)
    assert math.isnan(c.differences["b"]["R"].low)
    assert c.to_dict()["differences"]["b"]["R"][1] is None


def test_two_infinite_indices_have_no_difference():
    zero = LossTable.of(loss=[0.0, 0.0, 1.0])
    c = compare({"a": zero, "b": zero}, draws=0)
    assert math.isnan(c.differences["b"]["R"].value)
    assert c.differences["b"]["gini"].value == 0


def test_accuracy_is_compared_only_where_both_runs_have_it():
    without = LossTable.of(client=[f"c{i}" for i in range(30)], loss=np.ones(30))
    c = compare({"a": table(), "b": without}, draws=39)
    assert "worst20_accuracy" not in c.differences["b"]
    assert c.audits["b"].worst20_accuracy is None


def test_the_keywords_of_an_audit_are_the_settings():
    assert set(Options.__annotations__) == {f.name for f in fields(Settings)}
    assert {f.name for f in fields(Audit)} >= {f.name for f in fields(Settings)}


def test_the_audit_starts_without_torch_polars_or_a_solver():
    code = "import sys, evenkeel.indices; print(*[m for m in sys.modules if '.' not in m])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "polars", "rich", "typer", "scipy", "clarabel"} & set(loaded)
