"""Say why a file can't be read: what it is, or which tool's lines are in it and why they give no counts; and which of
its lines were left out where others were read.

Nothing is raised; patterns and sentences are in ``refused.yaml``.
"""

import itertools
import re

from cmlib.io.events.naming import CORE_EVENT, base_name, is_known
from cmlib.io.perf import plain_lines
from cmlib.io.perf.grammar import where
from cmlib.io.perf.share_lines import PATTERNS
from cmlib.places import yaml_beside

_TOLD = yaml_beside(__file__)
_FILES, _LINES = _TOLD["files"], _TOLD["lines"]
_HEAD, _LONGEST = 1 << 20, 300  # of a text, and of each line in it, where the tools' lines are looked for
_NUMBERED = re.compile(r"line ([0-9]+), '")
_CELLS = re.compile(r"\s{2,}|[|;\t│,]")
_GROUPED = re.compile(r"(?<![0-9.,])[1-9][0-9]{0,2}(?:[,'][0-9]{3})++(?![0-9.,'])")
_NUMBER = re.compile(r"[0-9](?:[. \u00a0\u202f]?[0-9])++")


def recognise(content):
    """What a file is, in words (str), if it is known not to hold counts, by the patterns of refused.yaml; else None.

    `content` is its bytes, of which the first MiB is looked at.
    """
    head = content[:_HEAD]
    return next((refusal for pattern, refusal in _FILES.items() if re.match(pattern.encode(), head)), None)


def without_counts(text):
    """Why a text in which no counts were found has none (str): the tool that wrote lines of it, and the first one."""
    lines = re.finditer(rf"(?m)^.{{1,{_LONGEST}}}", text[:_HEAD])
    pairs = itertools.product(lines, _LINES.items())
    told = ((line, tool) for line, (tool, row) in pairs if re.match(row, line[0], re.IGNORECASE))
    if first := next(told, None):
        return f"{_TOLD['of_tool'].format(first[1], where(text, first[0].start()))} {_TOLD['read']}"
    return f"{_TOLD['without'].format(sum(map(bool, map(str.strip, text.split(chr(10))))))} {_TOLD['read']}"


def unread(text, read):
    """Sentence (str) on the lines of a text that count events or tell shares of slots, of which `read` (str), what was
    taken of it, has no number: how many, and the first; "" if there are none, or the text has a MiB or more.
    """
    there, left_out, width, fewest = {*_NUMBER.findall(_ungrouped(read))}, [], 0, 0
    for line in plain_lines(text) if len(text) < _HEAD else ():
        cells = [cell.strip(' *`":') for cell in _CELLS.split(_ungrouped(line).strip(" |"))]
        n_named, numbers = sum(map(_is_named, cells)), [*filter(None, map(_NUMBER.match, cells))]
        if numbers and (n_named or (len(cells) == width and len(numbers) >= fewest)):
            is_read = any(number[0] in there or not number[0].strip("0.") for number in numbers)
            left_out += [" ".join(line.split())] * (not is_read)
        elif set(line) - set("|+-: "):
            width, fewest = len(cells) * (n_named > 1), n_named
    first = "".join(left_out[:1])[:80].encode(errors="replace").decode()
    return _TOLD["unread"].format(len(left_out), first) if left_out else ""


def _ungrouped(text):
    """The text without the marks between groups of three digits: 1,234 is 1234."""
    return _GROUPED.sub(lambda number: re.sub("[,']", "", number[0]), text)


def _is_named(cell):
    """Whether a cell names an event, or a category of slots."""
    name = re.sub(r"(?i) (?:STAT|\(.*|/ .*)$|^(?:IPC|ins\w+ per)\b.*", "", cell)  # IPC is known of counts
    return bool(PATTERNS["heading"].fullmatch(name)) or is_known(base_name(CORE_EVENT.sub(r"\2", name)))


def numbered(message, inside, text):
    """A message about `inside`, what was taken out of a text, with the number of the line in the text itself (str)."""
    at = _NUMBERED.search(message)
    lines = inside.split("\n")
    row = lines[int(at[1]) - 1].strip() if at and int(at[1]) <= len(lines) else ""
    numbers = [number for number, line in enumerate(text.split("\n"), 1) if row and row in line]
    return message.replace(f"line {at[1]},", f"line {numbers[0]},", 1) if numbers else message
