"""The report's first page: a card a program, of whatever the notebooks tell of it."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

from cmlib import plot, report
from cmlib.report.manifests import note_left_out, read_manifests
from cmlib.report.overview import sentences
from tests.notebook_functions import functions_of

BARS = pd.DataFrame(
    {
        "name": ["branches <b>", "`ls_stlf`"],
        "value": [60.0, 40.0],
        "low": [50.0, 0.0],
        "high": [80.0, 45.0],
        "note": ["", "back end"],
    }
)


def results_of(folder, notebook):
    return report.Results(notebook, title=notebook, question="?", profile="smoke", folder=folder)


def small_figure():
    times = pd.Series([1.0, 2.0], index=[0.0, 1.0])
    return plot.series({"a": times}, ylabel="IPC")[0]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Folder of what two notebooks tell of one program, and one of them of another."""
    tmp_path = tmp_path_factory.mktemp("results")
    first, second = results_of(tmp_path, "01_a"), results_of(tmp_path, "02_b")
    first.overview("gcc", limits="it is not known", sure="`x` differs by 3 %")
    first.overview_picture("gcc", small_figure(), "IPC over **time**")
    first.overview("<i>app</i>", limits="it is not known", lacking="IPC. Run `cmlib record app`")
    first.finding("Cleaning *helps*.", program="gcc")
    first.finding("29 runs.")
    second.overview("gcc", limits="**a half** is lost", sure="it adds up", advice="do less")
    second.overview_picture("gcc", small_figure(), "slots of gcc")
    second.overview_bars("gcc", BARS, "Families, importance [%]")
    first.save()
    second.save()
    report.build_index(tmp_path / "smoke")
    return tmp_path / "smoke"


@pytest.fixture
def page(results):
    return (results / "index.html").read_text()


def card(page, program):
    return next(
        text for text in re.findall(r"<article.*?</article>", page, re.S) if f"<h2>{program}</h2>" in text
    )


def test_a_card_holds_the_last_notebooks_picture_and_sentences_and_how_sure_of_all(page):
    gcc = card(page, "gcc")
    assert re.findall(r'<img src="([^"]+)" alt="([^"]+)"', gcc) == [("02_b/overview-0.svg", "slots of gcc")]
    assert "<strong>A half</strong> is lost." in gcc and "not known" not in gcc
    assert "<dd><code>x</code> differs by 3&nbsp;%.</dd>" in gcc and "<dd>It adds up.</dd>" in gcc
    assert "<dd>Do less.</dd>" in gcc and "To know more" not in gcc
    details = gcc[gcc.index("<details>") :]
    assert "Cleaning <em>helps</em>" in details and 'href="#01_a"' in details and 'href="#02_b"' in details


def test_bars_are_as_long_as_their_values_and_their_intervals_lie_where_they_should(page):
    gcc = card(page, "gcc")
    assert re.findall(r'<i style="width:([\d.]+)%', gcc) == ["60.00", "40.00"]
    assert re.findall(r'<b style="left:([\d.]+)%;width:([\d.]+)%', gcc) == [
        ("50.00", "30.00"),
        ("0.00", "45.00"),
    ]
    assert "branches &lt;b&gt;" in gcc and "<code>ls_stlf</code>" in gcc and "(50 to 80)" in gcc


def test_what_is_not_there_is_left_out_and_names_are_text(page):
    app = card(page, "&lt;i&gt;app&lt;/i&gt;")
    assert "<img" not in app and 'class="bars"' not in app and "What to try" not in app
    assert "<dt>To know more</dt>\n<dd>IPC. Run <code>cmlib record app</code>.</dd>" in app
    assert page.index("</article>") < page.index("<nav") < page.index("29 runs.")


def test_a_card_of_which_more_is_to_be_known_tells_what_notebooks_that_were_left_out_lack(tmp_path):
    results = results_of(tmp_path, "01_a")
    results.overview("gcc", limits="it is not known")
    results.overview("app", limits="the back end")
    results.overview_summary("app", {"limited_by": "back end"})
    results.save()
    note_left_out(tmp_path / "smoke", "02_b", "B", "nothing: run `cmlib record gcc`", for_overview=True)
    note_left_out(tmp_path / "smoke", "09_c", "C", "no pairs")
    page = report.build_index(tmp_path / "smoke").read_text()
    gcc = card(page, "gcc")
    assert "<dd>Nothing: run <code>cmlib record gcc</code>.</dd>" in gcc and "no pairs" not in gcc
    assert "cmlib record gcc" not in card(page, "app")


