"""Say why a file can't be read: what it is, or which tool's lines are in it and why they give no counts.

Nothing is raised; patterns and sentences are in ``refused.yaml``.
"""

import re

from cmlib.io.perf.grammar import where
from cmlib.places import yaml_beside

_FILES, _LINES, _WITHOUT, _OF_TOOL, _READ = yaml_beside(__file__).values()
_HEAD, _LONGEST = 1 << 20, 300  # of a text, and of each line in it, where the tools' lines are looked for
_NUMBERED = re.compile(r"line ([0-9]+), '")


def recognise(content):
    """What a file is, in words (str), if it is known not to hold counts, by the patterns of refused.yaml; else None.

    `content` is its bytes, of which the first MiB is looked at.
    """
    head = content[:_HEAD]
    return next((refusal for pattern, refusal in _FILES.items() if re.match(pattern.encode(), head)), None)


def without_counts(text):
    """Why a text in which no counts were found has none (str): the tool that wrote lines of it, and the first one."""
    lines = text[:_HEAD].split("\n")
    told = (
        (number, tool)
        for number, line in enumerate(lines)
        for tool, row in _LINES.items()
        if re.match(row, line[:_LONGEST], re.IGNORECASE)
    )
    number, tool = next(told, (0, None))
    if tool is None:
        n_lines = sum(map(bool, map(str.strip, text.split("\n"))))
        return f"{_WITHOUT.format(n_lines)} {_READ}"
    start = sum(len(line) + 1 for line in lines[:number])
    return f"{_OF_TOOL.format(tool, where(text, start))} {_READ}"


def numbered(message, inside, text):
    """A message about `inside`, what was taken out of a text, with the number of the line in the text itself (str)."""
    at = _NUMBERED.search(message)
    lines = inside.split("\n")
    row = lines[int(at[1]) - 1].strip() if at and int(at[1]) <= len(lines) else ""
    numbers = [number for number, line in enumerate(text.split("\n"), 1) if row and row in line]
    return message.replace(f"line {at[1]},", f"line {numbers[0]},", 1) if numbers else message
