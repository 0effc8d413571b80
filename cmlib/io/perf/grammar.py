"""Regular expressions for the lines of `perf stat` output.

Machine-readable output comes as fields between separators (``-x``) or as one JSON object a line (``-j``). perf quotes
nothing and writes numbers as the locale does, so ``88,60,msec,task-clock,100,100,00`` is a line like any other. It
can be read because perf's numbers have a fixed shape: a time has nine decimals, a count none or two, a share two and
no more than 100, and units don't begin with a digit. :func:`find_grammar` takes a text and gives the pattern of its
lines; a ParseError for text of other lines.
"""

import itertools
import re

from cmlib.errors import CmlibError

STARTED = "# started on "
BEGUN = f"{STARTED}the next line: "  # and the command; titles come below
TIME = r"[0-9]{1,12}[.,][0-9]{9}"
_WHOLE = r"[0-9]{1,300}"
UNCOUNTED = "<not counted>|<not supported>"
_BLANK_OR_COMMENT = r" *+(?:#.*)?"
_SEPARATOR = r"[\t!$&*+,:;=?@\\^|~]"
_FIRST_FIELD = re.compile(rf" *+(?:{TIME}|summary|{UNCOUNTED}|{_WHOLE}(?:[.,][0-9]+)?)?({_SEPARATOR})")
_BEGUN = re.compile(rf"^{BEGUN}(.*)\n((?:# .*\n)*+)", re.MULTILINE)
_DATA = re.compile(r"^ *+[^ #\r\n]", re.MULTILINE)


class ParseError(CmlibError, ValueError):
    """Raised for text that is not output of `perf stat` or another readable form of counts; the message names the
    line.
    """


class NoCountsError(ParseError):
    """Raised for text of which no line is one of `perf stat`."""


def find_grammar(text):
    """Find out by the first lines of a file's `text` how all are written: a pattern (re.Pattern) of whole lines.

    Its groups: time, count or "<not …>", unit, event, share [%]; the event is empty or absent in a line without a
    count. None if the text has only comments and blank lines; ParseError if its first line is not as of ``perf stat
    -x`` or ``-j``, or if no line counts an event.
    """
    lines = (line for line in re.finditer(r"[^\n]+", text) if not re.fullmatch(_BLANK_OR_COMMENT, line[0]))
    first = next(lines, None)
    if first is None:
        return None
    if first[0].lstrip(" ").startswith("{"):
        return _JSON
    separator = _FIRST_FIELD.match(first[0])
    if separator is None:
        raise NoCountsError(
            f"{where(text, first.start())} does not begin as output of `perf stat` does, with -x, -j or "
            "without. Record with `perf stat -I 100 -x, -o FILE -- COMMAND`."
        )
    grammars = [_separated(separator[1], decimal) for decimal in ".,"]
    for line in itertools.chain([first], lines):
        matches = [grammar.fullmatch(line[0]) for grammar in grammars]
        for grammar, match in zip(grammars, matches, strict=True):
            if match and match[5]:
                return grammar
        if not any(matches) and re.match(r" *[0-9<]", line[0]):
            return grammars[0]
    raise NoCountsError(
        f"{where(text, first.start())} counts no event, nor does any other line. Metrics by themselves can't be read, "
        "nor fields separated by several characters: record with `perf stat -I 100 -x, -o FILE`."
    )


def run_starts(text):
    """Positions (list of int) in a text at which runs begin, as ``perf stat --append`` writes several; the first is
    0.
    """
    starts, before = [0], 0
    if STARTED not in text:  # found in a tenth of the time
        return starts
    for heading in re.finditer(f"^{STARTED}", text, re.MULTILINE):
        if _DATA.search(text, before, heading.start()):
            starts.append(heading.start())
        before = heading.start()
    return starts


def whose(text):
    """Command (str) and titles (tuple of str) of the first run of a text; empty if it does not tell them."""
    told = _BEGUN.search(text)
    return (told[1], (*(line[2:] for line in told[2].splitlines()),)) if told else ("", ())


def where(text, start):
    """Number and content of the line that begins at position `start` of a text, for messages (str)."""
    line = text[start:].partition("\n")[0]
    content = line if len(line) <= 120 else f"{line[:117]}…"
    return f"line {text.count(chr(10), 0, start) + 1}, {content!r},"


def _separated(separator, decimal):
    """Pattern of lines with a separator and a decimal mark, as ``-x`` writes them.

    Fields: [time] count unit event [variation] runtime share [metric, its unit …].
    """
    s, d = re.escape(separator), re.escape(decimal)
    decimals = "{2}" if separator == decimal else "+"
    time = rf" *+(?:({TIME}){s}|summary{s})?"
    count = rf"({_WHOLE}(?:{d}[0-9]{decimals})?|{UNCOUNTED})"
    unit = rf"((?:[^{s}\n0-9][^{s}\n]*)?)"
    # Without a name= of its own, cpu/event=0x43,umask=0x4/ is written with its comma.
    event = r"((?:[^,/\n]++|/[^/\n]*/)*+)" if separator == "," else rf"([^{s}\n]*)"
    variation = rf"(?:[0-9]+{d}[0-9]{{2}}%{s})?"
    share = rf"(100{d}00|[0-9]{{1,2}}{d}[0-9]{{2}})"
    row = f"{time}{count}{s}{unit}{s}{event}{s}{variation}[0-9]+{s}{share}(?:{s}.*)?"
    # Further metrics of an event, and groups of metrics, come on lines of their own.
    countless = rf" *+(?:(?:{TIME}|summary){s})?{s}.*"
    return re.compile(rf"^(?:{row}|{countless}|{_BLANK_OR_COMMENT})$", re.MULTILINE)


def _json():
    """Pattern of lines of ``-j``: a line is a flat object with the same fields, always in this order."""
    number = rf"{_WHOLE}(?:[.,][0-9]+)?"
    share = r"(100(?:[.,]0+)?|[0-9]{1,2}(?:[.,][0-9]+)?)"
    row = ", *".join(
        [
            _key("counter-value", f'"({number}|{UNCOUNTED})"'),
            _key("unit", r'"([^"\n]*)"'),
            _key("event", r'"([^"\n]*)"'),
            rf"(?:{_key('variance', number)}, *)?" + _key("event-runtime", "[0-9]+"),
            _key("pcnt-running", share) + "(?:,.*)?",
        ]
    )
    timed = rf"(?:{_key('interval', f'({number})')}, *)?{row}"
    countless = r'(?!.*"counter-value").*'
    return re.compile(rf"^(?: *+\{{(?:{timed}|{countless})\}} *|{_BLANK_OR_COMMENT})$", re.MULTILINE)


def _key(name, value):
    """Pattern (str) of a key and its value in JSON."""
    return rf'"{name}" *: *{value} *'


_JSON = _json()
