"""What is printed: text from a stranger's file gives no orders to the terminal."""

import re

import click

# All but letters, digits, signs and blanks, the line feed and the tab: control characters, those that turn the
# direction of writing, and surrogates. Colours are click's, and put in by `say` alone.
_ORDERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)


def printable(text):
    """Text with what a terminal takes for orders as JSON writes it, such as ``\\u001b``."""
    return _ORDERS.sub(lambda match: f"\\u{ord(match[0]):04x}", str(text))


def one_line(text):
    """Text as :func:`printable` makes it, its line feeds as well: a folder's name begins no line of its own."""
    return printable(text).replace("\n", "\\n")


_LONGEST = 4000  # characters of a message
_MOST_LEFT_OUT = 20  # lines


def abridged(text):
    """A message's beginning and end, where it lists what a stranger's file has thousands of."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1000]} … {text[-1000:]}"


def say_left_out(reasons):
    """Print on standard error why things were left out, a line each; of many the first ones, and how many more."""
    for reason in reasons[:_MOST_LEFT_OUT]:
        say(f"left out: {one_line(str(reason)[:1000])}", err=True)
    if more := len(reasons[_MOST_LEFT_OUT:]):
        say(f"left out: {more:,} more, which can't be read either.", err=True)


def say_above_bars(text):
    """Print text as :func:`say` does, above the bars of progress."""
    from tqdm import tqdm

    tqdm.write(printable(text))


def say(text="", *, err=False, nl=True, **style):
    """Print text without orders to the terminal, in a style of click's."""
    click.secho(printable(text), err=err, nl=nl, **style)
