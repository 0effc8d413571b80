"""Sentences with names in them: their marks are shown as meant, and nothing else is anything but text."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.report.inline import strip_markup, to_html

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
