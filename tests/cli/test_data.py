"""`evenkeel data`: who owns what, before anything is trained."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from evenkeel.cli import app
from evenkeel.cli.data import SHADES, _tell, heat
from evenkeel.data.describe import Description
from evenkeel.data.sources import load


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["data", *arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout if code == 0 else result.stderr


def test_every_row_is_somebodys_and_the_table_says_whose(tmp_path):
    held = json.loads(run("digits", "--set", "partition.n=7", "--out", str(tmp_path / "t.parquet"), "--json"))
    table = pl.read_parquet(tmp_path / "t.parquet")
    labels = load("digits").y.numpy()
    assert held["kind"] == "data"
    assert table.group_by("class").agg(pl.col("count").sum()).sort("class")["count"].to_list() == list(
        np.bincount(labels)
    )
    assert table.group_by("client", maintain_order=True).agg(pl.col("count").sum())["count"].to_list() == held["sizes"]


@pytest.mark.parametrize(("ends", "begins"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_map_is_drawn_as_what_its_name_says(tmp_path, ends, begins):
    file = tmp_path / f"map.{ends}"
    assert str(file) in run("digits", "--set", "partition.n=5", "--out", str(file)).replace("\n", "")
    assert file.read_bytes().startswith(begins)


def test_shades_grow_with_rows_and_nothing_is_blank_but_none():
    counts = np.arange(60).reshape(6, 10)
    lines = heat(counts, 80)
    drawn = np.array([[SHADES.index(c) for c in line[2:]] for line in lines]).T  # client × class
    order = np.argsort(-counts.sum(axis=1))
    pairs = sorted(zip(counts[order].ravel(), drawn.ravel(), strict=True))
    assert [level for _, level in pairs] == sorted(level for _, level in pairs)
    assert [level == 0 for _, level in pairs] == [count == 0 for count, _ in pairs]
    assert pairs[-1][1] == len(SHADES) - 1


def test_what_is_said_to_be_shown_is_what_is_shown(capsys):
    counts = np.ones((5, 12), dtype=np.int64)
    names = tuple("abcde")
    five = Description(origin="", names=names, train=counts.sum(1), valid=0 * counts.sum(1), counts=counts)
    _tell(five, None)
    assert "largest of" not in capsys.readouterr().out


def test_a_regression_has_sizes_and_no_map():
    said = run("penguins")
    assert "342" in said
    assert "classes" not in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "one of DATA"),
        (["digits", "--preset", "digits"], "one of DATA"),
        (["digit"], "did you mean 'digits'"),
        (["nothing.toml"], "no such file"),
        (["digits", "--out", "map.txt"], ".svg"),
        (["penguins", "--out", "map.svg"], "regression"),
        (["digits", "--set", "partition.n=0"], "partition.n"),
    ],
)
def test_a_mistake_is_one_line(arguments, said):
    line = run(*arguments, code=2)
    assert said in line
    assert len(line.splitlines()) == 1
