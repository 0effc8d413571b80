"""Where a block begins in a text, and whose it is: the lines that a tool wrote in one go, below titles and a command.

:func:`heads` takes the lines of a text and gives a :class:`Head` for each, whatever the lines are.
"""

import re
from typing import NamedTuple

# Heading of perf's tables for people: command, and number of runs if the counts are means of several.
TABLE = re.compile(r"^ *Performance counter stats for (.*?)(?: \(([0-9]+) runs\))?:[ \t]*$", re.MULTILINE)
FENCE = re.compile(r"^\s*(?:```|~~~)")
# A command that measures, as it is typed: what a prompt, a page and a shell put before it, options and their values.
_TYPED = re.compile(
    r"^([\s`]*(?:(?:\[?[\w.-]{1,60}@[^\n`$#%>❯]{1,60}|[^\s`]*)[$#%>❯]\s*)?(?:(?:sudo|command|python3?|\w+=\S*+"
    r"|(?:taskset|numactl)(?: -\S*+(?: [\d,-]++)?+)++) +)*+)(?:[^\s`]*/)?"
    r"(perf stat(?! \.{3})|time -l\w*|toplev(?:\.py)?|topdown-tool|vtune|amplxe-cl|likwid-perfctr) +([^\n`]+)`*:?\s*$"
)
_HOST = re.compile(r"\W*[\w.-]{1,60}@([\w.-]{1,60})[^$#%>❯]*[$#%>❯]")  # of a prompt
_EVENTS = re.compile(r" (?:-d+|--topdown|(?:-[eMo]|--(?:events?|metrics|output))[ =]?\S+|\\$)(?= |$)")
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
    r"|\b(?:is|are|was|were|your?|i|we|i\.e|e\.g)\b).*[:\uff1a]\W*$"
    r"|[#\s]*\d[\d.,]* *(?:%|percent|per |\S*/|[GM]?Hz|CPUs|insn|stalled|\S+ on )"
    r"|# (?:Running .*benchmark|\d+ (?:sender|groups)|Executed \d|Copying \d)\b|perf_event_attr\b|opening: "  # perf's
    r"|[\s+-]*# *(?:include|define|if|ifn?def|else|endif|pragma)\b|.*[;{}]\s*$"  # of C
    r"|[^\w\n]*+(?:and|but|so|however|also)\b.*[:\uff1a]\W*$"
    r"|[^\w\n]*+(?:(?:and|but|so|then|now|again|also)\b[^\w\n]*+)++$"
    r"|[^\w\n]*+(?:run|rep\w*+|trial|round|pass|iteration|error|warning|note|command"
    r"|(?:raw +)?output|results?)?[^\w\n]*+[0-9]*+[^\w\n]*+$)[ \t]{0,8}(?:"
    r"(?:(?P<marks>#{1,6})|h[1-6]\.|/{2,}) *(?P<a>\S.{0,70}?)"
    r"|(?:[=~+-]{2,}|\*{1,2}|`) *(?P<b>\w.{0,70}?)[ :]*[=~+*`-]++(?: \([^()\n]{0,60}\))?[:\uff1a]?"
    r"|(?:[*-] )?(?P<c>\w.{0,70}?)[:\uff1a]{1,2}|(?P<f>before|after|old|new)[:\uff1a] .*"
    r"|(?P<d>(?:\[?\d+[\]).] +)?\w(?:(?!  ).){0,70}?),?)[ \t]*$",
    re.IGNORECASE,
)
_NO_WORDS = re.compile(r"\d+(?![\]).] )|\S*[$#%>❯] ")  # but a count, or a prompt
_UNDERLINE = re.compile(r" *[=~-]{3,} *$")
_ROW = re.compile(r" *[0-9][0-9.,]* +(?:msec +)?[a-z][\w./:-]+(?: |$)", re.IGNORECASE)
_UNENDED = re.compile(r"\w{2}[,;]?\s*$")  # of prose: its sentence goes on in the next line
# A line of prose, which no row of a tool begins as.
_PROSE = re.compile(r"^[\W_]*+(?=[^\W\d_]).*?(?:(?:\b[^\W\d_]{2,}[,;]? ){3}|[\u3040-\u9fff\uac00-\ud7af]{6})")
_COUNTED = re.compile(r'\s*(?:\{ *"|[0-9.]+([,;|])[^,;|\s]*\1)')  # as fields, or JSON
# Of a block's own lines: what a tool wrote, and prompts.
OWN = re.compile(
    r"\s{30}|[\W_]*+(?:$|\d(?!\d?\d?(?![\d,])[.\w-]*+(?: (?!seconds\b)[^\W\d_][\w-]*+){1,6}[.,:]?$)"
    r"|not (?:counted|supported)|(?:CPU|[SNDCLPT])\d+(?:-[A-Z]+\d+)*\s+[\dA-Z<]|(?:FE|BE|BAD|RET|MUX|Topdown\w*)\b"
    r"|(?:counter|metric)-(?:value|unit)\"|(?:interval|cpu|core|socket|node|die|thread|cgroup)\" *:"
    r"|time +counts|(?:retiring|bad speculation|frontend bound|backend bound|tma_\w+)\b"
    r"|Some events weren't counted|echo [01] > /proc/sys/kernel/nmi_watchdog|perf stat \.\.\.)"
    r"|.*[$#%>❯]\s*$|.*\S {3,}\S.* {3,}\S"
)
# Numbers that a program finds, and of runs; a version, or a number of threads, tells programs apart.
_FOUND = re.compile(
    r"\d++\.\d{3,}|0x[0-9a-f]++|\d++(?:[:,]\d\d++)++(?:\.\d+)?|\d{5,}"
    r"|\d[\d.]*+(?= ?\[?(?:%|[num]?s\b|[mu]?secs?\b|seconds?\b))|(?<=run )\d++|(?<=\bpass )\d++|(?<=iteration )\d++"
)
_LONGEST, _LONGEST_COMMAND = 200, 1000  # characters of a title and of a typed command
_PROMPT, _MARKED, _COLON, _TABLE = -1, 7, 8, 10  # levels around those of Markdown's six headings


