"""Load the Jinja templates of the pages.

The templates have filters that convert sentences in Markdown to HTML.
"""

from __future__ import annotations

import functools
import re

from jinja2 import Template
from markupsafe import Markup

from cmlib.report.inline import strip_markup, to_html
from cmlib.shell import spell_calls
from cmlib.templates import template

_OPTION = re.compile(r"<code>(?=-[^<\s]{,35}</code>)")
# Lines are not broken before a percent sign and within a range of numbers.
_UNBROKEN = re.compile(r"(?P<code><code>[^<]*</code>)| %|(?<=\d)–(?=\d)")
_JOINED = {" %": "&nbsp;%", "–": "&#8288;–&#8288;"}


@functools.cache
def page_template(name: str) -> Template:
    """Load a Jinja template of this package.

    Its filters are:

    - ``sentence``: Markdown to HTML
    - ``strip_markup``: Markdown to plain text
    - ``opening``: capitalize the first letter
    - ``typed``: write a command line in the way it can be typed here

    Parameters
    ----------
    name : str
        File name of the template.

    Returns
    -------
    jinja2.Template
        The template. It is loaded only once.
    """
    filters = {
        "sentence": _write_sentence,
        "strip_markup": strip_markup,
        "opening": _capitalize_opening,
        "typed": spell_calls,
    }
    return template("cmlib.report", name, autoescape=True, filters=filters)


def _capitalize_opening(text: str) -> str:
    """Capitalize the first letter of a sentence. Asterisks before it are skipped."""
    n_marks = len(text) - len(text.lstrip("*"))
    return text[:n_marks] + text[n_marks : n_marks + 1].upper() + text[n_marks + 1 :]


def _write_sentence(text: str) -> Markup:
    """Convert a sentence to HTML in which percentages, ranges and options are not broken."""
    unbroken = _UNBROKEN.sub(lambda match: match["code"] or _JOINED[match[0]], to_html(spell_calls(text)))
    return Markup(_OPTION.sub('<code class="option">', unbroken))
