"""The table readers: what is written comes back, what is wrong is one line, and no bytes raise anything else.

The fuzz takes EVENKEEL_FUZZ inputs (6,000 unless told); the full count for a release is 120,000.
"""

import csv
import io
import json
import os
import random
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.data import table
from evenkeel.data.table import RULES, Sheet, load, parse, shown
from evenkeel.errors import InputError

FUZZ = int(os.environ.get("EVENKEEL_FUZZ", "6000"))

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=30).filter(
    lambda t: t.strip()
)
losses = st.floats(0, 1e300, allow_subnormal=False)
rows = st.lists(st.tuples(names, losses), min_size=1, max_size=20, unique_by=lambda row: row[0])


def as_csv(held, separator=","):
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows([("client", "loss"), *held])
    return out.getvalue().encode()


def as_jsonl(held):
    return "".join(json.dumps({"client": c, "loss": x}) + "\n" for c, x in held).encode()


def read(data, kind):
    sheet = parse(data, name="t", kind=kind)
    return list(zip(sheet.clients("client", "--client"), sheet.numbers("loss", RULES["loss"], "--loss"), strict=True))


@given(rows)
def test_csv_written_by_another_writer_comes_back_unchanged(held):
    assert read(as_csv(held), "csv") == held


@given(rows)
def test_tsv_written_by_another_writer_comes_back_unchanged(held):
    assert read(as_csv(held, "\t"), "tsv") == held


@given(rows)
def test_json_lines_come_back_unchanged(held):
    assert read(as_jsonl(held), "jsonl") == held


def test_parquet_comes_back_unchanged():
    held = [("a", 0.5), ("🐙 «x»", 1e-300), ("x" * 5000, 3.0)]
    out = io.BytesIO()
    pl.DataFrame(held, schema=["client", "loss"], orient="row").write_parquet(out)
    assert read(out.getvalue(), "parquet") == held


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_usual_dialects_of_csv_are_read_alike(separator, end, mark):
    text = mark + end.join([f"client{separator}loss", f"a{separator}0.5", "", f"b{separator} 2 ", ""])
    assert read(text.encode(), "csv") == [("a", 0.5), ("b", 2.0)]


@pytest.mark.parametrize("number", ["0", "-0", "+1", ".5", "5.", "1e-3", "1E5", " 2 ", "1e-400", "007"])
def test_a_number_in_any_usual_spelling_is_what_python_reads(number):
    assert read(f"client,loss\na,{number}\n".encode(), "csv") == [("a", float(number))]


@pytest.mark.parametrize("spelling", ["0x10", "1_000", "1,5", "１", "12%", "1e", "true", "one", "1 2", "−1"])
def test_what_is_no_plain_number_is_refused(spelling):
    with pytest.raises(InputError, match="must be a number"):
        read(as_csv([("a", 1.0), ("b", spelling)]), "csv")


def test_numeric_names_stay_as_they_are_written():
    assert [c for c, _ in read(b"client,loss\n007,1\n7,1\n7.0,1\n", "csv")] == ["007", "7", "7.0"]
    assert [c for c, _ in read(b'{"client":7,"loss":1}\n{"client":7.50,"loss":1}\n', "jsonl")] == ["7", "7.50"]


def test_a_number_of_any_length_is_text_in_json_lines_as_well():
    many = "9" * 6000
    assert [c for c, _ in read(f'{{"client":{many},"loss":1}}\n'.encode(), "jsonl")] == [many]
    with pytest.raises(InputError, match="must be finite"):
        read(f'{{"client":1,"loss":{many}}}\n'.encode(), "jsonl")


@given(st.lists(st.sampled_from(["a,1", "", '"b\n\nc",2', ",", '"d, e",3']), min_size=1, max_size=12), st.booleans())
def test_the_line_that_an_error_names_is_the_line_an_editor_shows(body, lead):
    text = "\n" * lead + "client,loss\n" + "".join(line + "\n" for line in body)
    wanted = text.count("\n") + 1
    with pytest.raises(InputError, match=f"t, line {wanted}: loss = 'bad'"):
        parse((text + "z,bad\n").encode(), name="t", kind="csv").numbers(
            "loss", table.Rule(lowest=-np.inf, says="", remedy=""), "--loss"
        )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("client,loss\na,1\nb,2,3\n", "line 3: 3 fields where the first line has 2"),
        ("client,loss\na,1\nb\n", "line 3: 1 fields where the first line has 2"),
        ('client,loss\na,1\n"b,2\nc,3\n', "after line 2: a quote"),
        ('client,loss\na,1\n"b"x,2\nc,3\n', "after line 2: a quote"),
        ("client,loss,loss\na,1,2\n", "column 'loss' is there twice"),
        ("client,loss\n\n", "a header without rows"),
        ("client,loss\na,1\nb,\n", "line 3: loss: a number is missing"),
        ("client,loss\na,1\n,2\n", "line 3: client is empty"),
        ("client,loss\na,1\nb,nan\n", "line 3: loss = 'nan': must be a number, not NaN"),
        ("client,loss\na,1\nb,NA\n", "line 3: loss = 'NA': a number is missing"),
        ("client,loss\na,1\nb,-inf\n", "line 3: loss = '-inf': must be finite"),
        ("client,loss\na,1\nb,1e999\n", "line 3: loss = '1e999': must be finite"),
        ("client,loss\na,1\nb,-1e-9\n", "line 3: loss = '-1e-9': must be at least 0"),
        ("Client,Loss\na,1\n", "no column 'client' in the first line; did you mean 'Client'"),
        ("client,loss\na,1\nb,1\na,2\n", "line 4: client 'a' is there twice, first at line 2"),
    ],
)
def test_each_fault_of_a_csv_is_named_with_its_line(text, says):
    with pytest.raises(InputError) as error:
        read(text.encode(), "csv")
    assert says in str(error.value)


