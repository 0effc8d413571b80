"""Sentences with names in them: their marks are shown as meant, and nothing else is anything but text."""

import re
from html.parser import HTMLParser

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib import places
from cmlib.experiments import data
from cmlib.io import store
from cmlib.report.inline import strip_markup, to_html
from cmlib.report.notebook_page import write_page
from tests.small_runs import add_run

PIECES = st.sampled_from([*"*`<>&$\\ab \n", "**", "``", "<img src=x onerror=alert(1)>", "[a](javascript:b)"])


class _Read(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "**Figure 6.** Of `ls_stlf`, *cleaned*",
            "<strong>Figure 6.</strong> Of <code>ls_stlf</code>, <em>cleaned</em>",
        ),
        ("**Table of `x`.**", "<strong>Table of <code>x</code>.</strong>"),
        ("`cpu/a*b*c/` and ``x`y``", "<code>cpu/a*b*c/</code> and <code>x`y</code>"),
        ("2 * 3 * 4, p < 0.001 & more", "2 * 3 * 4, p &lt; 0.001 &amp; more"),
        ("`x`<img src=x onerror=go()>`", "<code>x</code>&lt;img src=x onerror=go()&gt;`"),
    ],
)  # fmt: skip
def test_marks_are_shown_as_meant(text, expected):
    assert to_html(text) == expected


@given(st.lists(PIECES).map("".join))
def test_no_text_becomes_anything_but_text_and_marks(text):
    read = _Read(to_html(text))
    assert set(read.tags) <= {"strong", "em", "code"} and read.attributes == []
    assert read.text == strip_markup(text)


def test_what_a_recording_tells_of_itself_is_text_on_a_notebook_s_page(tmp_path):
    """Its command and its machine's name stand in Markdown, in which HTML is HTML."""
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)> $x$ [a](javascript:alert(3))\n\n`<b>"
    add_run(tmp_path, "app", "ocoe", 0, 0, [("instructions", 5), ("cycles", 9)], command=evil,
            machine={"model_name": evil, "virtual": evil, "microarchitecture": evil})  # fmt: skip
    url = f"sqlite:///{tmp_path}/store.sqlite"
    store.rebuild(tmp_path, url)
    cell = nbformat.v4.new_markdown_cell(data.describe_data(url, ["app"]))
    notebook = places.notebook_files()["03_ranking"]
    write_page(notebook, nbformat.v4.new_notebook(cells=[cell]), tmp_path, pages=set())
    page = (tmp_path / "03_ranking/03_ranking.html").read_text(encoding="utf-8")
    shown = page[page.index("<strong>Data.</strong>") :].partition("<nav")[0]
    assert "alert(1)" in shown and not re.search(r"<(?:script|img|b|a|math|svg)\b", shown)
