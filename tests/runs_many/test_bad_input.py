"""Every mistake in the commands with many runs: exit 2, one line on standard error, nothing written."""

import pytest

from .small import command, spec, written

MANY = {
    "compare": ["compare", "FILE"],
    "sweep": ["sweep", "FILE", "--phi", "0,0.1"],
    "tune": ["tune", "FILE"],
}
SHARED = [
    (["--seeds", "0"], "--seeds 0"),
    (["--seeds", "1001"], "--seeds 1001"),
    (["--first-seed", "-1"], "--first-seed -1"),
    (["--processes", "-1"], "--processes -1"),
    (["--out", "FILE"], "is a file"),
    (["--set", "algorithm.fi=0.3"], "phi"),
    (["--set", "rounds"], "must be key=value"),
    (["--set", "rounds=0"], "whole number of at least 1"),
]
OWN = [
    (["compare"], "give specs"),
    (["compare", "FILE", "--preset", "digits"], "give specs"),
    (["compare", "--preset", "digit"], "did you mean 'digits'"),
    (["compare", "no.toml"], "no such file"),
    (["compare", "FILE", "--level", "1"], "--level 1.0"),
    (["compare", "FILE", "FILE2"], "evaluation.alpha differs"),
    (["sweep", "FILE"], "give one of --phi"),
    (["sweep", "FILE", "--phi", "0,1", "--over", "seed=1,2"], "give one of --phi"),
    (["sweep", "--phi", "0,0.1"], "give one of SPEC.toml"),
    (["sweep", "FILE", "--preset", "digits", "--phi", "0,0.1"], "give one of SPEC.toml"),
    (["sweep", "FILE", "--phi", "0:0.6"], "first:last:step"),
    (["sweep", "FILE", "--phi", "0:2:0.5"], "below 1"),
    (["sweep", "FILE", "--over", "work.stepz=1,2"], "steps"),
    (["sweep", "FILE", "--over", "rounds=1.5,2"], "whole number"),
    (["sweep", "FILE", "--phi", "0,0.1", "--against", "gini"], "loss or accuracy"),
    (["tune"], "give specs"),
    (["tune", "FILE", "--trials", "0"], "--trials 0"),
    (["tune", "FILE", "--width", "1"], "--width 1"),
    (["tune", "FILE", "--criterion", "worst20_los"], "did you mean 'worst20_loss'"),
    (["tune", "FILE", "--criterion", "R"], "--most-mean"),
    (["tune", "FILE", "--most-mean", "-1"], "--most-mean -1"),
    (["tune", "FILE", "--set", "algorithm.sigma=0"], "above 0"),
]
CASES = OWN + [(words + more, says) for words in MANY.values() for more, says in SHARED]


@pytest.mark.parametrize(("words", "says"), CASES, ids=[" ".join(words) for words, _ in CASES])
def test_a_mistake_is_one_line_and_exit_2(tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    one, two = written(tmp_path, spec(), spec(evaluation__alpha=0.5))
    result = command(*[{"FILE": one, "FILE2": two}.get(word, word) for word in words], env={"COLUMNS": "300"})
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert says in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".toml") == []
