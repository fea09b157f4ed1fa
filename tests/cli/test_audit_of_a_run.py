"""`evenkeel audit RUN`: a run's folder stands for its last scores."""

import json

import pytest
from typer.testing import CliRunner

from evenkeel.cli import app
from evenkeel.runs import Run, execute
from tests.runs_many.small import spec


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return execute(spec(rounds=3), tmp_path_factory.mktemp("audited") / "run")


def audited(*arguments):
    result = CliRunner().invoke(app, ["audit", *map(str, arguments), "--draws", "0", "--json"])
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def test_a_folder_is_audited_as_the_run_audits_itself(run):
    own, told = Run.open(run.folder).audit(draws=0), audited(run.folder)
    assert told["audit"] == json.loads(json.dumps(own.to_dict()))
    assert told["source"]["only"] == ["round=3"]


def test_another_round_or_split_may_be_asked_for(run):
    last, first, train = (audited(run.folder, *words) for words in ((), ("--only", "round=1"), ("--split", "train")))
    assert first["source"]["only"] == ["round=1"]
    assert len({told["audit"]["mean"] for told in (last, first, train)}) == 3


def test_a_run_that_has_no_scores_yet_is_one_line(tmp_path, run):
    (tmp_path / "spec.toml").write_bytes((run.folder / "spec.toml").read_bytes())
    result = CliRunner().invoke(app, ["audit", str(tmp_path)])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
