r"""Print text so that what comes from a stranger's file can't control the terminal.

:func:`say` prints; :func:`printable` and :func:`one_line` take and return text. Any text is accepted: control
characters are written as ``\u001b``.
"""

import re
import sys

import click

from cmlib.shell import spell_calls

# Characters that control a terminal, but for line feed and tab: control characters, marks of the direction of writing,
# and surrogates. Colours are added by `say` alone.
_ORDERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)


def printable(text):
    r"""Write control characters, except line feed and tab, as in JSON (``\u001b``); `text` may be any object."""
    return _ORDERS.sub(lambda match: f"\\u{ord(match[0]):04x}", str(text))


def one_line(text):
    r"""Make text printable, and write line feeds as ``\n``, so that no name begins a line of its own."""
    return printable(text).replace("\n", "\\n")


_LONGEST = 4000  # characters of a message
_MOST_LEFT_OUT = 20  # lines


def abridged(text):
    """Shorten a message (str) of over 4,000 characters to its first 3,000 and last 1,000 characters."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1000]} … {text[-1000:]}"


def say_left_out(reasons):
    """Print on standard error why things were left out, a line each; of more than 20 how many more.

    `reasons` is a list of errors or text.
    """
    for reason in reasons[:_MOST_LEFT_OUT]:
        say(f"left out: {one_line(str(reason)[:1000])}", err=True)
    if more := len(reasons[_MOST_LEFT_OUT:]):
        say(f"left out: {more:,} more, which can't be read either.", err=True)


def progress_bar(iterable=None, **settings):
    """Return a tqdm progress bar that is shown on a terminal only, and not in a log file.

    Parameters
    ----------
    iterable : iterable, optional
        Items to count while they are iterated.
    **settings
        Settings of tqdm, such as ``total`` and ``unit``. ``disable=True`` hides the bar everywhere.
    """
    from tqdm import tqdm

    return tqdm(iterable, **{"disable": None} | settings)


def say_above_bars(text, *, err=False):
    """Print text as :func:`say` does, on standard error if `err`, above tqdm's progress bars."""
    from tqdm import tqdm

    tqdm.write(printable(text), file=sys.stderr if err else sys.stdout)


def say(text="", *, err=False, nl=True, **style):
    r"""Print text, on standard error if `err`; without a line feed at its end unless `nl`.

    Control characters except line feed and tab are written as ``\u001b``, and command lines of cmlib as they can be
    typed here. `style` is click's, such as fg="red".
    """
    click.secho(printable(spell_calls(text)), err=err, nl=nl, **style)


def say_json(text):
    """Print JSON (str) on standard output; its command lines stay as they are."""
    click.echo(printable(text))