def test_the_list_of_reports_names_the_program_of_each_of_several(tmp_path):
    results = report.Results("01_a", title="A", question="?", profile="live/all", folder=tmp_path)
    results.overview("gcc", limits="8 % are lost")
    results.overview("<i>app</i>", limits="the back end")
    results.save()
    report.build_index(tmp_path / "live/all")
    listed = (tmp_path / "live/index.html").read_text()
    assert "gcc: 8&nbsp;% are lost." in listed and "&lt;i&gt;app&lt;/i&gt;: The back end." in listed


def test_a_long_command_is_folded_and_whole_in_there_and_a_short_one_stands_in_its_sentence(tmp_path):
    command = f"perf stat -e '{','.join(['a<b>&c'] * 40)}' -- awk 'NR %2' && cmlib import gcc next.csv"
    results = results_of(tmp_path, "01_a")
    results.overview("gcc", limits="8 % are lost", lacking=f"record these events alone: ``{command}``")
    results.overview("app", limits="9 % are lost", lacking="record it: `cmlib record app -- date +%F %`")
    results.save()
    page = report.build_index(tmp_path / "smoke").read_text()
    shown, whole = re.search(
        r'alone: <details class="command"><summary>(.*?)</summary><pre>(.*?)</pre></details></dd>', page
    ).groups()
    assert html.unescape(whole) == command and "perf" not in shown and f"{len(command)}" in shown
    assert "8&nbsp;% are lost." in page
    assert "<dd>Record it: <code>cmlib record app -- date +%F %</code>.</dd>" in page


def test_the_summary_reads_the_sentences_of_the_first_page(tmp_path):
    results = results_of(tmp_path, "01_a")
    results.overview("gcc", limits="**half** is lost", advice="do less")
    results.save()
    told = functions_of("10_summary")["told"]
    (manifest,) = read_manifests(tmp_path / "smoke").sections
    assert told(manifest) == [("01_a", "gcc", "Half is lost. What to try: do less.")]
    results = results_of(tmp_path, "02_b")
    results.overview("gcc", limits="**half** is lost")
    results.finding("Of gcc.", program="gcc")
    results.finding("Of all (Eq. 8), half. More follows.")
    results.save()
    manifest = read_manifests(tmp_path / "smoke").sections[-1]
    assert [program for _, program, _ in told(manifest)] == ["", "gcc", "gcc"]
    first_sentence = functions_of("10_summary")["first_sentence"]
    assert first_sentence(told(manifest)[0][2]) == "Of all (Eq. 8), half."
    assert sentences({"sure": "", "lacking": "IPC"}) == "To know more: IPC."


def test_the_picture_of_a_program_has_ipc_above_its_stacked_shares():
    steps = np.linspace(0, 1, 5)
    shares = pd.DataFrame({name: 25.0 for name in plot.CATEGORIES}, index=steps)
    figure, (above, below) = plot.shares_card(pd.Series([4.0, 1, 1, 1, 1], steps), shares)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(plot.CATEGORIES)
    np.testing.assert_array_equal(above.lines[0].get_ydata(), [4, 1, 1, 1, 1])
    tops = [stack.get_paths()[0].vertices[:, 1].max() for stack in below.collections]
    assert tops == [25, 50, 75, 100] and below.get_ylim() == (0, 110)


def test_a_later_picture_of_a_program_replaces_the_earlier_one(tmp_path):
    results = results_of(tmp_path, "01_a")
    for alt in ("first", "second"):
        results.overview_picture("gcc", small_figure(), alt)
    results.overview_picture("app", small_figure(), "other")
    results.save()
    cards = json.loads((tmp_path / "smoke/01_a/manifest.json").read_text())["overviews"]
    assert cards["gcc"]["picture"]["alt"] == "second"
    sources = {card["picture"]["source"] for card in cards.values()}
    assert sources == {f"01_a/{file.name}" for file in (tmp_path / "smoke/01_a").glob("*.svg")}


def test_answers_json_says_what_the_first_page_says(results):
    answers = json.loads((results / "answers.json").read_text())
    assert (
        answers["schema"] == 2
        and answers["profile"] == "smoke"
        and set(answers["programs"]) == {"gcc", "<i>app</i>"}
    )
    gcc = answers["programs"]["gcc"]
    assert gcc["limits"] == "a half is lost" and gcc["confidence"] == ["x differs by 3 %", "it adds up"]
    assert gcc["advice"] == "do less" and not gcc["missing"] and not gcc["simulated"]
    assert gcc["bars"]["rows"] == BARS.to_dict("records")
    assert gcc["findings"] == [{"notebook": "01_a", "text": "Cleaning helps."}]
