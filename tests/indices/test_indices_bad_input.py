"""What a user may get wrong: each case is one line that names the place, the value, the rule and the remedy."""

import math

import numpy as np
import pytest

from evenkeel import indices
from evenkeel.errors import InputError
from evenkeel.indices import INDICES, LossTable, audit, audit_by, compare


@pytest.mark.parametrize("name", list(INDICES))
@pytest.mark.parametrize(
    ("values", "weights", "message"),
    [
        ([], None, r"shape \(0,\)"),
        ([[0.5, 0.5]], None, r"shape \(1, 2\)"),
        ([0.5, math.nan], None, "entry 1 is nan"),
        ([math.inf, 0.5], None, "entry 0 is inf"),
        ([0.5, -0.1], None, "entry 1 is -0.1"),
        (["a"], None, "not an array of numbers"),
        ([0.5, 0.5], [1.0], "1 entries for 2 clients"),
        ([0.5, 0.5], [0.0, 0.0], "all are 0"),
        ([0.5, 0.5], [1.0, -1.0], "weights: entry 1 is -1.0"),
        ([0.5, 0.5], [1.0, math.nan], "weights: entry 1 is nan"),
    ],
)
def test_every_index_refuses_what_is_no_loss_vector(name, values, weights, message):
    with pytest.raises(InputError, match=message) as caught:
        INDICES[name].function(values, weights)
    assert "\n" not in str(caught.value)


def test_losses_whose_sum_overflows_are_refused():
    with pytest.raises(InputError, match="their sum overflows; divide all of them"):
        indices.gini([1e308, 1e308])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: indices.worst_loss([1.0], share=20), "share = 20: must lie in .0, 1.; 20 % is 0.2"),
        (lambda: indices.worst_loss([1.0], share=0.0), "share = 0.0: must lie in"),
        (lambda: indices.tail_ratio([1.0], alpha=math.nan), "alpha = nan: must lie in"),
        (lambda: indices.atkinson([1.0], epsilon=-1.0), "epsilon = -1.0: aversion must be >= 0"),
        (lambda: indices.generalised_entropy([1.0], a=math.inf), "a = inf: the entropy's order"),
        (lambda: indices.worst_accuracy([93.0]), "accuracies: 93.0: must lie in .0, 1.; give shares, not per cent"),
    ],
)
def test_a_bad_parameter_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"loss": []}, "the table has no clients"),
        ({"loss": ["x"]}, "loss: not a list of numbers"),
        ({"loss": [1.0, math.nan]}, r"loss of client 'b' \(row 2\) is nan: must be finite and >= 0"),
        ({"loss": [1.0, -0.5]}, r"loss of client 'b' \(row 2\) is -0.5"),
        ({"loss": [math.inf, 1.0]}, r"loss of client 'a' \(row 1\) is inf"),
        ({"loss": [1.0]}, "client: 2 values for 1 losses"),
        ({"client": ["a", "a"]}, "client 'a' is in row 1 and in row 2: one row a client"),
        ({"client": ["a", ""]}, "client of client '' .row 2. is '': every client needs a name"),
        ({"client": ["a", None]}, "every client needs a name"),
        ({"accuracy": [0.5, 93.0]}, r"accuracy of client 'b' \(row 2\) is 93.0: .* give shares, not per cent"),
        ({"accuracy": [math.nan, 0.5]}, r"accuracy of client 'a' \(row 1\) is nan"),
        ({"accuracy": [0.5]}, "accuracy: 1 values for 2 losses"),
        ({"size": [10, 0]}, r"size of client 'b' \(row 2\) is 0.0: must be finite and > 0"),
        ({"group": ["x", ""]}, r"group of client 'b' \(row 2\) is ''"),
    ],
)
def test_a_bad_table_names_the_client_and_the_row(columns, message):
    good = {"client": ["a", "b"], "loss": [1.0, 2.0]}
    with pytest.raises(InputError, match=message) as caught:
        LossTable.of(**(good | columns))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha = 0.0: must lie in"),
        ({"beta": 1.5}, "beta = 1.5: must lie in"),
        ({"worst": 20}, "worst = 20: must lie in .0, 1.; 20 % is 0.2"),
        ({"phi": 1.0}, "phi = 1.0: must lie in"),
        ({"weighting": "sizes"}, "weighting = 'sizes': not known; did you mean 'size'"),
        ({"weighting": "size"}, "weighting = 'size': the table has no sizes"),
        ({"method": "bootstrap"}, "method = 'bootstrap': not known"),
        ({"level": 95}, "level = 95: must lie in"),
        ({"draws": 20}, "draws = 20: a 95 % interval needs at least 39"),
        ({"draws": -1}, "draws = -1"),
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_a_bad_setting_of_an_audit_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        audit(LossTable.of(loss=[1.0, 2.0]), **options)


def test_groups_need_a_group_column_and_a_comparison_needs_runs():
    with pytest.raises(InputError, match="group: the table has no such column"):
        audit_by(LossTable.of(loss=[1.0]))
    with pytest.raises(InputError, match="compare: no runs"):
        compare({})


def test_a_table_made_directly_is_checked_as_well():
    with pytest.raises(InputError, match="is in row 1 and in row 2"):
        LossTable(client=np.array(["a", "a"]), loss=np.array([1.0, 2.0]))
