"""Where a block begins in a text, and whose it is: the lines that a tool wrote in one go, below titles and a command.

:func:`heads` takes the lines of a text and gives a :class:`Head` for each, whatever the lines are.
"""

import itertools
import re
from typing import NamedTuple

# Heading of perf's tables for people: command, and number of runs if the counts are means of several.
TABLE = re.compile(r"^ *Performance counter stats for (.*?)(?: \(([0-9]+) runs\))?:[ \t]*$", re.MULTILINE)
FENCE = re.compile(r"^\s*(?:```|~~~)")
# A command that measures, as it is typed, with what a prompt or a page puts around it; options and their values.
_TYPED = re.compile(
    r"^[\s`]*(?:[^\s`]*[$#%>❯]\s*)?(?:(?:sudo|command|python3?|(?:taskset|numactl)(?: -\S*+(?: [\d,-]++)?+)++) +)*+"
    r"(?:[^\s`]*/)?(?:perf stat|time -l\w*|toplev(?:\.py)?|topdown-tool|vtune|amplxe-cl|likwid-perfctr)"
    r" +([^\n`]+)`*:?\s*$"
)
_OPTIONS = re.compile(
    r".* -- |(?:(?:(?:-[eMrCIxoptDGmn]|--(?:core|nodes|force-cpu|events?|metrics|repeat|output|cpu)) +\S+"
    r"|-[^\s(]*\$\([^)\n]*\)|-\S+)(?: +|$))*"
)
# What is measured without being started: a command that names no program.
_NO_PROGRAM = re.compile(r"(?:process|thread) id\b|cpu\(s\)|system wide|(?:\S*/)?sleep\b", re.IGNORECASE)
# What people write above tables to tell them apart; not a run's number, nor what tools write themselves.
_TITLE = re.compile(
    r"^(?!.*(?:perf stat|stats for|started on|individual measure|final result|time +counts|wrote\W*$)"
    r"|(?!.*(?:\b(?:before|after|old|new|with|without)\b|\)\W*$)).*(?:output|similar|following|looks|shows"
    r"|\b(?:is|are|was|were|your?|i\.e|e\.g))\b.*[:\uff1a]\W*$"
    r"|[#\s]*\d[\d.,]* *(?:%|percent|per |\S*/|[GM]?Hz|CPUs|insn|stalled|\S+ on )"
    r"|# (?:Running .*benchmark|\d+ (?:sender|groups)|Executed \d|Copying \d)\b|perf_event_attr\b"  # perf's own
    r"|[^\w\n]*+(?:(?:and|but|so|then|now|again|also)\b[^\w\n]*+)++$"
    r"|[^\w\n]*+(?:run|rep\w*+|trial|iteration|error|warning|note|command"
    r"|(?:raw +)?output|results?)?[^\w\n]*+[0-9]*+[^\w\n]*+$)[ \t]{0,8}(?:"
    r"(?:(?P<marks>#{1,6})|h[1-6]\.|/{2,}) *(?P<a>\S.{0,70}?)"
    r"|(?:[=~+-]{2,}|\*{1,2}|`) *(?P<b>\w.{0,70}?)[ :]*[=~+*`-]++(?: \([^()\n]{0,60}\))?[:\uff1a]?"
    r"|(?:[*-] )?(?P<c>\w.{0,70}?)[:\uff1a]{1,2}"
    r"|(?P<d>\w(?:(?!  ).){0,70}?)(?=[ \t]*\n *[=~-]{3,} *$)"
    r"|(?P<e>[^\W\d](?:(?!  ).){0,40}?)(?=[ \t]*\n *[0-9][0-9.,]* +(?:msec +)?[a-z][\w./:-]+(?: |$)))[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_UNENDED = re.compile(r"\w{2}[,;]?\s*$")  # of prose: its sentence goes on in the next line
# A line of prose, which no row of a tool begins as.
_PROSE = re.compile(r"^[\W_]*+(?=[^\W\d_]).*?(?:(?:\b[^\W\d_]{2,}[,;]? ){3}|[\u3040-\u9fff\uac00-\ud7af]{6})")
_LONGEST, _LONGEST_COMMAND = 200, 1000  # characters of a title and of a typed command
_MARKED, _COLON, _TABLE = 7, 8, 10  # levels below those of Markdown's six headings


class Head(NamedTuple):
    """What stands above a line.

    Attributes
    ----------
    titles : tuple of str
        The outermost first.
    command : str
        What was measured; "" if not known.
    number : int
        Of the block: one more at each heading of perf's and each command that measures.
    """

    titles: tuple = ()
    command: str = ""
    number: int = 0


def heads(lines):
    """List of the Head of each of some lines (list of str); a title and a command are above their own lines, too.

    Where prose stands between two blocks, other than what stood above the first, the second one's last title is its
    number: what people write about outputs tells them apart.
    """
    of_lines, titles, head, typed, is_fenced = [], {}, Head(), "", False
    said, is_prose_between, is_typed, above = set(), False, False, ""
    for line, below in itertools.zip_longest(lines, lines[1:], fillvalue=""):
        is_fenced ^= bool(FENCE.match(line))
        if (command := command_of(line)) is not None:
            if is_prose_between and not (is_typed and TABLE.match(line)):  # else it is what the program wrote
                titles[_TABLE] = f"table {head.number + 1}"
            is_prose_between, is_typed = False, not TABLE.match(line)
            typed = program_of(command) or typed * bool(TABLE.match(line))
            head = Head(tuple(titles.values()), typed or command, head.number + 1)
            typed *= not TABLE.match(line)
        elif title := _title(above, line, below):
            n_marks = len(title["marks"] or "") * (not is_fenced)
            level = _COLON + is_fenced if title["c"] else n_marks or _MARKED
            titles = {k: words for k, words in titles.items() if k < level}
            titles[level] = next(filter(None, title.group(*"abcde"))).strip(" :*`")
            head = Head(tuple(titles.values()), head.command * (level >= _MARKED), head.number)
        elif _PROSE.match(line[:_LONGEST]) and (like := re.sub("[0-9]+", "0", line)) not in said:
            said.add(like)
            is_prose_between = head.number > 0
        above = line
        of_lines.append(head)
    return of_lines


def _title(above, line, below):
    """The match of a title; None for other lines, such as the end of a sentence or paragraph that began above."""
    title = _TITLE.match(f"{line}\n{below[:_LONGEST]}") if len(line) <= _LONGEST else None
    goes_on = _PROSE.match(above[:_LONGEST]) and _UNENDED.search(above)
    return title if title and not (goes_on if title["c"] else title["e"] and above.strip()) else None


def command_of(line):
    """What perf's heading, or a command that was typed, says is measured (str); None for another line."""
    if table := TABLE.match(line):
        return table[1][1:-1] if table[1].startswith("'") else table[1]
    typed = len(line) <= _LONGEST_COMMAND and _TYPED.match(line)
    return typed[1][_OPTIONS.match(typed[1]).end() :].strip(" \\&") if typed else None


def program_of(command):
    """The command (str), or "" if it names no program."""
    return "" if _NO_PROGRAM.match(command) else command


def are_same(command, other):
    """Whether two commands are the same and known, but for what starts them, such as ``taskset -c 0``."""
    short, long = sorted((command, other), key=len)
    return bool(short) and f" {long}".endswith(f" {short}")
