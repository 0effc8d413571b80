"""The overview of a profile: a row per program, and a question and an answer per notebook."""

import json
import re
from urllib.parse import unquote

import matplotlib
import numpy as np
import pandas as pd
import pytest

from cmlib import places, plot, report, topdown
from cmlib.report.manifests import record_skipped
from cmlib.report.overview import read_answer
from cmlib.report.page_filters import page_template
from cmlib.report.program import ANSWERS_VERSION, CATEGORIES, describe_row

SHARES = {"front end": 0.2, "back end": 0.3, "bad speculation": 0.1, "retired": 0.4}
NUMBERED = [name for name, file in places.notebook_files().items() if file.parent.name != "studies"]


def summary_of(name, **settings):
    """A summary (dict) of a program that has one instruction in each cycle."""
    index = pd.Index(np.arange(1.0, 101), name="time_s")
    counts = pd.DataFrame({"cycles": 3e9, "instructions": 3e9}, index)
    return topdown.summarize(name, [(counts, counts * 0 + 1.0)], **settings)


def results_of(folder, notebook, profile="smoke"):
    return report.Results(
        notebook, title=f"{notebook}: a title", question="Why? (So.)", profile=profile, folder=folder
    )


def small_figure():
    return plot.series({"a": pd.Series([1.0, 2.0], index=[0.0, 1.0])}, ylabel="IPC")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results of two of the eleven notebooks and a study; another study was left out."""
    out = tmp_path_factory.mktemp("results")
    look, ranking, study = (results_of(out, name) for name in ("00_first_look", "03_ranking", "sums"))
    look.summaries({"<i>app</i>": summary_of("<i>app</i>", printed=SHARES), "b": summary_of("b")})
    for name in ("target", "ranking", "unseen"):
        ranking.figure(small_figure(), name, f"A figure of {name}.")
    study.figure(small_figure(), "errors", "Errors.")
    for results in (look, ranking, study):
        results.save()
    record_skipped(out / "smoke", "repair", "Repair", "Nothing is recorded: run `cmlib record NAME`.")
    report.build_index(out / "smoke")
    return out / "smoke"


@pytest.fixture
def page(folder):
    return (folder / "index.html").read_text(encoding="utf-8")


def test_each_program_has_a_row_with_its_shares_its_loss_and_what_to_try(page, folder):
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    assert answers["schema"] == ANSWERS_VERSION and list(answers["programs"]) == ["<i>app</i>", "b"]
    first, second = page.split("<tbody>")[1].split("</tbody>")[0].split("<tr>")[1:]
    assert "&lt;i&gt;app&lt;/i&gt;" in first and "<i>app" not in first
    bars = re.findall(r'<i class="([a-z-]+)" style="width:([\d.]+)%"', first)
    assert [name for name, _ in bars] == ["retired", "bad-speculation", "front-end", "back-end"]
    assert [float(width) for _, width in bars] == pytest.approx([40, 10, 20, 30], abs=1)
    assert "Back end 29&#8288;–&#8288;31&nbsp;%" in first and "(at most 31&nbsp;%)" in first
    headline = answers["programs"]["b"]["first"]["headline"]
    assert headline.replace(" %", "&nbsp;%") in second


def test_each_program_has_a_page_whose_links_lead_somewhere(page, folder):
    addresses = re.findall(r'<td><strong><a href="([^"]+)"', page)
    assert len(addresses) == 2
    for address in addresses:
        program_page = folder / unquote(address)
        html = program_page.read_text(encoding="utf-8")
        assert '<p class="verdict">' in html
        for link in re.findall(r'href="([^"#]+)"', html):
            assert (program_page.parent / unquote(link)).is_file(), link


def test_each_notebook_has_its_question_and_its_answer(page):
    questions = page.split('<ol class="questions">')[1].split("</ol>")[0]
    assert questions.count("Why?") == 2 and "(So.)" not in questions
    for name in ("00_first_look", "03_ranking"):
        answer, _ = read_answer(places.notebook_files()[name])
        assert re.sub(r"\W", "", answer) in re.sub(r"<[^>]*>|&nbsp;|&#39;|\W", "", questions).replace(
            "x27", ""
        )


def test_studies_are_linked_by_their_titles_and_what_was_left_out_says_why(page):
    studies = page.split('<ul class="studies">')[1].split("</ul>")[0]
    assert "sums: a title" in studies and "Repair" in studies and "<img" not in studies
    assert "not run here" in studies
    assert "Nothing is recorded: run <code>cmlib record NAME</code>." in page


@pytest.mark.parametrize("name", NUMBERED)
def test_the_answer_of_each_of_the_eleven_begins_with_one_short_sentence(name):
    answer, data = read_answer(places.notebook_files()[name])
    assert answer.endswith(".") and 10 < len(answer) < 300 and data


def test_an_answer_ends_at_its_first_sentence_and_not_at_an_abbreviation(tmp_path):
    text = "> **Answer** (gcc, default (all) parameters). Eq. 4 errs by **3.5 %**. More follows."
    cells = [{"cell_type": "markdown", "source": [text], "metadata": {"tags": ["answer"]}}]
    file = tmp_path / "x.ipynb"
    file.write_text(json.dumps({"cells": cells}))
    assert read_answer(file) == ("Eq. 4 errs by **3.5 %**.", "gcc, default (all) parameters")


def test_a_short_answer_goes_on_and_a_question_may_stand_behind_a_statement(tmp_path):
    text = "> **Answer** (gcc). Only in part. A rule does as well. More follows."
    cells = [{"cell_type": "markdown", "source": [text], "metadata": {"tags": ["answer"]}}]
    file = tmp_path / "x.ipynb"
    file.write_text(json.dumps({"cells": cells}))
    assert read_answer(file)[0] == "Only in part. A rule does as well."
    results = report.Results(
        "00_x", title="X", question="A tree learns. Does it name the cause? So.", profile="p", folder=tmp_path
    )
    results.save()
    page = report.build_index(tmp_path / "p").read_text(encoding="utf-8")
    assert "<p>A tree learns. Does it name the cause?</p>" in page


def test_the_colors_of_the_shares_are_those_of_the_figures():
    style = page_template("page_style.html.j2").render()
    for name in CATEGORIES:
        color = matplotlib.colors.to_hex(plot.slots.COLORS[name])
        assert f"--{name.replace(' ', '-')}: {color};" in style
    assert CATEGORIES == plot.CATEGORIES


def test_a_loss_is_named_with_its_bounds_also_where_it_is_not_decided():
    assert describe_row(summary_of("x", printed=SHARES))["loss"] == "back end 29–31 %"
    counts = pd.DataFrame({"cycles": 3e9, "instructions": 3e9, "stall_backend": 1.2e9}, np.arange(1.0, 101))
    summary = topdown.summarize("x", [(counts, counts * 0 + 1.0)], processor="arm_neoverse_n1")
    row = describe_row(summary)
    assert row["loss"].startswith("not decided: ") == (summary["account"]["how"] == "open")
    assert "back end" in row["loss"]


def test_the_list_of_a_user_s_programs_has_a_row_for_each(tmp_path):
    for name in ("a b", "c"):
        results = results_of(tmp_path, "01_a", profile=f"live/{name}")
        results.summaries({name: summary_of(name)})
        results.save()
        report.build_index(tmp_path / "live" / name)
    listed = (tmp_path / "live/index.html").read_text(encoding="utf-8")
    assert 'href="a%20b/index.html">a b</a>' in listed and 'href="c/index.html">c</a>' in listed


def test_the_figure_of_a_program_has_ipc_above_its_stacked_shares():
    steps = np.linspace(0, 1, 5)
    shares = pd.DataFrame({name: 25.0 for name in plot.CATEGORIES}, index=steps)
    figure, (above, below) = plot.shares_by_progress(pd.Series([4.0, 1, 1, 1, 1], steps), shares)
    np.testing.assert_array_equal(above.lines[0].get_ydata(), [4, 1, 1, 1, 1])
    tops = [stack.get_paths()[0].vertices[:, 1].max() for stack in below.collections]
    assert tops == [25, 50, 75, 100] and below.get_ylim() == (0, 110)
