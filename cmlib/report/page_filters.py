"""Give the Jinja templates of the pages, with filters that write sentences and numbers as HTML."""

import functools
import html
import re

import pandas as pd
from markupsafe import Markup

from cmlib.report.inline import strip_markup, to_html
from cmlib.report.overview import opening
from cmlib.templates import template
from cmlib.topdown.cycle_costs import format_number
from cmlib.topdown.summary import describe_misses

_LONG = 300  # characters of a command
_LONG_CODE = re.compile(rf"<code>(?P<code>[^<]{{{_LONG},}})</code>")
_OPTION = re.compile(r"<code>(?=-[^<\s]{,35}</code>)")
_PERCENT = re.compile("(?P<code><code>[^<]*</code>)| %")


@functools.cache
def page_template(name):
    """The Jinja template of this package in the file `name`, with filters that write sentences and numbers as HTML."""
    filters = {
        "sentence": _sentence,
        "folded": _folded,
        "strip_markup": strip_markup,
        "opening": opening,
        "number": format_cell,
        "short": format_number,
        "describe_misses": describe_misses,
    }
    return template("cmlib.report", name, autoescape=True, filters=filters)


def _sentence(text):
    """A sentence as HTML whose lines do not break before a percent sign or within an option; code is unchanged."""
    unbroken = _PERCENT.sub(lambda match: match["code"] or "&nbsp;%", to_html(text))
    return Markup(_OPTION.sub('<code class="option">', unbroken))


def _folded(text):
    """A clause as an HTML sentence with its full stop; commands of 300 characters or more are folded up."""
    written = _LONG_CODE.sub(lambda match: _fold(html.unescape(match["code"])), _sentence(text))
    stop = "" if written.endswith("</details>") else "."
    return Markup(f"{written}{stop}")


def _fold(command):
    """A long command as HTML that opens on a click."""
    return (
        f'<details class="command"><summary>a command of {len(command):,} characters</summary>'
        f"<pre>{html.escape(command)}</pre></details>"
    )


def format_cell(value):
    """A value as text for a table: numbers with about three digits, "–" for a missing one, a str unchanged."""
    if isinstance(value, str):
        return value
    if value is None or pd.isna(value):
        return "–"
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1 else f"{value:,.2f}"