def test_a_short_row_behind_a_very_long_field_is_still_found():
    text = f"client,loss\n{'x' * 200_000},1\nb\n"
    with pytest.raises(InputError, match="line 3: 1 fields"):
        read(text.encode(), "csv")


def test_bytes_that_look_like_a_compressed_file_are_read_as_the_text_they_are():
    assert parse(b"x\x01,client,loss\n1,a,2\n", name="t", kind="csv").columns == ["x\x01", "client", "loss"]


def test_a_damaged_parquet_file_neither_aborts_nor_prints(capfd):
    out = io.BytesIO()
    pl.DataFrame({"client": ["a", "b"], "loss": [1.0, 2.0]}).write_parquet(out)
    whole = out.getvalue()
    for damaged in (whole[: len(whole) // 2], whole[:40] + b"\xff" * 40 + whole[80:], b"PAR1" + b"\0" * 99 + b"PAR1"):
        with pytest.raises(InputError, match="damaged Parquet"):
            parse(damaged, name="t", kind="parquet")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("depth", [500, 900, 5000, 100_000])
def test_deeply_nested_json_is_one_error(depth):
    with pytest.raises(InputError, match="t, line 1"):
        read(b'{"client":"a","loss":' + b"[" * depth + b"]" * depth + b"}\n", "jsonl")


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"client": [[1]], "loss": [1.0]}),
        pl.DataFrame({"client": [b"a"], "loss": [1.0]}),
        pl.DataFrame({"client": ["a"], "loss": [True]}),
        pl.DataFrame({"client": ["a"], "loss": [{"x": 1}]}),
        pl.DataFrame({"client": ["a"], "loss": [None]}),
        pl.DataFrame({"client": [None], "loss": [1.0]}),
    ],
)
def test_a_typed_column_of_the_wrong_type_is_refused(frame):
    sheet = Sheet(name="t", frame=frame, records=np.arange(1), place=lambda i: f"row {i + 1}")
    with pytest.raises(InputError):
        _ = sheet.clients("client", "--client"), sheet.numbers("loss", RULES["loss"], "--loss")


def test_more_bytes_than_the_limit_are_refused_before_they_are_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "MAX_BYTES", 10)
    (tmp_path / "t.csv").write_bytes(b"client,loss\na,1\n")
    with pytest.raises(InputError, match="larger than"):
        load(str(tmp_path / "t.csv"))


@given(st.text(max_size=200))
def test_what_is_shown_is_one_printable_line_and_reads_the_same_where_it_can(text):
    line = shown(text)
    assert all(c.isprintable() or c in "\u200c\u200d" for c in line)
    assert line == text or not text.isprintable() or len(text) > 60


@given(st.binary(max_size=300), st.sampled_from(["csv", "tsv", "jsonl"]))
@settings(max_examples=300)
def test_any_bytes_are_a_table_or_one_line(data, kind):
    outcome(data, kind)


def test_mutated_tables_are_tables_or_one_line():
    """Small edits of good tables reach deeper than random bytes do."""
    rng = random.Random(os.environ.get("EVENKEEL_FUZZ_SEED", "1"))
    seen = Counter()
    for i in range(FUZZ):
        kind = ("csv", "tsv", "jsonl")[i % 3]
        seen[kind, outcome(mutated(rng.choice(SEEDS[kind]), rng), kind)] += 1
    assert all(seen[kind, True] and seen[kind, False] for kind in SEEDS), seen


SEEDS = {
    "csv": [
        b'client,loss,size\na,0.5,3\nb,1e-3,4\n"c,""d""",2,5\n',
        "client;loss;size\né;1;2\n\U0001f600;2;1\n".encode(),
        b"\xef\xbb\xbfclient,loss\r\na,1\r\n\r\nb,2\r\n",
    ],
    "tsv": [b'client\tloss\tsize\na\t0.5\t3\n"b\n"\t1\t4\n', b"client\tloss\r\na\t1\r\n\r\nb\t2\r\n"],
    "jsonl": [
        b'{"client":"a","loss":0.5,"size":3}\n{"client":2,"loss":1e3,"size":4}\n',
        b'{"client":"\\ud83d\\ude00","loss":0}\n\n{"loss":1,"client":"x"}\n',
    ],
}
ODD = [b'"', b",", b"\n", b"\r", b"\0", b"\xff", b"{", b"[", b"}", b"nan", b"1e999", b"\\ud800", b"\xef\xbb\xbf", b"-"]


def mutated(data, rng):
    held = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at, edit = rng.randrange(len(held) + 1), rng.randrange(5)
        if edit == 0:
            held[at : at + 1] = bytes([rng.randrange(256)])
        elif edit == 1:
            held[at:at] = rng.choice(ODD)
        elif edit == 2:
            del held[at : at + rng.randrange(1, 9)]
        elif edit == 3:
            start = rng.randrange(len(held) + 1)
            held[at:at] = held[start : start + rng.randrange(20)]
        elif rng.random() < 0.2:
            del held[at:]
    return bytes(held)


def outcome(data, kind):
    """Whether the bytes are a good table; an InputError must be one printable line, and any other error escapes."""
    try:
        sheet = parse(data, name="t", kind=kind)
        clients, values = sheet.clients("client", "--client"), sheet.numbers("loss", RULES["loss"], "--loss")
        if "size" in sheet.columns:
            assert (sheet.numbers("size", RULES["size"], "--size") > 0).all()
    except InputError as error:
        line = str(error)
    else:
        line = ""
    assert line.isprintable()  # a line break is not
    if line:
        return False
    assert len(set(clients)) == len(values) > 0
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    return True
