"""Table 1's own specs on the real MNIST, cut short: the split's accident and the paper's claim, both plain early on."""

import pytest

from evenkeel.data.sources import load
from evenkeel.errors import InputError
from evenkeel.paper.experiment import specs
from evenkeel.paper.setting import Setting
from evenkeel.runs.compare import compare

SEEDS, ROUNDS = (0, 1, 2), 10
WHO = {"shuffled": ("fedavg", "scaff-pd-ia"), "class-ordered": ("fedavg",)}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What is compared under each split, three seeds."""
    try:
        load("mnist")
    except InputError as error:
        pytest.skip(f"no MNIST here: {error}")
    seen = {}
    for split, names in WHO.items():
        made = specs(Setting(dataset="mnist", split=split, local="steps"))
        own = {name: made[name].replace("rounds", ROUNDS) for name in names}
        own = {name: spec.replace("evaluation.every", ROUNDS) for name, spec in own.items()}
        seen[split], _ = compare(own, SEEDS, tmp_path_factory.mktemp(split), asked=1)
    return seen


def test_a_split_in_class_order_ruins_fedavg_and_a_shuffled_one_does_not(found):
    bad, good = (found[split].mean("fedavg", "accuracy") for split in ("class-ordered", "shuffled"))
    assert bad.high < good.low
    assert good.mean - bad.mean > 0.1


def test_relative_fairness_has_lower_ratio_and_gini_than_averaging_under_the_sound_split(found):
    for index in ("R", "gini"):
        assert found["shuffled"].gap("scaff-pd-ia", index).high < 0
