"""What a panel says below its picture, in HTML."""

import html
import math

_CELL = "padding: 1px 14px 1px 0; text-align: {align}; font-weight: {weight}"


def paragraph(*sentences):
    """Sentences, already in HTML, as one paragraph."""
    return f"<p style='max-width: 60em; margin: 4px 0'>{' '.join(sentences)}</p>"


def name(text):
    """An event's or a program's name as it is typed."""
    return f"<code>{html.escape(text)}</code>"


def table(header, rows):
    """A small table: the first column says what a row is, the others hold numbers, already formatted.

    Parameters
    ----------
    header : sequence of str
        The first one may be empty.
    rows : sequence of sequences of str
    """
    head = "".join(_cell("th", text, place, "scope='col'") for place, text in enumerate(header))
    body = "".join(
        f"<tr>{''.join(_cell('td', text, place) for place, text in enumerate(row))}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def number(value, decimals=1, unit=""):
    """A number with its unit; what can't be told is no number."""
    if math.isnan(value):
        return "–"
    return ("∞" if math.isinf(value) else f"{value:,.{decimals}f}") + (f" {unit}" if unit else "")


def _cell(tag, text, place, attributes=""):
    style = _CELL.format(align="right" if place else "left", weight="600" if tag == "th" else "400")
    return f"<{tag} {attributes} style='{style}'>{html.escape(text)}</{tag}>"
