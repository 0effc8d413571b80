"""Output of `perf stat` amid other text: a page in Markdown, a mail that quotes it, a log, what a terminal showed.

:func:`extract` takes the whole text and gives perf's lines alone, which :func:`cmlib.io.perf.parse_stat` or
:func:`cmlib.io.perf.totals` can read. Nothing is refused: a text without such lines gives "".
"""

import itertools
import os
import re
from collections import Counter

from cmlib.io.events import is_event
from cmlib.io.perf.as_perf import as_perfs
from cmlib.io.perf.blocks import FENCE, OWN, TABLE, Head, command_of, heads
from cmlib.io.perf.formats import find_format
from cmlib.io.perf.formats.base import RunFormat
from cmlib.io.perf.formats.human_readable import row_of
from cmlib.io.perf.formats.lines import as_number, as_unicode
from cmlib.io.perf.formats.separated import Separated
from cmlib.io.perf.grammar import BEGUN, TIME, UNCOUNTED
from cmlib.io.perf.loose import from_lines, from_objects, from_pcm, from_tables
from cmlib.io.perf.markup import one_row_a_line, without_html, without_marks

NOTE = "Counts were taken out of the text around them."
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\^C(?=  )")
_QUOTED = re.compile(r"^(?:> ?)+", re.MULTILINE)
_INDENTED = re.compile(r"^[ \t]*\t(?= |[0-9][0-9.,]* +\S|<not |Perf)")  # what perf indents by blanks
_NUMBERED = re.compile(r"^ *([0-9]{1,6})(?:[:|.)]| ?│)?(?: |\t|$)")  # as editors and `cat -n` number lines
# What logs of CI jobs, services and containers put before each line: who wrote it, and when.
_LOGGED = re.compile(
    r"((?:[\w./-]+ *\| |\[[\w./ -]+\] )?)"
    r"(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\w.,:+]*\]? ?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [^\s:]+: ?|#\d+ [\d.]+ ?)?"
)
_COMMENT = re.compile(r"[ \t]*(\*(?![*/])|//+|--|;+)(?: |$)")  # in front of a source file's lines
_OBJECTS = re.compile(r'\} ++\{?(?="(?:counter|metric)-value")')  # of JSON, in one line
_SOFT_BREAK = re.compile(r"=\n")  # of a mail that is quoted-printable
# Any other, if lines of each come together: `aws#29|`, `[INFO]`, `[1,0]<stdout>:`, `node3: `.
_TAG = re.compile(r"[ \t]*((?:\[[^\]\n]{1,60}\](?:<\w+>)?:?|[^\s|:>\[\]{}\"]{1,60}(?: ?[|>]|:(?=[ \t]))))")
_FEWEST_NUMBERS, _MOST_LINES = 4, 0.8  # share of the lines
_ENCODED_MAIL = 3  # soft breaks that make a text one
_KEPT = re.compile(r"^ *(?:Performance counter stats for |# started on |[0-9.,]+ .*seconds time elapsed)")
_METRIC = re.compile(
    rf"^ *(?:{TIME} +)?(?:(?:(?:Top[dD]own|Pipeline)\S* *(?:\(\w+\))? *)?#|[(\[][ 0-9.,]+%[)\]] *$)"
)
_UNCLOSED = re.compile(r"(?<=[0-9] )( *(?:cpu_[a-z]++|armv[0-9]\w*+|apple_\w++)/[\w.-]++)(?![^\s|])")
_KIND = re.compile(r"(?<=[0-9>] )( *+)([\w.-]++)(?::(\w++))? \[(cpu_[a-z]++)\](?!\S)")  # behind an event
# A CPU, core or socket in front of a count.
_PLACE = re.compile(r" *(?:CPU[0-9]++|[SN][0-9]++(?:-[A-Z]+[0-9]+)*+ +[0-9]++) +(?=[0-9<])|")
# Somebody's, behind a row's running share or an arrow.
_REMARK = re.compile(r"(?<=%\)) +[^\s()%][^()%]*$|(?<=\S)\s++<[<=-][^()%]{0,200}$")
_FIELDS = re.compile(
    rf"\s*(?:(?:{TIME}([,;\t|]))?(?:(?:CPU[0-9]+|[SN][0-9]+(?:-[A-Z]+[0-9]+)*[,;\t|][0-9]+)[,;\t|])?(?:(?:[0-9]+(?:[.,][0-9]+)?|{UNCOUNTED})([,;\t|])[^,;\t|]*\2([^;\t|]+?)\2[0-9]+\2[0-9]"
    r"|[,;\t|]{3}[^%]*%|(?P<mark>[,;\t|])[0-9]++(?P=mark)[0-9]++\.[0-9]++(?P=mark){3})"
    r'|\{(?=(?:[^\n]*?"event" *: *"(?P<event>[^"\n]++))?) *"(?:[^\n]*")?(?:counter|metric)-(?:value|unit)")'
)


