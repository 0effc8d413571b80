"""Hide passwords in the URLs of databases wherever a URL is shown.

:func:`hide` takes and returns text (str); any text is accepted.
"""

import re

_OF_USER = re.compile(r"(?P<user>://[^:@/\s]*):[^\n]*@|:(?!//)\S*@")
_AS_OPTION = re.compile(r"(password=)[^&\s'\"]*", re.IGNORECASE)


def hide(text):
    """The text (str) with `***` in place of what may be a password in a URL, also a malformed one."""
    return _AS_OPTION.sub(r"\1***", _OF_USER.sub(lambda match: f"{match['user'] or ''}:***@", text))
