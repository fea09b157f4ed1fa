"""What stands in the file of a page, whoever opens it."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from evenkeel.cli import app
from evenkeel.indices import INDICES
from evenkeel.report import gather, page, sections
from evenkeel.report.blocks import Block, encode, rows
from evenkeel.report.charts.look import picture
from tests.report.made import NASTY, content


class Read(HTMLParser):
    """Elements with their attributes, the texts outside programs, and the programs."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self.scripts, self._in = [], "", [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._in = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._in = ""

    def handle_data(self, data):
        if self._in == "script":
            self.scripts[-1] += data
        elif self._in != "style":
            self.text += data


@pytest.fixture(scope="module")
def whole():
    return page.html(content())


def test_ten_runs_of_a_hundred_clients_over_a_hundred_rounds_take_at_most_3_mb():
    held = content(runs=10, n=100, rounds=100, draws=0)
    assert len(page.html(held).encode()) <= 3_000_000


def test_the_page_names_nothing_to_load(whole):
    for tag, attributes in Read(whole).elements:
        assert tag not in {"link", "iframe", "object", "embed", "base", "img", "audio", "video"}
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            assert attributes.get(name, "#").startswith("#"), (tag, attributes)


def test_the_policy_lets_only_our_programs_run_and_nothing_be_fetched(whole):
    read = Read(whole)
    policy = next(a["content"] for tag, a in read.elements if a.get("http-equiv") == "Content-Security-Policy")
    programs = [
        s
        for s, (_, a) in zip(read.scripts, [e for e in read.elements if e[0] == "script"], strict=True)
        if "type" not in a
    ]
    digests = {f"'sha256-{base64.b64encode(hashlib.sha256(p.encode()).digest()).decode()}'" for p in programs}
    scripts = dict(part.strip().split(" ", 1) for part in policy.split(";"))["script-src"].split()
    assert len(programs) == 2
    assert digests <= set(scripts)
    assert "'unsafe-inline'" not in scripts
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy


def test_names_with_markup_are_text_and_open_no_element():
    plain, nasty = Read(page.html(content(n=len(NASTY) + 5))), Read(page.html(content(n=len(NASTY) + 5, nasty=NASTY)))
    assert [tag for tag, _ in nasty.elements] == [tag for tag, _ in plain.elements]
    assert not any(name.startswith("on") for _, attributes in nasty.elements for name in attributes)
    assert NASTY[0] in nasty.text


def test_every_figure_says_population_split_and_weighting():
    held = content()
    for section in sections.sections(held, gather.tables(held)):
        for figure in section.figures:
            assert "Population: 40 clients, made-up clients, 7 rows" in figure.about, figure.id
            assert "Split: " in figure.about, figure.id
            assert re.search(r"[Ee]ach client|All clients together|Clients count", figure.about), figure.id


def test_every_index_on_the_page_is_explained_by_the_catalogue(whole):
    read = Read(whole)
    asked = {a["data-tip"] for _, a in read.elements if "data-tip" in a}
    told = {a["id"] for _, a in read.elements if a.get("id", "").startswith("why-")}
    assert asked
    assert asked <= told
    for name in ("gini", "jain", "theil"):
        assert INDICES[name].meaning in read.text
        assert INDICES[name].extremes in read.text


def test_every_figure_can_be_had_as_svg_without_a_browser():
    held = content(n=12, rounds=3)
    tables = gather.tables(held)
    for figure in [f for s in sections.sections(held, tables) for f in s.figures]:
        drawn = picture(figure.spec, {figure.table: tables[figure.table]}, "svg").decode()
        assert drawn.startswith("<svg"), figure.id
        assert drawn.count("<path") > 3, figure.id


def test_a_run_that_has_learned_nothing_is_marked_and_never_called_better():
    from dataclasses import replace

    held = content()
    second = replace(held.series[1], useless="Its mean loss is 2, and was 2 at the start.")
    read = Read(page.html(replace(held, series=(held.series[0], second))))
    assert "run 1 has learned nothing." in read.text
    grid = page.parts(replace(held, series=(held.series[0], second)))["all"]
    assert not any(cell.verdict == "better" for cell in grid.cells[1])