def extract(text):
    """Take out perf's lines, with perf's heading above each table, and in it the command where one was typed above
    it.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        Tables for people if there are any, or else fields and JSON, or tables of cells, or what
        :mod:`cmlib.io.perf.loose` makes of the lines; empty if there are none, or nothing around them.
    """
    is_known = not isinstance(find_format(text), Separated)  # which any other text is taken for
    plain = plain_lines(text)
    lines = ["" if FENCE.match(line) else line for line in plain]
    first = next(filter(str.strip, lines), "")
    is_perfs = first.startswith(("# started on ", "#  ")) or any(
        read(first) for read in (_KEPT.match, _FIELDS.match, *[row_of] * (not TABLE.search(text)))
    )
    if lines == text.split("\n") and is_perfs and not any(map(_is_typed, lines)):
        return ""
    above = heads(plain)
    perfs = _tables(lines, above) or _fields(lines, above)
    if perfs or is_known:
        return "\n".join(perfs)
    if isinstance(find_format("\n".join(plain)), RunFormat):  # such as likwid's tables
        return "\n".join(plain)
    lines = [*map(as_unicode, lines)]
    return from_pcm(lines) or from_tables(lines, above) or from_objects("\n".join(lines)) or from_lines(lines)


def _is_typed(line):
    """Whether a line is a command that measures, as it is typed."""
    return command_of(line) is not None and not TABLE.match(line)


def plain_lines(text):
    """Lines (list of str) of a text without quotation marks of mails, colours, and numbers or times in front of each
    line.
    """
    text = _ESCAPE.sub("", text).replace("&lt;not ", "<not ").replace("ed&gt;", "ed>")
    if len(_SOFT_BREAK.findall(text)) >= _ENCODED_MAIL:
        text = _SOFT_BREAK.sub("", text)
    text = _KIND.sub(r"\1\4/\2/\3", text)
    text = _OBJECTS.sub("}\n{", _UNCLOSED.sub(r"\1/", without_html(_QUOTED.sub("", text))))
    lines = one_row_a_line(text.split("\n"))
    lines = _without_numbers(_without_tags(_without(_LOGGED, _without(_COMMENT, lines))))
    lines = [_INDENTED.sub("", line) for line in without_marks(lines)]
    return as_perfs("\n".join(lines)).split("\n")


def _without(start, lines):
    """Lines without their beginnings, where nearly all have one as of the pattern `start`, with the same first
    group.
    """
    matches = [start.match(line) for line in lines]
    begun = [match for match in matches if match and match[0]]
    n_filled = sum(bool(line.strip()) for line in lines)
    if len(begun) < _MOST_LINES * n_filled or len({match[1] for match in begun}) > 1:
        return lines
    return [line[match.end() :] if match else line for line, match in zip(lines, matches, strict=True)]


def _without_tags(lines):
    """Lines without a tag in front, where nearly all have one that several have, and those of each stand together."""
    tags = [match[1] if (match := _TAG.match(line)) else "" for line in lines]
    often = {tag for tag, n in Counter(filter(None, tags)).items() if n >= _FEWEST_NUMBERS}
    untagged = [line for line, tag in zip(lines, tags, strict=True) if line.strip() and tag not in often]
    stretches = [tag for tag, _ in itertools.groupby(tag for tag in tags if tag in often)]
    most = (1 - _MOST_LINES) * sum(bool(line.strip()) for line in lines)
    if (
        len(untagged) > most
        or len(stretches) > len(often)
        or any(mark in line for mark in {tag[-1] for tag in often} for line in untagged)
    ):
        return lines
    return [line.partition(tag)[2] if tag in often else line for line, tag in zip(lines, tags, strict=True)]


