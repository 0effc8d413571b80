"""Shares of slots that perf or another tool computed itself, by program and place.

Slots are a pipeline's places for operations, as many a cycle as it is wide; top-down analysis divides them into
categories, such as "front end". Tools print the shares of these beside counts, or without any. :func:`printed` takes
a text and gives a dict of category to share (0–1); nothing is refused.
"""

import functools
import itertools
import re
from dataclasses import dataclass, field

import numpy as np

from cmlib.io.perf.blocks import Head, heads
from cmlib.io.perf.formats.base import Totals
from cmlib.io.perf.formats.lines import as_number, as_table
from cmlib.io.perf.markup import without_html
from cmlib.io.perf.share_lines import CATEGORIES, CORES, CPI, EVENTS, IPC, PARTS, PATTERNS, readings

_ALONE = "They are percentages that the tool printed; no count was read."
_IPC_ALONE = "IPC is what the tool printed; no count was read."
_MODES = {"k": "They are of the kernel alone.", "u": "They are of user mode alone."}
_MEANS = "Printed shares are means of {} rows{}."
_LEFT_OUT = "Shares of slots that are there again in the same table, without a name, are left out: {}."
_CUT = "Tables of which nothing but the time can be read are left out: {}."
_NODES = "Parts of parts that toplev printed are left out, the largest of them {}."
_UNNAMED = "Cores or kinds of core stand beside each other, and the file does not tell which is which."
_METRICS = "Perf printed besides, which is not used: {}."
_MOST_NODES = 3  # that are named
_COUNTS, _STALLED = ("instructions", "cycles"), ("stall_frontend", "stall_backend")
_RATES, _SECONDS = {IPC, CPI}, "seconds"
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def printed(text, counted_ipc=np.nan):
    """Read the shares of slots that were printed, and the instructions per cycle.

    Parameters
    ----------
    text : str
        Output of ``perf stat``, of one kind of core: metrics behind counts, on lines of their own, in columns
        (``--metric-only``, ``--topdown``), between separators or as JSON; or what toplev, topdown-tool, VTune,
        PerfSpect, PCM, AMD uProf or likwid print.
    counted_ipc : float, default NaN
        Instructions a cycle of all counts: what is between several printed ones, as of places, agrees with them.

    Returns
    -------
    dict of str to float
        Mean over all lines: by category, its share of the slots (0–1), and ``instructions a cycle``. Categories are
        ``retired``, ``bad speculation``, ``front end`` and ``back end``, and parts of these, such as ``memory``, as
        far as they were printed; ``CPUs``, how many were utilized.
    """
    parts = _parts(text)
    told = [(part, rows) for part in parts for place, rows in part.rows.items() if CORES not in place]
    shares = _means([rows for part, rows in told if part.is_told])
    if len(level_1 := _level_1(shares)) == 1 and not any(level_1.values()):  # the others are not a number
        shares = {name: share for name, share in shares.items() if name not in level_1}
    if ipcs := [reading.value for _, rows in told for reading in rows.get(IPC, ())]:
        shares[IPC] = float(np.clip(counted_ipc, min(ipcs), max(ipcs)) if counted_ipc > 0 else np.mean(ipcs))
    cpus = [as_number(number) for number in PATTERNS["utilized"].findall(text)]
    return shares | ({"CPUs": float(np.mean(cpus))} if cpus else {})


def shares_left_out(text, *, has_cycles=True):
    """Sentences (list of str) on shares of nobody knows what, and metrics, which :func:`printed` leaves out.

    Without counted cycles, shares of them in which the processor was stalled are among these, as means.
    """
    parts = [(part, [*part.rows.values()]) for part in _parts(text)]
    told = ", ".join(filter(None, (shares_told(_means(rows)) for part, rows in parts if not part.is_told)))
    times = [f"{of[_SECONDS][0].value:.6g} s" for _, rows in parts for of in rows if of.keys() == {_SECONDS}]
    metrics = [f"{metric['of']} {metric[1]}" for metric in PATTERNS["metric"].finditer(text)]
    stalled = [] if has_cycles else PATTERNS["stalled"].findall(text)
    for of in dict.fromkeys(of for _, of in stalled):
        mean = np.mean([as_number(number) for number, metric in stalled if metric == of])
        metrics.append(f"{mean:.3g}{' %' * of.endswith('idle')} {of}")
    sentences = {_LEFT_OUT: told, _CUT: ", ".join(times), _METRICS: ", ".join(dict.fromkeys(metrics))}
    return [sentence.format(of) for sentence, of in sentences.items() if of]


