"""The protocol study: variants change what they say, the distance is the stated one, another dual loss is heard."""

import numpy as np
import pytest
import torch

from evenkeel.errors import InputError
from evenkeel.paper import variants
from evenkeel.paper.dual_loss import DualLoss
from evenkeel.paper.experiment import specs
from evenkeel.paper.printed import COLUMNS, TABLE1
from evenkeel.paper.setting import Setting
from evenkeel.paper.study import distance, found, pieces, study, table, whole
from evenkeel.paper.variants import VARIANTS, Variant
from evenkeel.protocol import Ask, Key
from evenkeel.runs import parts


def flat(spec):
    held = spec.resolved().table()
    return {f"{s}.{k}": v for s, t in held.items() if isinstance(t, dict) for k, v in t.items()}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_differs_from_the_papers_specs_in_its_changes_alone(name):
    v = VARIANTS[name]
    for algorithm, spec in v.specs(name).items():
        base, own = flat(specs(v.setting)[algorithm]), flat(spec)
        changed = {key: own.get(key) for key in base | own if base.get(key) != own.get(key)}
        assert changed == dict(v.changes)


def test_the_distance_counts_in_spreads_of_the_printed_column():
    printed = {c: float(getattr(TABLE1["mnist"]["safl"], c)) for c in COLUMNS}
    spread = np.std([float(row.R) for row in TABLE1["mnist"].values()])
    assert distance("mnist", "safl", printed | {"R": printed["R"] + spread}) == pytest.approx(np.sqrt(1 / 5))


@pytest.fixture(scope="module")
def small():
    spec = specs(Setting(dataset="mnist", local="steps", quick=True))["scaff-pd-ia"].replace("partition.n", 8)
    rows = parts.federation_of(spec)
    task = parts.task_of(spec, rows)
    return spec, rows, task, parts.transport_of(spec, task, rows, 1)


def test_another_dual_loss_is_heard_in_the_probe_alone(small):
    _, rows, task, engine = small
    theta, key = task.init(0), Key(0, 3)
    ask = Ask("probe", {"theta": theta})
    whole, valid, batch = (DualLoss(engine, kind, 16).answer(ask, key)["loss"] for kind in ("train", "valid", "batch"))
    for i in range(rows.n):
        at = torch.from_numpy(rows.valid[i])
        own = task.losses(theta, task.fit(rows.x[at]), task.fit(rows.y[at])).mean()
        assert valid[i] == pytest.approx(float(own), rel=1e-5)
    assert whole == pytest.approx(engine.answer(ask, key)["loss"])
    assert not np.allclose(batch, whole)
    assert np.abs(batch - whole).mean() < 1  # near, as it is the same rows' loss
    told = DualLoss(engine, "valid").answer(Ask("score", {"theta": theta}, config={"split": "train"}), key)
    assert told["loss"] == pytest.approx(whole)


def test_a_study_stores_ordinary_runs_and_goes_on(tmp_path, monkeypatch):
    quick = Setting(dataset="mnist", local="steps", quick=True)
    short = {"rounds": 2, "partition.n": 10}
    monkeypatch.setattr(
        "evenkeel.paper.variants.VARIANTS",
        {
            "plain": Variant(what="two rounds", setting=quick, algorithms=("safl",), changes=short),
            "leak": Variant(what="validation", setting=quick, algorithms=("safl",), changes=short, dual="valid"),
            "never": Variant(what="not run", setting=quick),
        },
    )
    monkeypatch.setattr("evenkeel.paper.study.PROTOCOLS", {})
    study(["plain", "leak"], tmp_path, asked=1)
    lines = list(table(tmp_path, ["plain", "leak", "never"]))
    assert [line.split("|")[3].strip() for line in lines[2:4]] == ["safl", "safl"]
    assert lines[-1] == "Not run: never."
    monkeypatch.setattr("evenkeel.paper.study.spread", lambda *a: pytest.fail("ran again"))
    study(["plain", "leak"], tmp_path, asked=1)
    (own,) = pieces("plain", variants.VARIANTS["plain"], tmp_path)
    assert own.job.folder.is_dir()
    assert found("plain", tmp_path)["safl"]["seeds"] == 1


def test_a_whole_protocol_takes_each_algorithm_from_the_first_variant_that_has_it(tmp_path, monkeypatch):
    held = {"a": {"scaffold": 0.5}, "b": dict.fromkeys(TABLE1["mnist"], 2.0), "c": {"safl": 1.0}}
    told = {name: {a: {"distance": d} for a, d in own.items()} for name, own in held.items()}
    monkeypatch.setattr("evenkeel.paper.study.found", lambda name, _: told[name])
    monkeypatch.setattr("evenkeel.paper.study.PROTOCOLS", {"both": ("a", "b"), "too few": ("c",)})
    (line,) = whole(tmp_path)
    assert [cell.strip() for cell in line.split("|")][1:-1] == ["both", "2.00", "0.50", *["2.00"] * 4, "**1.75**"]


def test_an_unknown_variant_is_named_with_its_nearest():
    with pytest.raises(InputError, match="did you mean 'raw'"):
        variants.variant("rwa")
