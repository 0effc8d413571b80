"""The page of a user's program, which is made from its summary before any notebook runs."""

import json
import re

import pytest
from click.testing import CliRunner

import cmlib
from cmlib import places, report
from cmlib.cli import main
from cmlib.report.overview import build_index
from cmlib.report.program import render_card, summarize_source, write_summaries

TABLE = """
 Performance counter stats for './app <b>':

     1,830,000,000      cycles
       640,000,000      instructions
       200,000,000      branches
        42,000,000      branch-misses

       0.611000000 seconds time elapsed
"""

SOFTWARE_EVENTS = """
 Performance counter stats for './app':

            900.00 msec task-clock                       #    0.990 CPUs utilized
               120      page-faults

       0.909000000 seconds time elapsed
"""


@pytest.fixture
def summary(tmp_path):
    """Summary of a file of counts whose program is called app."""
    file = tmp_path / "app"
    file.write_text(TABLE)
    return summarize_source(file).summaries[0]


@pytest.fixture
def folder(tmp_path, summary):
    """Folder of results of the program app, before the first notebook has run."""
    folder = tmp_path / "live/app"
    folder.mkdir(parents=True)
    write_summaries(folder, {"app": summary})
    return folder


def test_a_file_is_shown_as_a_card_whose_command_comes_before_what_to_try(tmp_path):
    file = tmp_path / "app<b>.txt"
    file.write_text(TABLE)
    cards = cmlib.summarize(file)
    (summary,) = cards.summaries
    html = cards._repr_html_()
    assert "app&lt;b&gt;.txt" in html and "<b>" not in html
    command = summary["first"]["separate"].partition("   (")[0]
    assert html.index("verdict") < html.index(f"<code>{command}</code>") < html.index("What to try")
    assert f">{summary['first']['advice'][0]['at_most']:.0f}</td>" in html
    assert html.count("<svg") == len(summary["cycles"])


def test_the_page_is_complete_before_the_first_notebook_has_ended(tmp_path, summary, folder):
    page = build_index(folder, to_come=["First look"]).read_text(encoding="utf-8")
    assert str(render_card(summary, with_name=False)) in page
    assert "First look" in page and "</html>" in page
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    assert answers["profile"] == "live/app"
    assert answers["programs"]["app"]["first"] == summary["first"]
    results = report.Results("00_a", title="A", question="?", profile="live/app", folder=tmp_path)
    results.save()
    page = build_index(folder).read_text(encoding="utf-8")
    assert summary["first"]["headline"].replace(" %", "&nbsp;%") in page
    assert "<li>A</li>" in "".join(page.split("\n"))


def test_notebooks_that_stopped_come_after_those_with_results_and_say_why(tmp_path, folder):
    for name, reason in (("00_a", "It needs cycles."), ("01_b", "")):
        results = report.Results(name, title=name, question="?", profile="live/app", folder=tmp_path)
        if reason:
            results.note_stop(reason)
        results.save()
    page = build_index(folder).read_text(encoding="utf-8")
    assert page.index("01_b") < page.index("00_a") < page.index("It needs cycles.")


def test_the_four_shares_are_drawn_where_slots_were_counted():
    cards = cmlib.summarize(places.shipped("recordings") / "gcc/mlpx12-p0-00.csv.gz", processor="amd_zen5")
    html = cards._repr_html_()
    assert "slots of the pipeline" in html and "To narrow it down, record" in html
    # Of two parts one is bounded by events, and the other by what is left of the category.
    assert html.index("front-end latency</td>") < html.index("front-end bandwidth</td>")
    assert "core</td>" in html and "memory</td>" not in html  # its bounds are those of the back end


def test_the_name_of_an_only_program_is_the_title_of_its_page(summary, folder):
    page = build_index(folder).read_text(encoding="utf-8")
    assert "<h1>app</h1>" in page and "<h2>app</h2>" not in page
    write_summaries(folder, {"app": summary, "other": summary | {"name": "other"}})
    page = build_index(folder).read_text(encoding="utf-8")
    assert "<h2>app</h2>" in page and "<h2>other</h2>" in page


def test_advice_to_record_is_given_once(tmp_path):
    """The command to copy contains it, but the table of things to try does not repeat it."""
    file = tmp_path / "app.txt"
    file.write_text(TABLE.replace("42,000,000", "42,000"))
    html = cmlib.summarize(file)._repr_html_()
    assert html.count("perf stat -M TopdownL1") == 1 and "not separated" not in html


def test_without_cycles_the_page_has_the_command_that_simulates_and_no_row_without_a_loss(tmp_path):
    file = tmp_path / "app.txt"
    file.write_text(SOFTWARE_EVENTS)
    html = cmlib.summarize(file)._repr_html_()
    assert html.count("<code>cmlib diagnose --simulate -- COMMAND</code>") == 1
    assert "<table" not in html


def test_the_page_and_the_terminal_list_the_same_parts():
    file = places.shipped("recordings") / "gcc/mlpx12-p0-00.csv.gz"
    html = cmlib.summarize(file, processor="amd_zen5")._repr_html_()
    text = CliRunner().invoke(main, ["summarize", str(file), "--processor", "amd_zen5"]).stdout
    on_page = re.findall(r'<td class="depth\d">([^<]+)</td>', html)
    in_terminal = re.findall(r"^  +(\S.*?)  +[\d.]+ % +[\d.]+ %", text, re.M)
    assert on_page == in_terminal and "divider" in on_page
