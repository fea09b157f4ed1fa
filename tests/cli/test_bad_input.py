"""Whatever is wrong with what the user gave: exit 2, one line that names the file and the rule, nothing written."""

import io
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from evenkeel.cli import app

HEAD = "client,loss\na,0.5\n"


def parquet(**columns):
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


# file name, its content, further options, what the line must say
FILES = [
    ("empty.csv", b"", [], "empty"),
    ("blank.csv", b"\n \n\n", [], "empty"),
    ("head.csv", b"client,loss\n", [], "a header without rows"),
    ("nohead.csv", b"a,1\nb,2\n", [], "no column 'client'"),
    ("case.csv", b"Client,Loss\na,1\n", [], "did you mean 'Client'"),
    ("noloss.csv", b"client,los\na,1\n", [], "did you mean 'los'"),
    ("twice.csv", b"client,loss,loss\na,1,2\n", [], "column 'loss' is there twice"),
    ("nan.csv", f"{HEAD}b,nan\n", [], "line 3: loss = 'nan': must be a number, not NaN"),
    ("inf.csv", f"{HEAD}b,inf\n", [], "line 3: loss = 'inf': must be finite"),
    ("huge.csv", f"{HEAD}b,1e400\n", [], "line 3: loss = '1e400': must be finite"),
    ("minus.csv", f"{HEAD}b,-0.1\n", [], "line 3: loss = '-0.1': must be at least 0"),
    ("gap.csv", f"{HEAD}b,\n", [], "line 3: loss: a number is missing"),
    ("na.csv", f"{HEAD}b,N/A\n", [], "line 3: loss = 'N/A': a number is missing"),
    ("word.csv", f"{HEAD}b,high\n", [], "line 3: loss = 'high': must be a number"),
    ("comma.csv", b"client;loss\na;0,5\n", [], "line 2: loss = '0,5': must be a number; write it like 0.5"),
    ("hex.csv", f"{HEAD}b,0x1p3\n", [], "line 3: loss = '0x1p3': must be a number"),
    ("noname.csv", f"{HEAD},1\n", [], "line 3: client is empty"),
    ("same.csv", f"{HEAD}b,1\na,2\n", [], "line 4: client 'a' is there twice, first at line 2"),
    ("markup.csv", f"{HEAD}[red]x[/],1\n[red]x[/],2\n", [], "client '[red]x[/]' is there twice"),
    ("escape.csv", f"{HEAD}b,\x1b[31m1\n", [], r"loss = '\x1b[31m1': must be a number"),
    ("newline.csv", f'{HEAD}b,"1\n2"\n', [], r"loss = '1\n2': must be a number"),
    ("long.csv", f"{HEAD}b,{'9x' * 4000}\n", [], "…': must be a number"),
    ("more.csv", f"{HEAD}b,1,2\n", [], "line 3: 3 fields where the first line has 2"),
    ("less.csv", f"{HEAD}b\n", [], "line 3: 1 fields where the first line has 2"),
    ("quote.csv", f'{HEAD}"b,1\nc,2\n', [], "after line 2: a quote"),
    ("utf16.csv", HEAD.encode("utf-16"), [], "UTF-16 text: must be UTF-8"),
    ("utf16le.csv", HEAD.encode("utf-16-le"), [], "NUL byte"),
    ("latin.csv", f"{HEAD}é,1\n".encode("latin-1"), [], "line 3: byte 0xe9 is not UTF-8"),
    ("nul.csv", f"{HEAD}b\0,1\n", [], "line 3: NUL byte"),
    ("gzip.csv", b"\x1f\x8b\x08\x00rest", [], "byte 0x8b is not UTF-8"),
    ("acc.csv", "client,loss,accuracy\na,1,87\n", [], "accuracy = '87': must lie in [0, 1]; divide percentages"),
    ("size.csv", "client,loss,size\na,1,0\n", ["--weighting", "size"], "size = '0': must be above 0"),
    ("nosize.csv", HEAD, ["--weighting", "size"], "no column 'size'"),
    ("nogroup.csv", HEAD, ["--by", "region"], "no column 'region'"),
    ("groupgap.csv", "client,loss,region\na,1,\n", ["--by", "region"], "line 2: region is empty"),
    ("norun.csv", HEAD, ["--compare", "run"], "no column 'run'"),
    ("onerun.csv", "client,loss,run\na,1,x\n", ["--compare", "run"], "one value, 'x': comparing needs two runs"),
    ("rungap.csv", "client,loss,run\na,1,x\na,1,y\na,2,y\n", ["--compare", "run"], "line 4: client 'a' is there twice"),
    ("only.csv", HEAD, ["--only", "client=b"], "no row has client = 'b'"),
    ("splits.csv", "client,loss,split\na,1,train\na,2,test\n", [], "several values (train, test); say which"),
    ("split.csv", "client,loss,split\na,1,train\n", ["--split", "tran"], "did you mean 'train'"),
    ("overflow.csv", "client,loss\na,1e308\nb,1e308\n", [], "overflow"),
    ("list.jsonl", b'[{"client":"a","loss":1}]\n', [], 'line 1: \'[{"client":"a","loss":1}]\': must be one object'),
    ("cut.jsonl", b'{"client":"a","loss":1}\n{"client":"b","lo', [], "line 2: not JSON"),
    ("mixed.jsonl", b'{"client":"a","loss":1}\n{"client":"b","loss":true}\n', [], "line 2: loss = 'true'"),
    ("keys.jsonl", b'{"client":"a","loss":1}\n{"client":"b"}\n', [], "line 2: key 'loss'"),
    ("half.jsonl", b'{"client":"\\ud800","loss":1}\n', [], "line 1: not JSON (surrogates"),
    ("null.jsonl", b'{"client":"a","loss":null}\n', [], "line 1: loss: a number is missing"),
    ("text.parquet", HEAD, [], "not a Parquet file"),
    ("cut.parquet", parquet(client=["a"], loss=[1.0])[:60], [], "damaged Parquet"),
    ("type.parquet", parquet(client=["a"], loss=[True]), [], "column 'loss' holds Boolean: must be numbers"),
    ("nan.parquet", parquet(client=["a", "b"], loss=[1.0, float("nan")]), [], "row 2: loss = 'nan': must be a number"),
    ("none.parquet", parquet(client=["a"], loss=[1.0]).replace(b"loss", b"lost"), [], "no column 'loss'"),
    ("table.xlsx", b"PK\x03\x04", [], "unknown extension '.xlsx'"),
    ("table", HEAD, [], "unknown extension ''"),
]

