"""The answers of notebooks: each result in bold is a number that the notebook keeps, in the paper profile."""

import csv
import functools
import re
from pathlib import Path

import jupytext
import nbformat
import pytest

from cmlib.report.execute import remove_answer

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "notebooks/scripts").rglob("*.py"))
BOLD = re.compile(r"\*\*(.+?)\*\*", re.S)
NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")


# Each process of the suite collects these: the text is searched, and not read as a notebook.
ANSWERED = [script for script in SCRIPTS if 'tags=["answer"]' in script.read_text(encoding="utf-8")]


@functools.cache
def cells_of(script):
    return jupytext.read(script).cells


def answers_of(script):
    return [cell for cell in cells_of(script) if "answer" in cell.metadata.get("tags", [])]


def results_in(text):
    """The numbers in bold, as they are printed."""
    return [number for bold in BOLD.findall(text) for number in NUMBER.findall(bold)]


def is_kept(printed, values):
    """Whether a value, rounded to the digits that are printed, is the printed number."""
    digits = printed.replace(",", "").replace("−", "-")
    decimals = len(digits.partition(".")[2])
    return any(f"{value:.{decimals}f}" == digits for value in values)


@pytest.mark.parametrize("script", ANSWERED, ids=lambda path: path.stem)
def test_each_result_in_bold_is_a_reference_number(script):
    (answer,) = answers_of(script)
    file = ROOT / f"tests/reference/paper/{script.stem}.csv"
    values = []
    if file.exists():
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
        values = [float(row["value"]) for row in csv.DictReader(lines)]
    wrong = [printed for printed in results_in(answer.source) if not is_kept(printed, values)]
    assert not wrong, f"the reference numbers of {script.stem} hold none of {wrong}"


@pytest.mark.parametrize("script", ANSWERED, ids=lambda path: path.stem)
def test_the_answer_follows_the_title_and_says_for_which_programs(script):
    cells = cells_of(script)
    answer = cells[1]
    assert cells[0].source.startswith("# ") and answer.cell_type == "markdown"
    assert [answer.source] == [cell.source for cell in answers_of(script)]
    assert answer.source.startswith(("> **Answer** (", "> **Answer** None yet."))


def test_a_number_that_is_not_kept_is_found():
    assert results_in("a **0.30** of **−0.92**, **1,024 %**, 5") == ["0.30", "−0.92", "1,024"]
    assert is_kept("0.30", [0.2997]) and is_kept("1,024", [1023.7]) and is_kept("−0.92", [-0.9156])
    assert not is_kept("0.31", [0.2997]) and not is_kept("0.299", [0.2997])


def test_only_the_cell_tagged_answer_is_removed(tmp_path):
    notebook = nbformat.v4.new_notebook()
    tags = [[], ["answer"], ["parameters"]]
    notebook.cells = [
        nbformat.v4.new_markdown_cell(str(number), metadata={"tags": of_cell})
        for number, of_cell in enumerate(tags)
    ]
    nbformat.write(notebook, tmp_path / "n.ipynb")
    remove_answer(tmp_path / "n.ipynb")
    kept = nbformat.read(tmp_path / "n.ipynb", as_version=4).cells
    assert [cell.source for cell in kept] == ["0", "2"]
