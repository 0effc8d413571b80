"""The Markdown that captions, findings and notes may hold (bold, emphasis, code), as HTML or as plain text.

:func:`to_html` and :func:`strip_markup` take a str and give one. Names of events and programs stand in these
sentences, and come from files that may be anybody's: what looks like HTML or a link in them stays text. Nothing is
refused: marks without an end stay text.
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
    """HTML (str) of a sentence in Markdown (`text`): bold, emphasis and code become elements, all else is escaped."""
    return _write(text, html.escape, lambda tag, inner: f"<{tag}>{inner}</{tag}>")


def strip_markup(text: str) -> str:
    """A sentence in Markdown (`text`) as plain text (str), without its marks for bold, emphasis and code."""
    return _write(text, str, lambda tag, inner: inner)


def _write(text, literal, element):
    """The sentence with `literal` applied to text, and `element` (tag, content) to what is marked."""
    parts, end = [], 0
    for mark in _MARK.finditer(text):
        tag = next(tag for tag in ("code", "strong", "em") if mark[tag] is not None)
        inner = literal(mark["code"].strip()) if tag == "code" else _write(mark[tag], literal, element)
        parts += [literal(text[end : mark.start()]), element(tag, inner)]
        end = mark.end()
    return "".join([*parts, literal(text[end:])])
