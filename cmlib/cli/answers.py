"""Print what a command found: as text by a template of this package, or as JSON.

Both functions take an answer (dict). They raise a ValueError for a number that JSON can't hold.
"""

import json

from cmlib.terminal import say, say_json


def print_json(answer):
    """Print an answer (dict) as JSON."""
    say_json(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))


def show(answer, name, *, as_json):
    """Print an answer (dict) by the template in the file `name`, or as JSON."""
    from cmlib.templates import template

    if as_json:
        print_json(answer)
    else:
        say(template("cmlib.cli", name).render(answer).rstrip())
