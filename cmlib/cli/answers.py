"""Print the result of a command as text or JSON.

:func:`show` renders a template of this package, and :func:`print_json` prints JSON. :func:`write_count` and
:func:`write_size` write numbers for people.
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


def write_count(n: int, noun: str) -> str:
    """Write a number with its noun. For example, "1 run" or "2 runs".

    Parameters
    ----------
    n : int
        Number to write.
    noun : str
        Noun with a regular plural.

    Returns
    -------
    str
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def write_size(n_bytes: float) -> str:
    """Write a size in a unit that fits it. For example, "12 kB" or "3.4 MB".

    Parameters
    ----------
    n_bytes : float
        Size [bytes].

    Returns
    -------
    str
    """
    if n_bytes < 1e3:
        return f"{n_bytes:.0f} bytes"
    if n_bytes < 1e6:
        return f"{n_bytes / 1e3:.0f} kB"
    if n_bytes < 1e9:
        return f"{n_bytes / 1e6:.1f} MB"
    return f"{n_bytes / 1e9:.1f} GB"
