"""Undo what pages, mails and code do to the lines of perf's tables: HTML, lost line breaks or new ones, comments.

Functions take a list of lines (str), and give one; :func:`without_html` takes and gives a text.
"""

import html
import itertools
import re
from collections import Counter

from cmlib.io.events import is_event
from cmlib.io.perf.formats.human_readable import row_of
from cmlib.io.perf.grammar import UNCOUNTED
from cmlib.places import yaml_beside

_READ = yaml_beside(__file__)
_PART, _END = re.compile(_READ["part"].replace("<UNCOUNTED>", UNCOUNTED)), _READ["end"]
_WRAPPED = re.compile(rf"(\s*[0-9<][^\n]*#\s*\n)|[^\n]*\n\s*{_END}")
_CUT = re.compile(rf"(#[^\n#]*)\n *(?={_END})")
_HEADED = re.compile("Performance counter stats for |seconds time elapsed")
_MARK = re.compile(r"[ \t]*([^\w\s|+]{1,3}(?=[|+])|[^\w\s]{1,3}(?=[ \t]|$))(?:[ \t]+(?=[|+])|[ \t]?)")
_FRAMED, _FEWEST_FRAMED = re.compile(r"\|.*\|[ \t]*$"), 3
_ROW = re.compile(_READ["row"], re.IGNORECASE)
_CELL = re.compile(r"<t[dh]\b[^<>]{0,300}>", re.IGNORECASE)
_TAG = re.compile(r"<[a-z/][^<>]{0,300}>", re.IGNORECASE)


def without_html(text):
    """A text in which each row of an HTML table is a line of cells between bars, as in Markdown."""
    return _ROW.sub(lambda row: "\n" + _cells(row[1]) + "\n" * (not row[2]), text)


def _cells(row):
    """The cells (str) of the HTML (str) within a table's row, between bars."""
    return html.unescape(_TAG.sub("", _CELL.sub("|", " ".join(row.split())))) + "|"


def one_row_a_line(lines):
    """Lines with a line for each row, heading and time of perf's tables, in paragraphs where a line holds several or
    a mail wrapped them.
    """
    rows = []
    for _, paragraph in itertools.groupby(lines, lambda line: bool(line.strip())):
        paragraph = [*paragraph]
        pairs = zip(paragraph, paragraph[1:], strict=False)
        is_filled = any(map(_parts, paragraph)) or any(
            (wrapped := _WRAPPED.match(f"{above}\n{line}")) and (wrapped[1] or not row_of(line))
            for above, line in pairs
        )
        if is_filled:
            paragraph = _parts(" ".join(paragraph)) or _CUT.sub(r"\1 ", "\n".join(paragraph)).split("\n")
        rows += paragraph
    return rows


def _parts(line):
    """Lines (list of str) of a line with perf's heading and a row, or rows of several events of which one has a
    metric; [] of others, and of tables side by side.
    """
    cuts, tables, has_metric = {0, len(line)}, [[]], False
    for part in _PART.finditer(line):
        if not part["event"] or is_event(part["event"]):
            tables += [[]] * bool(part["heading"])
            tables[-1] += filter(None, [part["event"]])
            has_metric |= "#" in (part["metric"] or "")
            cuts |= {part.end()} if part["share"] else {part.start()}
            cuts |= {part.end()} if part["metric"] is None else set()
    is_headed, n_rows = len(tables) > 1, sum(map(len, tables))
    if n_rows + is_headed < 2 or not (is_headed or has_metric) or sum(map(len, map(set, tables))) < n_rows:
        return []
    return ["", *(line[start:end] for start, end in itertools.pairwise(sorted(cuts))), ""]


def without_marks(lines):
    """Lines without the marks of a comment, such as ``//``, where a row and perf's heading or a time are behind it, or
    rows of a table between bars.
    """
    matches = [(line, _MARK.match(line)) for line in lines]
    behind = [(mark[1], line[mark.end() :]) for line, mark in matches if mark]
    headed = {mark for mark, rest in behind if _HEADED.search(rest)}
    counted = {mark for mark, rest in behind if mark in headed and (row := row_of(rest)) and is_event(row[4])}
    framed = Counter(mark for mark, rest in behind if "|" not in mark and _FRAMED.match(rest))
    counted |= {mark for mark, n in framed.items() if n >= _FEWEST_FRAMED}
    return [line[mark.end() :] if mark and mark[1] in counted else line for line, mark in matches]
