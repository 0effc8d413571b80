"""Print the result of a command as text or JSON.

:func:`show` renders a template of this package, and :func:`print_json` prints JSON.
"""

import json

from cmlib.terminal import say, say_json


def print_json(answer: dict | list) -> None:
    """Print a result as JSON.

    Parameters
    ----------
    answer : dict or list
        Result without NaN and infinite numbers.
    """
    say_json(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))


def show(answer: dict, template_name: str, *, as_json: bool) -> None:
    """Print a result by a template, or as JSON.

    Parameters
    ----------
    answer : dict
        Values for the template.
    template_name : str
        File name of the template in this package.
    as_json : bool
        True to print JSON.
    """
    from cmlib.templates import template

    if as_json:
        print_json(answer)
    else:
        say(template("cmlib.cli", template_name).render(answer).rstrip())