class Head(NamedTuple):
    """What stands above a line.

    Attributes
    ----------
    titles : tuple of str
        The outermost first.
    command : str
        What was measured; "" if not known.
    number : int
        Of the block: one more at each command that measures, and each heading of perf's without one.
    """

    titles: tuple = ()
    command: str = ""
    number: int = 0


def heads(lines):
    """List of the Head of each of some lines (list of str); a title and a command are above their own lines, too.

    Where people wrote something between two blocks of a command that is no title, the second one's last title is its
    number, and so it is where they use a title again.
    """
    of_lines, titles, head, typed, is_fenced, is_titled = [], {}, Head(), "", False, False
    begin, used, stretch = _beginnings(lines), {}, 0
    for k, line in enumerate(lines):
        is_fenced ^= bool(FENCE.match(line))
        if (command := command_of(line)) is not None:
            number = head.number + (k in begin)
            if host := _HOST.match(line):
                is_titled |= titles.get(_PROMPT, host[1]) != host[1]
                titles = {_PROMPT: host[1]} | {of: words for of, words in titles.items() if of >= 0}
            typed = program_of(command) or typed * bool(TABLE.match(line))
            if begin.get(k):
                stretch = number
                titles = {of: words for of, words in titles.items() if is_titled or of < _MARKED}
            if k in begin:
                titles.pop(_TABLE, None)
                of_command = used.setdefault(typed or command, {})
                is_numbered = bool(of_command and begin[k] and not is_titled)
                last = of_command.setdefault(tuple(titles.values()), [stretch, number * is_numbered])
                if last[0] != stretch:
                    last[:] = stretch, number
                titles |= {_TABLE: f"table {last[1]}"} if last[1] else {}
            head = Head(tuple(titles.values()), typed or command, number)
            typed, is_titled = typed * (not TABLE.match(line)), False
        elif title := _title(lines, k):
            n_marks = len(title["marks"] or "") * (not is_fenced)
            level = _COLON + is_fenced if title["c"] else n_marks or _MARKED
            titles = {of: words for of, words in titles.items() if of < level}
            titles[level] = next(filter(None, title.group(*"abcdf"))).strip(" :*`")
            head = Head(tuple(titles.values()), head.command * (level >= _MARKED), head.number)
            is_titled = True
        elif _COUNTED.match(line):
            is_titled = False
        of_lines.append(head)
    return of_lines