def shares_told(shares):
    """The shares of level 1 in a dict (by category) in words (str)."""
    return ", ".join(f"{name} {100 * shares[name]:.1f} %" for name in EVENTS if name in shares)


def shares_alone(text, *, has_counts=False):
    """Shares of slots that a tool printed without counts: a list of Totals, one for each place of a block in a text.

    Empty if none were printed. The rows of a :class:`cmlib.io.perf.formats.base.Totals` (in `table`) are
    percentages as events: ``retiring``, ``bad_speculation``, ``frontend_bound`` and ``backend_bound``, as far as
    they were printed, at least two; or ``cycles`` (100), ``stall_frontend`` and ``stall_backend``; or the counts
    ``instructions`` and ``cycles`` where they stand beside the shares. Where a quantity is there again of the same
    place, without a time, another block begins; such blocks are numbered. Shares that are all there before are left
    out, and so are those of some categories that all are there elsewhere. With `has_counts`, only those are given that
    stand beside counts, and not in perf's tables of them.
    """
    alone, seen = [], {}
    for part in _parts(text):
        for place, rows in part.rows.items():
            shares = tuple(_means([rows]).items())
            # All of level 1 are new together, some of it each for itself.
            new = {of for of in (*shares, shares) if seen.setdefault(of, part) is part}
            asked = [shares] if EVENTS.keys() <= rows.keys() else shares
            is_new = _is_account(rows) and not new.isdisjoint(asked)
            rates = {reading.value for name in _RATES for reading in rows.get(name, ())}
            is_of_run = (_SECONDS in rows and len(rates) == 1) or rows.keys() >= {*_STALLED}
            if (is_new or is_of_run) and not (has_counts and part.is_behind_counts):
                alone.append(part.totals(place))
    return alone


def _is_account(rows):
    """Whether rows of readings (dict by name) are of two categories, or of one of level 1 by toplev or VTune."""
    alone = [rows[name][0].text for name in rows.keys() & EVENTS.keys()]
    is_told = any(PATTERNS["node"].match(text) or PATTERNS["of slots"].search(text) for text in alone)
    return len(rows.keys() & CATEGORIES.keys() - _RATES) > 1 or is_told


