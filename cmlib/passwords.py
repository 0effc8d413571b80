"""Passwords in the URLs of databases: hidden wherever a URL is shown."""

import re

_OF_USER = re.compile(r"(?P<user>://[^:@/\s]*):[^\n]*@|:(?!//)\S*@")
_AS_OPTION = re.compile(r"(password=)[^&\s'\"]*", re.IGNORECASE)


def hide(text):
    """Write `***` for what may be a password in a text that holds URLs, also malformed ones."""
    return _AS_OPTION.sub(r"\1***", _OF_USER.sub(lambda match: f"{match['user'] or ''}:***@", text))
