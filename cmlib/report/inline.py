"""The little Markdown of captions, findings and notes: bold, emphasis, code. Everything else is text.

Names of events and programs stand in these sentences, and come from files that may be anybody's: what looks like
HTML, a link or a formula in them must stay text wherever the sentence is shown.
"""

import html
import re

_MARK = re.compile(
    r"(?P<ticks>(?<!`)`++)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?P<strong>\S.*?)\*\*"
    r"|\*(?P<em>[^\s*](?:[^*]*[^\s*])?)\*"
)


def to_html(text):
    """Write a sentence as HTML."""
    return _write(text, html.escape, lambda tag, inner: f"<{tag}>{inner}</{tag}>")


def strip_markup(text):
    """The same sentence without its marks, as text."""
    return _write(text, str, lambda tag, inner: inner)


def _write(text, literal, element):
    parts, end = [], 0
    for mark in _MARK.finditer(text):
        tag = next(tag for tag in ("code", "strong", "em") if mark[tag] is not None)
        inner = literal(mark["code"].strip()) if tag == "code" else _write(mark[tag], literal, element)
        parts += [literal(text[end : mark.start()]), element(tag, inner)]
        end = mark.end()
    return "".join([*parts, literal(text[end:])])