# options alone, and what the line must say
OPTIONS = [
    (["audit"], "no table: give a FILE"),
    (["audit", "--example", "t.csv"], "leave one of them out"),
    (["audit", "--example", "--alpha", "0"], "alpha = 0.0: must lie in (0, 1]"),
    (["audit", "--example", "--alpha", "20"], "20 % is 0.2"),
    (["audit", "--example", "--beta", "nan"], "beta = nan: must lie in (0, 1]"),
    (["audit", "--example", "--phi", "1"], "phi"),
    (["audit", "--example", "--draws", "3"], "draws = 3"),
    (["audit", "--example", "--draws", "-1"], "draws = -1"),
    (["audit", "--example", "--draws", "many"], "--draws"),
    (["audit", "--example", "--level", "1"], "level = 1.0: must lie in (0, 1)"),
    (["audit", "--example", "--seed", "-1"], "seed = -1"),
    (["audit", "--example", "--weighting", "sizes"], "--weighting"),
    (["audit", "--example", "--preset", "20:80"], "--preset"),
    (["audit", "--example", "--preset", "palma", "--alpha", "0.1"], "a preset sets both"),
    (["audit", "--example", "--by", "region", "--compare", "run"], "--by and --compare: one at a time"),
    (["audit", "--example", "--only", "region"], "must be COLUMN=VALUE"),
    (["audit", "--example", "--out", "result.txt"], "must end in .json or .html, or be a directory"),
    (["audit", "--exmple"], "--exmple"),
    (["audti"], "audti"),
    (["list"], "KIND"),
    (["list", "set"], "did you mean 'sets'"),
    (["audit", "missing.csv"], "missing.csv: no such file"),
    (["audit", "no/such/place.csv"], "no such file"),
    (["audit", "."], "is a directory"),
    (["audit", "a\0b.csv"], "cannot be read"),
    (["audit", ""], "is a directory"),
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(arguments, **given):
    """The one line on standard error."""
    result = CliRunner().invoke(app, arguments, **given)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].isprintable()
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.parametrize(("name", "content", "options", "says"), FILES, ids=[case[0] for case in FILES])
def test_a_bad_table_is_one_line_that_names_the_file_and_the_rule(here, name, content, options, says):
    (here / name).write_bytes(content.encode() if isinstance(content, str) else content)
    line = refused(["audit", name, "--out", "kept", *options])
    assert f"error: {name}" in line
    assert says in line
    assert {p.name for p in here.iterdir()} == {name}


@pytest.mark.parametrize(("arguments", "says"), OPTIONS, ids=[" ".join(case[0]) for case in OPTIONS])
def test_a_bad_command_is_one_line(here, arguments, says):
    assert says in refused(arguments)
    assert list(here.iterdir()) == []


def test_the_extension_can_be_overruled_but_not_the_content(here):
    (here / "t.data").write_text(HEAD)
    assert CliRunner().invoke(app, ["audit", "t.data", "--format", "csv"]).exit_code == 0
    assert "t.data: not a Parquet file" in refused(["audit", "t.data", "--format", "parquet"])


def test_bad_standard_input_is_named_as_such():
    assert "error: standard input, line 2: loss = 'x'" in refused(["audit", "-"], input="client,loss\na,x\n")
    assert "error: standard input: empty" in refused(["audit", "-"], input="")


def test_a_file_that_may_not_be_read_is_named(here, monkeypatch):
    (here / "t.csv").write_text(HEAD)

    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)  # the tests may run as root, whom no mode keeps out
    assert "t.csv: cannot be read (permission denied)" in refused(["audit", "t.csv"])


@pytest.mark.parametrize("blocker", ["taken", "taken/deeper"])
def test_a_place_that_cannot_be_written_is_named_and_left_as_it_was(here, blocker):
    (here / "taken").write_text("mine")
    assert "cannot be written" in refused(["audit", "--example", "--draws", "0", "--out", f"{blocker}/a.json"])
    assert (here / "taken").read_text() == "mine"


def test_a_device_is_never_replaced_by_a_file(here):
    (here / "null.json").symlink_to("/dev/null")
    assert "no file" in refused(["audit", "--example", "--draws", "0", "--out", "null.json"])
    assert (here / "null.json").is_symlink()
