"""Load the Jinja templates of the pages, with filters that write sentences as HTML."""

from __future__ import annotations

import functools
import re

from jinja2 import Template
from markupsafe import Markup

from cmlib.report.inline import strip_markup, to_html
from cmlib.shell import spell_calls
from cmlib.templates import template

_OPTION = re.compile(r"<code>(?=-[^<\s]{,35}</code>)")
# Where a line must not break: before a percent sign, and within a range of numbers.
_UNBROKEN = re.compile(r"(?P<code><code>[^<]*</code>)| %|(?<=\d)–(?=\d)")
_JOINED = {" %": "&nbsp;%", "–": "&#8288;–&#8288;"}


@functools.cache
def page_template(name: str) -> Template:
    """Return the Jinja template of this package in the file `name`.

    Its filters are ``sentence`` (Markdown to HTML), ``strip_markup`` (Markdown to plain text), ``opening``
    (a clause with a capital at its beginning) and ``typed`` (a command line as it can be typed here).
    """
    filters = {
        "sentence": _write_sentence,
        "strip_markup": strip_markup,
        "opening": capitalize_opening,
        "typed": spell_calls,
    }
    return template("cmlib.report", name, autoescape=True, filters=filters)


def capitalize_opening(text: str) -> str:
    """Return a clause (str) with a capital at its beginning, also after asterisks; a name in code is unchanged."""
    n_marks = len(text) - len(text.lstrip("*"))
    return text[:n_marks] + text[n_marks : n_marks + 1].upper() + text[n_marks + 1 :]


def _write_sentence(text):
    """Return a sentence as HTML whose lines do not break before a percent sign or within a range or an option."""
    unbroken = _UNBROKEN.sub(lambda match: match["code"] or _JOINED[match[0]], to_html(spell_calls(text)))
    return Markup(_OPTION.sub('<code class="option">', unbroken))
