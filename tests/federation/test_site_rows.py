"""What a site keeps to itself: vectors of too few rows, and the texts of its errors."""

import traceback

import pytest

from evenkeel.federation.answering import reply_to
from evenkeel.federation.checks import SAID
from evenkeel.federation.codec import ask_envelope
from evenkeel.federation.packing import pack
from evenkeel.federation.sites import Site, load_site
from evenkeel.protocol import Ask, Key
from evenkeel.runs import Spec
from evenkeel.runs.parts import federation_of, task_of
from tests.federation.small import spec

MADE = spec("scaff-pd-ia", 3)
ROWS = federation_of(MADE)
TASK = task_of(MADE, ROWS)
THETA = TASK.init(0)


def asked(phase, fuse=None, **config):
    """The server's question to the first client."""
    shared = {"theta": pack(THETA, "exact")} | ({"c": pack(THETA, "exact")} if phase == "local" else {})
    facts = {"client": 0, "name": ROWS.names[0], "train": int(ROWS.train.sizes[0]), "run": "r", "shape": [64],
             "classes": 10, "wire": "exact", "feedback": False, "fuse": fuse, "patience": 9.0}  # fmt: skip
    return ask_envelope(Ask(phase, {}, config=config), Key(0, 0), 0, shared, facts | {"nonce": "n"})


def said(envelope, fewest):
    return reply_to(envelope, Site(name=ROWS.names[0], rows=ROWS, fewest=fewest), lambda *_: TASK)


LOCAL = {"eta": 0.1, "steps": 2, "dropout": False, "divisor": 0}


@pytest.mark.parametrize(
    "question",
    [
        asked("gradient", batch=15),
        asked("local", batch=15, control_batch=0, **LOCAL),
        asked("local", batch=0, control_batch=15, **LOCAL),
        asked("probe", fuse={"batch": 15}),
    ],
    ids=["gradient", "local", "its control gradient", "fused with a probe"],
)
def test_a_vector_of_too_few_rows_does_not_leave(question):
    refused, answered = said(question, fewest=16), said(question, fewest=15)
    assert (refused.kind, dict(refused.arrays)) == ("refusal", {})
    assert "no vector made of fewer than 16" in refused.facts["why"]
    assert answered.kind == "reply"


@pytest.mark.parametrize("question", [asked("gradient", batch=0), asked("gradient", batch=10**6)], ids=["all", "more"])
def test_all_rows_of_a_small_site_may_be_too_few(question):
    rows = int(ROWS.train.sizes[0])
    assert said(question, fewest=rows).kind == "reply"
    assert said(question, fewest=rows + 1).kind == "refusal"


def test_numbers_alone_may_always_leave():
    assert said(asked("probe"), fewest=10**9).kind == "reply"
    assert said(asked("score", split="valid"), fewest=10**9).kind == "reply"


def test_every_step_that_sends_vectors_is_among_those_that_are_checked():
    from evenkeel.federation.answering import _WITHOUT_VECTORS

    assert {phase for phase, (_, vectors) in SAID.items() if not vectors} == _WITHOUT_VECTORS


def test_a_site_takes_the_number_from_its_own_settings():
    assert load_site({"name": ROWS.names[1], "part": ROWS.names[1], "fewest": 16}, MADE, {}).fewest == 16


LOADER = "def load():\n    raise ValueError('Ms Smith, 41')\n"


def test_the_text_of_a_loaders_error_stays_at_the_site(tmp_path, capsys):
    """Flower sends what an exception says; a reader of tables quotes the row that it stumbled over."""
    pytest.importorskip("flwr", reason="runs in .venv-federate")
    from evenkeel.federation.client import discreet

    (tmp_path / "data.py").write_text(LOADER)
    config = {"name": "north", "site": str(tmp_path / "data.py")}
    with pytest.raises(RuntimeError) as told:
        discreet(lambda: load_site(config, Spec.of({"data": {"source": "given"}}), {}))
    leaves = "".join(traceback.format_exception(told.value)) + str(told.value)
    assert "ValueError at the site" in leaves
    assert "Smith" not in str(told.value)
    assert told.value.__cause__ is None
    assert "Ms Smith, 41" in capsys.readouterr().err
