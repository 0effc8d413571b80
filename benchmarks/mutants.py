"""Damage files for `fuzz.py`: change, insert, repeat, swap and cut off bytes, lines, cells and numbers."""

import itertools
import re

LONGEST_SEED = 20_000  # bytes of a file, to the end of a line
# Of most mutants a few thousand characters are read in milliseconds; long ones show what is not linear.
_LENGTHS = [1_500] * 5 + [5_000] * 2 + [LONGEST_SEED]
_LONGEST_MUTANTS = [20_000] * 5 + [50_000] * 2 + [400_000]
_BLANKS = [b" ", b"\t", b"\n", b"\r\n", b"\0", b"\xa0", b"\xe2\x80\xa8", b"\x1b", b""]
_NUMBERS = [
    b"0",
    b"-1",
    b"1e308",
    b"1e999",
    b"9" * 20,
    b"9" * 400,
    b"nan",
    b"inf",
    b"0.1",
    b"<not counted>",
    b"true",
]
_PIECES = [
    b"# started on Sat Nov 21 03:00:46 2026\n",
    b" Performance counter stats for 'x':\n\n",
    b"1.000000000,5,,cycles,9,100.00,,\n",
    b"CPU0,",
    b"cpu/event=0x1,umask=0x2/",
    b"name=",
    b"/",
    b"{",
    b"[",
    b'"',
    b"(",
    b"#",
    b" ( +-  1.00% )",
    b"Event|Counter|\n",
    b"# GID|EventCount|CpuCount|Total runtime [s]|A|B\n",
    b"PAPI_TOT_INS : 5\n",
    b"version: 1\nevents: Ir\n",
]  # fmt: skip


def mutant(chance, content, seeds):
    """Damage a file in one to five ways. Pieces of `seeds` (files, keyed by dialect) are inserted."""
    length, longest = chance.choice(_LENGTHS), chance.choice(_LONGEST_MUTANTS)
    content = content[: content.rfind(b"\n", 0, length) + 1 or length]
    for _ in range(chance.choice([1, 1, 1, 2, 3, 5])):
        content = chance.choice(_CHANGES)(chance, content, seeds)[:longest]
    return content


def _slice(chance, content, longest):
    start = chance.randrange(len(content) + 1)
    return start, min(len(content), start + chance.randint(0, longest))


def _flip(chance, content, seeds):
    changed = bytearray(content)
    for _ in range(chance.choice([1, 2, 10])):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _delete(chance, content, seeds):
    start, end = _slice(chance, content, chance.choice([1, 5, 100, 10_000]))
    return content[:start] + content[end:]


def _insert(chance, content, seeds):
    start, _ = _slice(chance, content, 0)
    piece = chance.choice([*_BLANKS, *_NUMBERS, *_PIECES])
    return content[:start] + piece * chance.choice([1, 1, 2, 100, 10_000]) + content[start:]


def _pump(chance, content, seeds):
    """Repeat a short piece many times. This makes a backtracking regular expression slow."""
    start, end = _slice(chance, content, chance.choice([1, 2, 4, 10, 40]))
    times = chance.choice([2, 30, 1000, 20_000])
    return content[:start] + content[start:end] * times + content[end:]


def _pump_line(chance, content, seeds):
    lines = content.splitlines(keepends=True) or [b""]
    k = chance.randrange(len(lines))
    n = chance.choice([1, 1, 3, 20])
    times = chance.choice([2, 2, 100, 3000])
    return b"".join(lines[:k] + lines[k : k + n] * times + lines[k + n :])


def _number(chance, content, seeds):
    numbers = list(itertools.islice(re.finditer(rb"[0-9]+(?:[.,][0-9]+)?", content), 20_000))
    if not numbers:
        return content
    found, new = chance.choice(numbers), chance.choice(_NUMBERS)
    if chance.random() < 0.2:
        return content.replace(found[0], new)
    return content[: found.start()] + new + content[found.end() :]


def _renumber(chance, content, seeds):
    """Repeat a line many times, each with another number: many events, intervals, places or samples."""
    lines = content.splitlines(keepends=True) or [b""]
    k = chance.randrange(len(lines))
    numbers = list(re.finditer(rb"[0-9]+", lines[k]))
    if not numbers:
        return content
    wanted = chance.sample(numbers, min(len(numbers), chance.choice([1, 2, 3])))
    pieces = []
    for n in range(1, chance.choice([10, 1000, 4000])):
        line = lines[k]
        for found in sorted(wanted, key=lambda each: -each.start()):
            width = len(found[0]) if found[0].startswith(b"0") else 1
            line = line[: found.start()] + b"%0*d" % (width, n) + line[found.end() :]
        pieces.append(line)
    return b"".join(lines[: k + chance.choice([0, 1])] + pieces + lines[k + 1 :])


def _swap(chance, content, seeds):
    lines = content.splitlines(keepends=True)
    if len(lines) > 1:
        i, j = chance.sample(range(len(lines)), 2)
        lines[i], lines[j] = lines[j], lines[i]
    return b"".join(lines)


def _shuffle(chance, content, seeds):
    lines = content.splitlines(keepends=True)
    chance.shuffle(lines)
    return b"".join(lines)


def _cells(chance, content, seeds):
    """Remove, repeat or exchange a cell of each line."""
    separator = chance.choice([b",", b";", b"\t", b" ", b"|"])
    k, times = chance.randrange(8), chance.choice([0, 0, 2, 50])
    lines = [line.split(separator) for line in content.split(b"\n")]
    changed = [cells[:k] + cells[k : k + 1] * times + cells[k + 1 :] for cells in lines]
    return b"\n".join(separator.join(cells) for cells in changed)


def _splice(chance, content, seeds):
    other = chance.choice(seeds[chance.choice(sorted(seeds))])
    start, _ = _slice(chance, content, 0)
    from_, to = _slice(chance, other, len(other))
    return content[:start] + other[from_:to] + content[start if chance.random() < 0.5 else len(content) :]


def _again(chance, content, seeds):
    return content * chance.choice([2, 2, 3, 20])


def _cut(chance, content, seeds):
    return content[: chance.randrange(len(content) + 1)]


_CHANGES = [
    _flip, _delete, _insert, _insert, _pump, _pump, _pump_line, _number, _renumber, _swap, _shuffle, _cells, _splice,
    _again, _cut,
]  # fmt: skip
