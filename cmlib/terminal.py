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


def say_above_bars(text):
    """Print text as :func:`say` does, above the bars of progress."""
    from tqdm import tqdm

    tqdm.write(printable(text))


def say(text="", *, err=False, nl=True, **style):
    """Print text without orders to the terminal, in a style of click's."""
    click.secho(printable(text), err=err, nl=nl, **style)