def test_intervals_and_differences_are_those_of_the_comparison():
    held = content()
    grid = page.parts(held)["all"]
    for column, index in enumerate(grid.heads):
        difference = held.comparison.differences["run 1"].get(index.key)
        if difference is None:
            continue
        clear = difference.low > 0 or difference.high < 0
        assert (grid.cells[1][column].verdict == "unclear") == (not clear)
        if clear:
            gain = difference.value < 0 if INDICES[index.key].lower_is_better else difference.value > 0
            assert grid.cells[1][column].verdict == ("better" if gain else "worse")


def test_negative_weights_reach_the_figure_as_they_are():
    held = content(n=10, rounds=4)
    weights = held.series[0].weights
    found = {(row["round"], row["client"]): row["lam"] for row in rows(gather.tables(held)["weights"][:1])}
    for i, r in enumerate(weights.round.tolist()):
        for j, client in enumerate(weights.client):
            assert found[r, client] == pytest.approx(weights.lam[i, j], rel=1e-4)


def test_the_place_of_a_client_is_its_rank_in_a_plain_sort():
    held = content(n=17)
    losses = {row["client"]: (row["loss"], row["at_loss"]) for row in rows(gather.tables(held)["clients"][:1])}
    in_order = sorted(losses.values())
    assert [at for _, at in in_order] == pytest.approx([(k + 0.5) / 17 for k in range(17)], rel=1e-4)


def test_more_runs_than_there_are_colours_stand_in_the_table_alone():
    many = content(runs=12, n=5, rounds=2, draws=0)
    html = page.html(many)
    assert "and 2 more, in the table alone" in html
    assert '<th scope="row"><span class="swatch" style="background:' in html
    for name, blocks in gather.tables(many).items():
        drawn = {block.fixed.get("run") for block in blocks} - {None}
        assert drawn <= {f"run {k}" for k in range(10)}, name


def test_many_clients_are_thinned_in_the_maps_and_the_page_says_so():
    held = content(n=1000, rounds=5, draws=0)
    tables = gather.tables(held)
    assert len(rows(tables["weights"][:1])) == 200 * 6
    figures = {f.id: f for s in sections.sections(held, tables) for f in s.figures}
    assert "The 200 clients with" in figures["weights"].about
    assert "200 of 1,000 clients" in figures["mix"].about


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=6, max_size=6),
    st.lists(st.text(max_size=5), min_size=3, max_size=3, unique=True),
)
@settings(deadline=None, max_examples=50)
def test_blocks_survive_their_way_through_json(values, axis):
    block = Block(
        over={"round": [1, 2], "place client": list(enumerate(axis))}, columns={"x": values}, fixed={"run": "a"}
    )
    coded = json.loads(page.as_script(encode({"t": [block]})))
    (held,) = coded["tables"]["t"]
    found = []
    for i, value in enumerate(dict(held["columns"])["x"]):  # the last axis runs fastest
        (rounds, (_, clients)) = held["over"][0], held["over"][1]
        place, client = coded["axes"][clients][i % 3]
        found.append(
            {"run": "a", "round": coded["axes"][rounds[1]][i // 3], "place": place, "client": client, "x": value}
        )
    assert found == rows([block])
    for row, x in zip(found, values, strict=True):
        assert (row["x"] is None) == (not np.isfinite(x))
        assert row["x"] is None or row["x"] == pytest.approx(x, rel=1e-4)


@given(st.recursive(st.text() | st.none() | st.integers(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)))
@settings(deadline=None, max_examples=100)
def test_data_in_the_page_never_ends_its_element(value):
    text = page.as_script(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value


@pytest.mark.parametrize("more", [[], ["--by", "region", "--only", "run=averaging"], ["--only", "run=relative"]])
def test_audit_writes_a_page_of_whatever_it_measured(tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["audit", "--example", "--draws", "100", "--out", "page.html", *more])
    assert done.exit_code == 0, done.output
    told = json.loads(CliRunner().invoke(app, ["audit", "--example", "--draws", "100", "--json", *more]).stdout)
    read = Read((tmp_path / "page.html").read_text("utf-8"))
    held = told.get("audit") or (told.get("audits") or list(told["comparison"]["audits"].values()))[0]
    assert f"{held['R']:.4g}" in read.text
    assert "synthetic_clinics.csv" in read.text
    assert "Written to page.html" in done.output
