"""Hide passwords in the URLs of databases wherever a URL is shown.

:func:`hide` takes and returns text (str); any text is accepted.
"""

import re

_AFTER_USER = re.compile(r"://[^:@/\s]*:")  # postgresql://me:
_COLON = re.compile(r":(?!//)")
_WORD = re.compile(r"\S+")
_AS_OPTION = re.compile(r"(password=)[^&\s'\"]*", re.IGNORECASE)


def hide(text):
    """Replace what may be a password in a URL by `***`, also in a malformed URL."""
    hidden = "\n".join(map(_hide_in_line, text.split("\n")))
    return _AS_OPTION.sub(r"\1***", hidden)


def _hide_in_line(line):
    """Hide what stands between the user of the first URL and the last @, then what does so within each word."""
    line = _hide_before_last_at(line, _AFTER_USER)
    return _WORD.sub(lambda word: _hide_before_last_at(word[0], _COLON), line)


def _hide_before_last_at(text, beginning):
    """Put `***` between the first match of a pattern and the last @ after it."""
    before, at, after = text.rpartition("@")
    found = beginning.search(before)
    if not found:
        return text
    return f"{before[: found.end()]}***{at}{after}"