@dataclass
class _Part:
    """Readings of which none is there again for its place, but of another time.

    Attributes
    ----------
    head : cmlib.io.perf.blocks.Head
    lines : list of str
        All below that.
    elapsed : list of str
        The line that tells how long the run took; [] if there is none, or several.
    is_behind_counts : bool
        Whether the first stands behind a count, as in perf's tables.
    is_told : bool
        Whether it is known what it is of: not if it is there again in one of perf's tables.
    number : int
        From 1, if other ones are below the same head; else 0.
    rows : dict of str to dict
        By place and name a list of cmlib.io.perf.share_lines.Reading.
    nodes : dict
        Pairs of name and percent of toplev's parts of parts, which are not read: also of what it ran again.
    """

    head: Head
    lines: list
    elapsed: list
    is_behind_counts: bool
    is_told: bool
    number: int = 0
    rows: dict = field(default_factory=dict)
    nodes: dict = field(default_factory=dict)

    def takes(self, reading):
        """Whether a Reading below the same head is of this part."""
        some = self.rows.get(reading.place, {}).get(reading.name)
        return not some or reading.is_timed or reading.top == some[0].top or reading.name in _RATES

    def totals(self, place):
        """The Totals of a place: of counts beside shares, of shares, or of stalled cycles."""
        rows = self.rows[place]
        firsts = {name: some[0].value for name, some in rows.items()}
        shares = {EVENTS[name]: 100 * share for name, share in _level_1(_means([rows])).items()}
        counts = {event: firsts[event] for event in _COUNTS if event in rows}
        stalls = {"cycles": 100.0} | {event: firsts[event] for event in _STALLED if event in rows}
        is_counted = bool(shares) and len(counts) == len(_COUNTS)
        n_rows = max(len(rows.get(name, ())) for name in EVENTS)
        percent = {name: [100 * reading.value for reading in rows.get(name, ())] for name in EVENTS}
        varied = {name: some for name, some in percent.items() if len({*some}) > 1}
        ranges = [f"{min(some):.1f} to {max(some):.1f} % {name}" for name, some in varied.items()]
        tops = {reading.top for some in rows.values() for reading in some}
        modes = PATTERNS["mode"].findall("\n".join(self.lines[top] for top in tops))
        largest = sorted(self.nodes, key=lambda node: -as_number(node[1]))
        nodes = [f"{name} {share} %" for name, share in largest]
        remarks = [
            (_IPC_ALONE if rows.keys() <= {*_RATES, _SECONDS} else _ALONE) * (not is_counted),
            _MEANS.format(n_rows, ", from " * bool(ranges) + ", ".join(ranges)) * (n_rows > 1),
            _UNNAMED * (CORES in place),
            _NODES.format(", ".join(nodes[:_MOST_NODES])) * bool(nodes),
            *[_MODES[mode] for mode in modes[:1]],
        ]
        told = [reading.text for some in rows.values() for reading in some] + self.elapsed
        told += [line for line in self.lines if "MUX" in line]
        running = [as_number(share) / 100 for share in PATTERNS["running"].findall("\n".join(told))]
        running, unit = (np.nan, "") if is_counted else (np.mean(running or [np.nan]), "%")
        values = counts if is_counted else shares or stalls
        table = as_table((1, event, value, running, unit) for event, value in values.items())
        titles = [f"table {self.number}"] * (self.number > 0) + [place] * (len(self.rows) > 1)
        text, titles = "\n".join(told if titles else self.lines).rstrip() + "\n", (*self.head.titles, *titles)
        seconds = firsts.get(_SECONDS, as_number(self.elapsed[0].split()[0]) if self.elapsed else np.nan)
        remarks = tuple(filter(None, remarks))
        return Totals(text, table, self.head.command, (seconds,), remarks=remarks, titles=titles)


@functools.lru_cache(maxsize=1)
def _parts(text):
    """List of the _Part of a text."""
    parts, lines, account = [], without_html(_ESCAPE.sub("", text)).split("\n"), None
    for head, below in itertools.groupby(zip(heads(lines), lines, strict=True), key=lambda pair: pair[0]):
        is_first, n_before = not parts or parts[-1].head.number != head.number, len(parts)
        lines_below = [line for _, line in below]
        elapsed = [match[1] for line in lines_below if (match := PATTERNS["elapsed"].match(line))]
        for number, row in readings(lines_below):
            if len(parts) == n_before or not parts[-1].takes(row[0]):
                is_behind = "# " in lines_below[number]
                is_told = not is_behind or (is_first and len(parts) == n_before)
                parts.append(_Part(head, lines_below, elapsed * (len(elapsed) == 1), is_behind, is_told))
            for reading in row:
                parts[-1].rows.setdefault(reading.place, {}).setdefault(reading.name, []).append(reading)
        for number, part in enumerate(parts[n_before:], 1):
            part.number = number * (len(parts) > n_before + 1)
            account = part if any(map(_is_account, part.rows.values())) else account
        if account and head.titles[: len(account.head.titles)] == account.head.titles:
            nodes = PATTERNS["node"].findall("\n".join(lines_below))
            account.nodes |= {node: None for node in nodes if not PATTERNS["heading"].fullmatch(node[0])}
    return parts


def _means(places):
    """Mean by category of dicts of name to values; a category of which only the parts were printed is their sum."""
    shares = {}
    for name in sorted(set().union(*places) & CATEGORIES.keys()):
        shares[name] = float(np.mean([reading.value for rows in places for reading in rows.get(name, ())]))
    if cpi := shares.pop(CPI, 0.0):
        shares.setdefault(IPC, 1 / cpi)
    parts = {whole: [shares.get(part, np.nan) for part in parts] for whole, parts in PARTS.items()}
    return {whole: sum(of) for whole, of in parts.items() if np.isfinite(sum(of))} | shares


def _level_1(shares):
    """Shares of level 1 of some shares (dict by category)."""
    return {name: shares[name] for name in EVENTS if name in shares}
