"""Readers of all formats read a damaged sample, or refuse it, and no other format claims it."""

import random
import re
from pathlib import Path

import pytest

from cmlib.io.formats import registry
from cmlib.io.formats.readings import FormatError

ROOT = Path(__file__).parents[1]


def typical_lines(lines):
    """Numbers of the first two lines of each shape, and of the last; a shape is a line with its words left out."""
    by_shape = {}
    for number, line in enumerate(lines):
        shape = re.sub(r"\w+", "w", re.sub(r"[\d., ]+", "0", line))
        by_shape.setdefault(shape, []).append(number)
    return sorted({number for numbers in by_shape.values() for number in (*numbers[:2], numbers[-1])})


def damaged_texts(content, chance):
    """Cut off before a line; without one; with a flipped bit."""
    lines = content.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    for number in typical_lines(lines):
        yield "".join(lines[:number])
        yield "".join(lines[:number] + lines[number + 1 :])
    for _ in range(40):
        flipped = bytearray(content)
        flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
        yield flipped.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("name", registry.formats())
def test_a_damaged_sample_is_read_or_refused(name):
    content = (ROOT / registry.formats()[name].sample).read_bytes()
    n_read = 0
    for text in damaged_texts(content, random.Random(name)):
        try:
            claimed_by, _ = registry.read_counts(text)
        except FormatError:
            continue
        assert claimed_by == name, text
        n_read += 1
    assert n_read > 0
