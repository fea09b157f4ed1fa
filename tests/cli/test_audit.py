"""What `evenkeel audit` says and writes, against plain loops over the same table."""

import csv
import json
import math
import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from evenkeel.cli import app, words
from evenkeel.cli.examples import SYNTHETIC
from evenkeel.cli.examples.make import table
from evenkeel.cli.save import save
from evenkeel.indices import INDICES, LossTable, audit

NASTY = [
    "[red]bold[/red]",
    "🐙👩\u200d👩\u200d👧",
    'say "hi"',
    "a,b;c\td",
    "\x1b[31mred",
    "x" * 5000,
    "two\nlines",
    "ü",
    "1",
    "1.0",
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, width=80, **given):
    result = CliRunner().invoke(app, ["audit", *arguments], env={"COLUMNS": str(width), "TERM": "dumb"}, **given)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def as_json(*arguments, **given):
    return json.loads(run(*arguments, "--json", **given).stdout)


def losses(**where):
    with SYNTHETIC.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if all(row[k] == v for k, v in where.items())]
    return sorted(float(row["loss"]) for row in rows)


def mean(values):
    return math.fsum(values) / len(values)


def test_the_bundled_table_is_what_its_script_writes():
    assert SYNTHETIC.read_text(encoding="utf-8") == table()


def test_the_example_ends_with_the_place_of_its_output(here):
    last = run("--example").stdout.splitlines()[-1]
    assert last == "Written to runs/example-audit/audit.json"
    assert json.loads((here / "runs/example-audit/audit.json").read_text())["kind"] == "comparison"


def test_the_example_says_that_its_data_are_synthetic():
    result = run("--example", "--draws", "60")
    assert result.stdout.splitlines()[0] == "Synthetic data: these clinics do not exist."
    assert "100 synthetic clinics" in result.stdout


def test_the_numbers_are_those_of_a_plain_loop():
    held = as_json("--example", "--only", "run=averaging")["audit"]
    x = losses(run="averaging")
    assert held["n"] == 100
    assert held["mean"] == pytest.approx(mean(x), rel=1e-12)
    assert held["R"] == pytest.approx(mean(x[-20:]) / mean(x[:20]), rel=1e-12)
    assert held["max"] == x[-1]
    assert held["worst_off"][0]["loss"] == x[-1]
    low, high = held["intervals"]["R"]
    assert low < held["R"] < high


@pytest.mark.parametrize(("preset", "worst", "best"), [("20:20", 20, 20), ("palma", 10, 40), ("atkinson", 1, 100)])
def test_a_preset_is_the_ratio_of_its_tails(preset, worst, best):
    held = as_json("--example", "--only", "run=averaging", "--preset", preset, "--draws", "0")["audit"]
    x = losses(run="averaging")
    assert held["R"] == pytest.approx(mean(x[-worst:]) / mean(x[:best]), rel=1e-12)


def test_by_gives_one_audit_a_group():
    held = as_json("--example", "--by", "region", "--draws", "100")
    assert held["kind"] == "groups"
    assert {a["group"]: a["mean"] for a in held["audits"]} == {
        region: pytest.approx(mean(losses(run="averaging", region=region)))
        for region in ("coast", "hills", "islands", "plain")
    }


def test_compare_gives_each_run_and_its_difference_to_the_first():
    held = as_json("--example", "--compare", "run", "--draws", "200")["comparison"]
    assert held["baseline"] == "averaging"
    value, low, high = held["differences"]["relative"]["mean"]
    assert value == pytest.approx(mean(losses(run="relative")) - mean(losses(run="averaging")))
    assert low < value < high
    assert held["paired"] == {"relative": True}


def test_only_narrows_the_table_and_labels_the_result():
    held = as_json("--example", "--only", "run=relative", "--only", "region=hills", "--draws", "0")["audit"]
    assert held["mean"] == pytest.approx(mean(losses(run="relative", region="hills")))
    assert held["population"] == "100 synthetic clinics with run=relative with region=hills"


def test_weighting_by_size_counts_each_row_of_each_client(here):
    (here / "t.csv").write_text("client,loss,size\na,1,3\nb,5,1\n")
    assert as_json("t.csv", "--weighting", "size", "--draws", "0")["audit"]["mean"] == 2.0
    atkinson = as_json("t.csv", "--weighting", "size", "--draws", "0", "--preset", "atkinson")["audit"]
    assert atkinson["R"] == pytest.approx(5 / 2)


def test_a_split_column_picks_rows_and_without_one_the_name_is_a_label(here):
    (here / "with.csv").write_text("client,loss,split\na,1,train\na,3,test\nb,5,test\n")
    (here / "without.csv").write_text("client,loss\na,1\n")
    held = as_json("with.csv", "--split", "test", "--draws", "0")["audit"]
    assert (held["mean"], held["split"], held["n"]) == (4.0, "test", 2)
    assert as_json("without.csv", "--split", "mine")["audit"]["split"] == "mine"
    assert as_json("without.csv")["audit"]["split"] == "not stated"


