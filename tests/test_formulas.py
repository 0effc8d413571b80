"""Formulas and tables of notebooks on their pages: drawn without a script, and cut to fit."""

import json
import re
from xml.etree import ElementTree

import pandas as pd
import pytest

from cmlib import places, report
from cmlib.report.formulas import draw_formulas

NOTEBOOKS = list(places.notebook_files().values())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_formula_of_a_notebook_is_drawn(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    prose = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    drawn = draw_formulas(prose)
    outside_code = re.sub(r"```.*?```|`[^`\n]+`", "", drawn, flags=re.S)
    assert "$$" not in outside_code
    assert drawn.count("<math") == drawn.count("</math>") >= prose.count("$$") / 2
    assert not re.search(r"<m[a-z]+[^>]*>\\", drawn), "a command of TeX that is not known"


@pytest.mark.parametrize(
    "text", ["`$CMLIB_PUBLIC` and `$HOME`", "costs 5 $ or 6 $", "```\na=$b; c=$d\n```", "no formula"]
)
def test_dollars_that_are_no_formula_stay(text):
    assert draw_formulas(text) == text


def test_block_and_inline_formulas_are_told_apart():
    block, inline = draw_formulas("$$x^2$$"), draw_formulas("so $x^2$ is")
    assert 'display="block"' in block and "<msup>" in block
    assert inline.startswith("so <math") and 'display="inline"' in inline


@pytest.mark.parametrize(
    ("tex", "names"),
    [
        (r"$dist_{ref} = 1$", ["dist", "ref"]),
        (r"$\overline{IPC}_k$", ["IPC"]),
        (r"$x_i y_j m n$", []),  # factors
    ],
)
def test_letters_of_one_name_stand_together(tex, names):
    assert re.findall(r'<mi class="word">(\w+)</mi>', draw_formulas(tex)) == names


def test_a_bar_covers_its_own_letters_only():
    drawn = draw_formulas(r"$\widehat{y}_t = \overline{a} + b$")
    (covered,) = re.findall(r'<mrow class="overline">(.*?)</mrow>', drawn)
    assert re.findall(r"<mi>(\w)</mi>", covered) == ["a"]


@pytest.mark.parametrize("tex", ["$X'$", "$x_i'$", "$|x_i - x_i'|^2$"])
def test_primes_stand_behind_their_letters(tex):
    drawn = draw_formulas(tex)
    assert "ʹ" in drawn and "&#x02032;" not in drawn
    for formula in re.findall("<math.*?</math>", drawn):
        ElementTree.fromstring(formula)


def test_a_table_says_what_it_leaves_out_and_its_file_holds_all(tmp_path):
    results = report.Results("02_cleaning", title="", question="", profile="smoke", folder=tmp_path)
    frame = pd.DataFrame({f"column {number}": range(30) for number in range(12)})
    shown = results.table(frame, "t", "**Table.**", rows=5).data
    assert shown.count("<tr") == 6 and len(re.findall("<th[ >]", shown)) == 8
    assert "The first 5 of 30 rows and the first 8 of 12 columns; all are in <code>t.csv</code>" in shown
    assert "small" not in results.table(frame.iloc[:, :3], "narrow", "**Table.**").data
    results.save()
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "smoke/02_cleaning/t.csv"), frame)