def _without_numbers(lines):
    """Lines without their numbers, where nearly all have one, each by one more than the line before."""
    matches = [_NUMBERED.match(line) for line in lines]
    numbers = [int(number[1]) for number in matches if number]
    follow = sum(after - before == 1 for before, after in itertools.pairwise(numbers))
    if follow < max(_FEWEST_NUMBERS, _MOST_LINES * sum(bool(line.strip()) for line in lines)):
        return lines
    return [line[number.end() :] if number else line for line, number in zip(lines, matches, strict=True)]


def _fields(lines, above):
    """List of the lines of fields and JSON, with perf's heading, command and titles where a command was typed between
    them, where titles are others, or where rows without times come again behind other text.
    """
    kept, seen, used, number, last, is_gap = [], set(), {Head()}, 1, Head(), False
    for line, head in zip(lines, above, strict=True):
        if row := _FIELDS.match(line):
            event = row[3] or row["event"]
            is_again = is_gap and not row[1] and bool(event) and event in seen
            number += is_again or (head != last and bool(kept))
            if is_again or head != last:
                kept += _begun(head, *[f"output {number}"] * (head in used))
                seen, last = set(), used.add(head) or head
            seen.add(event)
            kept.append(line.lstrip() if row[2] else line)
        is_gap = not row and (is_gap or not OWN.match(line))
    return kept


def _begun(head, *titles):
    """Lines (list of str) as of perf's heading of a run, with its command and titles, and further ones."""
    return [f"{BEGUN}{head.command}", *(f"# {title}" for title in (*head.titles, *titles))]


def _tables(lines, above):
    """List of the lines of perf's tables for people, with their headings, and how long the programs took; [] if
    there are none.

    Above them stand titles, as in Markdown, and commands as of `above` (list of Head). A table with perf's heading
    goes on behind a remark until it tells how long the program took, or an event again; others until a title, too.
    """
    kept, events, n_events, titles, time = [], {}, 0, (), ""
    is_headed = is_open = is_gap = is_perfs = is_foreign = typed = False
    used, n_again = set(), 0  # titles; tables of the same ones, from the first without perf's heading on
    for line, head in zip((_REMARK.sub("", line) for line in lines), above, strict=True):
        typed |= _is_typed(line)
        if head.titles != titles:
            depth = min(len(os.path.commonprefix([head.titles, titles])), len(head.titles) - 1)
            titles = head.titles
            kept += [""] * (not is_open)
            kept += [f"{'#' * (k + 1)} {title}" for k, title in enumerate(titles) if k >= depth]
            is_headed, is_open, n_again = False, is_open and is_perfs, 0
            if not TABLE.match(line):
                is_gap = False
                continue
        if _is_typed(line):
            is_headed, is_open = False, False
        elif _KEPT.match(line):
            if table := TABLE.match(line):
                line = line.replace(table[1], f"'{head.command}'")
                n_again += n_again > 0
                kept += ["", f"# output {n_again}"] * (n_again > 0)
                used.add((titles, head.command))
                is_foreign = True  # what comes below without a heading
            is_open, is_perfs, events = bool(table), bool(table), {}
            is_headed = is_open or (is_headed and "elapsed" not in line)
            kept += ["", line, ""]
        elif row := row_of(line[(place := _PLACE.match(line)).end() :]):
            name = (*place[0].split()[:1], row[4])
            is_again = name in events
            if is_again and place[0] and events[name] == row[2]:  # somebody repeats it
                continue
            if (not is_headed or (is_gap and is_again)) and not row[1] and is_event(row[4]):
                if not is_open or is_again:
                    n_again += n_again > 0 or is_again or (is_foreign and (titles, head.command) in used)
                    kept += ["", f"# output {n_again}"] * (n_again > 0)
                    used.add((titles, head.command))
                    is_foreign = False
                    kept += ["", f" Performance counter stats for '{head.command}':", ""]
                    events, is_perfs = {}, is_open and is_perfs
                is_headed = is_open = True
            if is_headed or row[1]:
                is_other = row[1] and (not n_events or typed or as_number(row[1]) < as_number(time or "0"))
                kept += [*(_begun(head) if is_other else ()), line]
                typed, time = False, row[1]
                events[name] = row[2]
                n_events += 1
        elif _METRIC.match(line) and kept and kept[-1]:
            kept.append(line)
        elif line.strip() and kept and kept[-1]:
            kept += [""] * (not is_open)
            is_headed = False
        is_gap, is_foreign = not line.strip(), is_foreign or not (OWN.match(line) or _is_typed(line))
    return kept if n_events else []
