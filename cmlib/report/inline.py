"""Convert bold, emphasis and code in Markdown to HTML or to plain text.

:func:`to_html` and :func:`strip_markup` take and return a str. HTML and links in the text are escaped,
because sentences contain names from files of unknown origin.
"""

import html
import re
from collections.abc import Callable

__all__ = ["strip_markup"]

_MARK = re.compile(
    r"(?P<ticks>(?<!`)`++)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?P<strong>\S.*?)\*\*"
    r"|\*(?P<em>[^\s*](?:[^*]*[^\s*])?)\*"
)


def to_html(text: str) -> str:
    """Convert a sentence in Markdown to HTML.

    Parameters
    ----------
    text : str
        Sentence with bold, emphasis or code.

    Returns
    -------
    str
        HTML elements for bold, emphasis and code. Other markup is escaped.
    """
    return _write(text, html.escape, lambda tag, content: f"<{tag}>{content}</{tag}>")


def strip_markup(text: str) -> str:
    """Convert a sentence in Markdown to plain text.

    Parameters
    ----------
    text : str
        Sentence with bold, emphasis or code.

    Returns
    -------
    str
        The sentence without asterisks and backticks.
    """
    return _write(text, str, lambda tag, content: content)


def _write(text: str, write_text: Callable[[str], str], write_element: Callable[[str, str], str]) -> str:
    """Convert a sentence by two functions.

    `write_text` converts unmarked text. `write_element` converts the tag and content of marked text.
    """
    parts = []
    end = 0
    for mark in _MARK.finditer(text):
        tag = next(tag for tag in ("code", "strong", "em") if mark[tag] is not None)
        if tag == "code":
            content = write_text(mark["code"].strip())
        else:
            content = _write(mark[tag], write_text, write_element)
        parts.append(write_text(text[end : mark.start()]))
        parts.append(write_element(tag, content))
        end = mark.end()
    parts.append(write_text(text[end:]))
    return "".join(parts)