def test_the_same_table_in_any_format_gives_the_same_result(here):
    frame = pl.DataFrame({"client": ["a", "ü", "c,d"], "loss": [0.5, 1.25, 3.0], "accuracy": [0.9, 0.5, 0.1]})
    frame.write_csv("t.csv")
    frame.write_csv("t.tsv", separator="\t")
    frame.write_parquet("t.parquet")
    frame.write_ndjson("t.jsonl")
    piped = [
        as_json("-", "--draws", "60", input=(here / f"t.{kind}").read_bytes())
        for kind in ("csv", "tsv", "parquet", "jsonl")
    ]
    read = [as_json(f"t.{kind}", "--draws", "60") for kind in ("csv", "tsv", "parquet", "jsonl")]
    assert all(held["audit"] == read[0]["audit"] for held in read + piped)


def test_the_keys_of_the_json_are_stable():
    held = as_json("--example", "--only", "run=relative", "--draws", "100")
    assert list(held) == ["evenkeel", "schema", "source", "kind", "audit"]
    assert list(held["source"]) == ["file", "rows", "client", "loss", "only"]
    assert {"n", "mean", "min", "max", "R", "gini", "intervals", "population", "split", "worst_off"} <= held[
        "audit"
    ].keys()
    assert held["source"]["file"] == SYNTHETIC.name


def test_json_has_standard_output_for_itself():
    result = run("--example", "--json", "--draws", "60")
    json.loads(result.stdout)
    assert result.stderr == "Written to runs/example-audit/audit.json\n"


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    one, two, other = (run("--example", "--json", "--draws", "60", "--seed", seed).stdout for seed in "778")
    assert one == two
    assert one.replace('"seed": 7', '"seed": 8') != other


def test_infinite_ratios_are_strict_json(here):
    (here / "t.csv").write_text("client,loss\n" + "".join(f"c{i},{int(i == 0)}\n" for i in range(10)))
    text = run("t.csv", "--json").stdout

    def refuse(word):
        raise AssertionError(word)

    assert json.loads(text, parse_constant=refuse)["audit"]["R"] == "inf"
    assert "so the ratio is infinite" in " ".join(run("t.csv").stdout.split())


@pytest.mark.parametrize("option", ["--draws=100", "--by=group", "--compare=group"])
@pytest.mark.parametrize("width", [20, 80, 200])
def test_names_of_any_kind_are_shown_without_markup_or_control_characters(here, option, width):
    with (here / "t.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["client", "loss", "group"])
        lines.writerows([name, len(NASTY) - i, name] for i, name in enumerate(NASTY))
    text = run("t.csv", option, width=width).stdout
    assert all(line.replace("\u200d", "").isprintable() for line in text.splitlines())
    if width == 200:
        assert "[red]bold" in text


def test_names_of_any_kind_come_back_from_json(here):
    with (here / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["client", "loss", "group"], *([name, i + 1, name] for i, name in enumerate(NASTY))]
        )
    result = run("t.csv", "--by", "group", "--json", "--draws", "0").stdout
    assert result.isascii()
    assert {a["group"] for a in json.loads(result)["audits"]} == set(NASTY)


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("more", [[], ["--by", "region"], ["--only", "run=relative"]])
def test_no_line_is_wider_than_the_terminal_and_no_digit_is_cut(width, more):
    text = run("--example", "--draws", "60", *more, width=width).stdout
    assert all(len(line) <= width for line in text.splitlines())
    assert "…" not in text


def test_the_sentence_gives_ratio_interval_and_both_means():
    text = run("--example", "--only", "run=averaging").stdout.replace("\n", " ")
    said = re.search(r"have ([\d.]+) times .* interval ([\d.]+) to ([\d.]+)\): ([\d.]+) against ([\d.]+)\.", text)
    ratio, low, high, worst, best = map(float, said.groups())
    x = losses(run="averaging")
    assert worst == pytest.approx(mean(x[-20:]), rel=1e-3)
    assert best == pytest.approx(mean(x[:20]), rel=1e-3)
    assert low < ratio < high


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=12), st.floats(0.01, 1), st.floats(0.01, 1))
@settings(max_examples=150)
def test_every_table_has_a_sentence_and_its_denominator_is_the_best_tail(values, alpha, beta):
    a = audit(LossTable.of(loss=values), alpha=alpha, beta=beta, draws=0)
    assert words.headline(a).endswith(".")
    ordered, k = sorted(values), beta * len(values)
    tail = sum(x * min(1, max(0, k - i)) for i, x in enumerate(ordered)) / k
    assert words.best_loss(a) == pytest.approx(tail, rel=1e-9, abs=1e-300) or a.R == 1


def test_out_takes_a_file_or_a_directory_and_replaces_what_was_there(here):
    for place, file in (("a.json", "a.json"), ("new/deep", "new/deep/audit.json"), ("a.json", "a.json")):
        assert run("--example", "--draws", "0", "--out", place).stdout.splitlines()[-1] == f"Written to {file}"
        json.loads((here / file).read_text())
    assert not [p for p in here.rglob("*") if p.name.endswith(".part")]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(here, monkeypatch):
    file = here / "a.json"
    save(file, "old")

    def broken(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(KeyboardInterrupt):
        save(file, "new")
    assert [p.name for p in here.iterdir()] == ["a.json"]
    assert file.read_text() == "old\n"


def test_every_index_of_the_table_is_in_the_catalogue():
    text = run("--example", "--only", "run=averaging", "--draws", "0", width=200).stdout
    table_ = text.split("index", 1)[1].splitlines()[1:]
    shown = [line.split()[0] for line in table_ if line and not line.startswith(" ")]
    assert set(shown) - {"Read", "Written"} <= INDICES.keys()
    assert {"mean", "R", "gini", "palma"} <= set(shown)
