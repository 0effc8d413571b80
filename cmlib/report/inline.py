"""Convert the Markdown of captions, findings and notes (bold, emphasis, code) to HTML or to plain text.

:func:`to_html` and :func:`strip_markup` take and return a str. These sentences contain names of events and programs
from files that anybody may have written, so HTML and links in them stay text. Marks without an end stay text, too; no
error is raised.
"""

import html
import re

__all__ = ["strip_markup"]

_MARK = re.compile(
    r"(?P<ticks>(?<!`)`++)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?P<strong>\S.*?)\*\*"
    r"|\*(?P<em>[^\s*](?:[^*]*[^\s*])?)\*"
)


def to_html(text):
    """Convert a sentence in Markdown to HTML.

    Parameters
    ----------
    text : str
        May contain bold, emphasis and code.

    Returns
    -------
    str
        Bold, emphasis and code become elements; all else is escaped.
    """
    return _write(text, html.escape, lambda tag, inner: f"<{tag}>{inner}</{tag}>")


def strip_markup(text: str) -> str:
    """Convert a sentence in Markdown to plain text.

    Parameters
    ----------
    text : str
        May contain bold, emphasis and code.

    Returns
    -------
    str
        Without the marks of these.
    """
    return _write(text, str, lambda tag, inner: inner)


def _write(text, literal, element):
    """Convert a sentence: apply `literal` to its text, and `element` (tag, content) to its marked parts."""
    parts, end = [], 0
    for mark in _MARK.finditer(text):
        tag = next(tag for tag in ("code", "strong", "em") if mark[tag] is not None)
        inner = literal(mark["code"].strip()) if tag == "code" else _write(mark[tag], literal, element)
        parts += [literal(text[end : mark.start()]), element(tag, inner)]
        end = mark.end()
    return "".join([*parts, literal(text[end:])])
