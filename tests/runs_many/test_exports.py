"""The printed tables read back: as many cells as columns, the right one bold, nothing of a name breaks the format."""

import math
import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.runs.exports import best, caption, escaped, latex, markdown, verdict
from evenkeel.runs.paired import Estimate, Seeded

TWO = Seeded(
    seeds=(0, 1, 2),
    values={
        "fedavg": {"accuracy": [0.90, 0.91, 0.92], "R": [3.0, 3.1, 3.2]},
        "scaff-pd": {"accuracy": [0.88, 0.90, 0.89], "R": [2.0, 2.1, 2.15]},
    },
)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


def cells(line):
    return [c.strip() for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def test_a_markdown_row_holds_mean_half_width_bold_and_star():
    lines = markdown(TWO).splitlines()
    assert cells(lines[0]) == ["run", "accuracy", "R"]
    # means .91 and 3.1; t_{2,.975} = 4.303, s = .01 and .1, so half widths 4.303·s/√3 = .0248 and .248
    assert cells(lines[2]) == ["fedavg", "**0.9100** ± 0.025", "3.100 ± 0.25"]
    name, accuracy, ratio = cells(lines[3])
    assert name == "scaff-pd"
    assert accuracy.startswith("0.8900 ±")
    assert "*" not in accuracy
    # differences of R: −1, −1, −1.05, clear of 0
    assert ratio.startswith("**2.083** ±")
    assert ratio.endswith("\\*")


def test_latex_has_the_same_numbers_as_markdown():
    def figures(text):
        return re.findall(r"\d+\.\d+", text)

    body = "\n".join(line for line in latex(TWO).splitlines() if "&" in line)
    assert figures(body) == figures("\n".join(markdown(TWO).splitlines()[:4]))


@given(names, names.filter(lambda n: n))
def test_no_name_breaks_a_table(first, second):
    values = {first: {"R": [1.0, 2.0]}, second: {"R": [2.0, 2.5]}}
    s = Seeded(seeds=(0, 1), values=values)
    rows = markdown(s).split("\n\n")[0].splitlines()
    assert len(rows) == 2 + len(values)
    body = [line for line in latex(s).splitlines() if line.endswith(r"\\")]
    assert len(body) == 1 + len(values)
    assert all(len(re.findall(r"(?<!\\)&", line)) == 1 for line in body)


def test_every_special_sign_of_latex_is_escaped():
    assert escaped("a_b & 5% #1 ${x}") == r"a\_b \& 5\% \#1 \$\{x\}"
    assert escaped("\\~^") == r"\textbackslash{}\textasciitilde{}\textasciicircum{}"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
def test_latex_compiles(tmp_path):
    page = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}" + latex(TWO) + "\\end{document}"
    (tmp_path / "t.tex").write_text(page)
    subprocess.run(["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_lower_is_better_for_ratios_and_higher_for_accuracy():
    down, up = Estimate(-1.0, -2.0, -0.5, 3), Estimate(1.0, 0.5, 2.0, 3)
    assert (verdict(down, "R"), verdict(up, "R")) == ("better", "worse")
    assert (verdict(down, "worst20_accuracy"), verdict(up, "accuracy")) == ("worse", "better")
    assert verdict(Estimate(1.0, math.nan, math.nan, 1), "R") == "unclear"


def test_the_best_run_is_named_and_undefined_means_are_passed_over():
    assert best(TWO, "accuracy") == "fedavg"
    assert best(TWO, "R") == "scaff-pd"
    assert best(Seeded(seeds=(0,), values={"a": {"R": [math.nan]}, "b": {"R": [math.inf]}}), "R") == "b"
    assert best(Seeded(seeds=(0,), values={"a": {"R": [math.nan]}}), "R") == ""


def test_the_caption_says_how_many_seeds_and_which_interval():
    assert "95 % t interval over 3 seeds" in caption(TWO)
    assert "fedavg" in caption(TWO)
    assert caption(Seeded(seeds=(4,), values={"a": {"R": [1.0]}})).startswith("One seed (4)")