def _beginnings(lines):
    """Dict of the number of each line with which a block begins to whether it is told from the block before: by what
    stands between them, but not around the one before and all that follow, or how it was measured.
    """
    starts, between, measured, is_open = [], [set()], [()], False
    for k, line in enumerate(lines):
        if command_of(line) is not None:
            is_table = bool(TABLE.match(line))
            if not (is_open and is_table):
                starts.append(k)
                between.append(set())
                measured.append(_measured(line))
            is_open = not is_table
        elif OWN.match(line[:_LONGEST]):
            is_open &= not re.match(r"\s*[\d<{]", line)
        elif not is_open and not _title(lines, k):
            between[-1].add(_FOUND.sub("0", line[:_LONGEST]).strip())
    told, after = {}, set.union(*between)
    for k in reversed(range(len(starts))):
        after = after & between[k + 1]
        others = k and between[k] - between[k - 1] - after
        is_other = measured[k][:1] == measured[k + 1][:1] and measured[k] != measured[k + 1]
        told[starts[k]] = bool(others or is_other)
    return told


def _measured(line):
    """The command with its tool, if both were typed, and how it is measured, but for the events: two str, or none."""
    if TABLE.match(line):
        return ()
    starter, tool, typed = _TYPED.match(line).groups()
    end = _OPTIONS.match(typed).end()
    return f"{tool} {typed[end:]}", _FOUND.sub("0", f"{starter}{_EVENTS.sub('', f' {typed[:end]}').strip()}")


def _title(lines, k):
    """The match of a title in line `k`; None for others, such as the end of a sentence that began above."""
    line, above = lines[k], lines[k - 1] if k else ""
    title = _TITLE.match(line) if len(line) <= _LONGEST else None
    if not title or not title["d"]:
        goes_on = title and title["c"] and _PROSE.match(above[:_LONGEST]) and _UNENDED.search(above)
        return None if goes_on else title
    right_below, *others = *lines[k + 1 : k + 4], ""
    below = next((line for line in (right_below, *others) if line.strip() and not FENCE.match(line)), "")
    is_typed = command_of(below) is not None and not TABLE.match(below) and not line.endswith((".", ";"))
    is_above = (_ROW.match(right_below) or is_typed) and not _NO_WORDS.match(title["d"])
    return title if not re.search(r"\w", above) and (is_above or _UNDERLINE.match(right_below)) else None


def command_of(line):
    """What perf's heading, or a command that was typed, says is measured (str); None for another line."""
    if table := TABLE.match(line):
        return table[1][1:-1] if table[1].startswith("'") else table[1]
    typed = len(line) <= _LONGEST_COMMAND and _TYPED.match(line)
    return typed[3][_OPTIONS.match(typed[3]).end() :].strip(" \\&") if typed else None


def program_of(command):
    """The command (str), or "" if it names no program."""
    return "" if _NO_PROGRAM.match(command) else command


def are_same(command, other):
    """Whether two commands are the same and known, but for what starts them, such as ``taskset -c 0``."""
    short, long = sorted((command, other), key=len)
    return bool(short) and f" {long}".endswith(f" {short}")
