"""What `likwid-perfctr -t` writes: a line an interval, after headings that name what each group measures.

``# GID|EventCount|CpuCount|Total runtime [s]|INSTR_RETIRED_ANY|…`` comes once for each group of events, then lines
such as ``1 2 4 0.500 …`` or, with ``-O`` or in a file, ``1,2,4,0.500,…``: the group, how many events and hardware
threads, the time, and of each event a count for every hardware thread (likwid-perfctr 5.2, ``likwid-perfctr.lua``). A
group of likwid's own prints metrics in place of counts, from which counts are worked out. Groups take turns, a line
each: a turn of all is an interval here, extrapolated from what was counted of it.

``Likwid(text)`` is made from the whole text (str); its ``rows()`` yields rows. A row is a tuple: end of the
interval [s], event, count (float or "<not counted>"), running share (0-1), unit (""). ParseError for a line that is
no group's of a heading, or metrics from which counts can't be told.
"""

import functools
import itertools
import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.io.perf.formats.base import Format
from cmlib.io.perf.grammar import ParseError, where

_HEADING = re.compile(
    r"^[ \t]*+# GID[|, ](EventCount|MetricsCount)[|, ]CpuCount[|, ]Total runtime \[s\]([|, ])(.+)$",
    re.M | re.I,
)
_ROW = re.compile(r"\s*+([0-9]{1,4})([ ,])([0-9]{1,4})\2([0-9]{1,5})\2([0-9]{1,12}(?:\.[0-9]{1,20})?)\2(.+)")
_COUNT = re.compile(r"[0-9]{1,300}(?:\.[0-9]{1,300})?(?:e[+-]?[0-9]{1,2})?")
# A line's clock and its counters' differ by so little.
_WHOLE = 0.995
_NOTHING = frozenset(["", "nan", "-nan", "-"])
_QUOTIENTS_OF_NOTHING = _NOTHING | {"inf", "-inf"}
UNCOUNTED = "Where likwid printed nan or - nothing was counted, and sums are of the other hardware threads."

# Every group of likwid's own has the time it was counted, the time that threads ran (cycles over the nominal clock
# rate), their clock rate and cycles per instruction; rates are per instruction, bandwidths and FLOP/s per second
# (likwid's ``groups``).
_TIME, _BUSY, _CLOCK, _CPI = "runtime (rdtsc) [s]", "runtime unhalted [s]", "clock [mhz]", "cpi"
_ALWAYS = (_TIME, _BUSY, _CLOCK, _CPI)
_NOMINAL = re.compile(r"^CPU clock:[ \t]*+([0-9]{1,9}(?:\.[0-9]{1,20})?) GHz", re.MULTILINE)
_PER_SECOND = re.compile(r"(bandwidth \[mbytes/s\]|\[?(?:mflop|muops)/s\]?)$")


class _Line(NamedTuple):
    """What a line holds: its group, when it ends, and a row of values a metric or event, a column a thread."""

    group: int
    end: float
    values: np.ndarray


class Likwid(Format):
    """Reader of lines of counts or metrics; what a program printed between them is left out."""

    name = "likwid-perfctr -t"

    def recognises(self):
        """Whether a heading of a group stands in the first 100,000 characters."""
        return bool(_HEADING.search(self.text[:100_000]))

    @functools.cached_property
    def names(self):
        """What each group measures, as headings say: a dict of its number, from 1, to a list of str."""
        return {k: line[3].rstrip().split(line[2]) for k, line in enumerate(_HEADING.finditer(self.text), 1)}

    @functools.cached_property
    def in_metrics(self):
        """Whether lines hold metrics, and not counts."""
        return _HEADING.search(self.text)[1].lower() == "metricscount"

    def rows(self, interval_ms=None):
        """Yield rows of the turns in which all groups were counted, extrapolated from what was counted of each
        event.

        A row's running share is the share of the turn in which its event was counted. `interval_ms` is not used, as
        lines have times. ParseError for a line that is damaged.
        """
        groups, begin, turn = {line.group for line in self._lines}, 0.0, {}
        measured = self._counts_of_metrics() if self.in_metrics else self._counts()
        for line, counts_and_seconds in zip(self._lines, measured, strict=True):
            if line.group in turn:
                turn = {}
            turn[line.group] = counts_and_seconds
            if len(turn) < len(groups):
                continue
            counts = pd.DataFrame([of_group for of_group, _ in turn.values()])
            seconds = np.array([seconds for _, seconds in turn.values()])
            length = line.end - begin if line.end > begin else np.inf
            shares = counts.notna().mul(seconds, axis=0).sum() / length
            shares = shares.mask(shares > _WHOLE, 1.0)
            for event, count in (counts.sum() / shares).items():
                yield line.end, event, count if shares[event] else "<not counted>", shares[event], ""
            begin, turn = line.end, {}

    def remarks(self, columns=None):
        """Sentences (list of str) on what was added up, extrapolated, worked out of metrics, or left out.

        `columns` is not used.
        """
        several = (n := len({line.group for line in self._lines})) > 1
        names = dict.fromkeys(itertools.chain(*self.names.values()))
        unused = [name for name in names if not _is_used(name.lower())]
        lacks = any(np.isnan(line.values).any() for line in self._lines)
        notes = {
            "Counts of all hardware threads are added up.": True,
            UNCOUNTED: lacks and not self.in_metrics,
            f"{n} groups take turns: an interval is a turn of all, of which each was counted for its share.": several,
            "What is printed are metrics of likwid's: counts are worked out from them.": self.in_metrics,
            "The nominal clock rate is not told: cycles are such that a thread in the middle runs all the time.": (
                self.in_metrics and not _NOMINAL.search(self.text)
            ),
            f"Metrics left out: {', '.join(unused)}.": self.in_metrics and unused,
        }
        return [sentence for sentence, holds in notes.items() if holds]

    @functools.cached_property
    def _lines(self):
        """List of _Line in the text; a last line without its end is left out."""
        lines, start = [], 0
        while (end := self.text.find("\n", start)) >= 0:
            if row := _ROW.match(self.text, start, end):
                group, n, n_threads = (int(row[k]) for k in (1, 3, 4))
                cells = row[6].rstrip().split(row[2])
                if len(cells) != n * n_threads or len(self.names.get(group, ())) != n:
                    line = where(self.text, start)
                    raise ParseError(f"{line} has not the counts of a group that a heading names.")
                nothing = _QUOTIENTS_OF_NOTHING if self.in_metrics else _NOTHING
                values = np.array([read_count(self.text, start, cell, nothing) for cell in cells])
                lines.append(_Line(group, float(row[5]), values.reshape(n, n_threads)))
            start = end + 1
        return lines

    def _counts(self):
        """Yield for each line its counts (dict by event), added up over threads, and for how long they were counted
        [s].
        """
        begin = 0.0
        for line in self._lines:
            nothing = np.isnan(line.values).all(axis=1)
            added = np.where(nothing, np.nan, np.nansum(line.values, axis=1))
            yield dict(zip(self.names[line.group], added, strict=True)), line.end - begin
            begin = line.end

    def _counts_of_metrics(self):
        """List of what :meth:`_counts` yields, worked out of lines of metrics; ParseError if a metric for that is
        missing.
        """
        names = {group: [*map(str.lower, metrics)] for group, metrics in self.names.items()}
        for group, metrics in names.items():
            if lacking := set(_ALWAYS) - {*metrics}:
                raise ParseError(
                    f"line 1: group {group} holds metrics without {', '.join(sorted(lacking))}, from which counts "
                    "could be told. Record events: `likwid-perfctr -t 500ms -g INSTR_RETIRED_ANY:FIXC0,… COMMAND`."
                )
        measured = [dict(zip(names[line.group], line.values, strict=True)) for line in self._lines]
        nominal = _nominal_hz(self.text, measured)
        return [_counts(values, nominal) for values in measured]


def read_count(text, start, cell, nothing=_NOTHING):
    """A count (float) as likwid writes it in a `cell` of the line that begins at `start`; NaN for a cell in
    `nothing`.

    ParseError for other text.
    """
    if cell.lower() in nothing:
        return np.nan
    if not _COUNT.fullmatch(cell):
        raise ParseError(f"{where(text, start)} has {cell[:40]!r} for a count.")
    return float(cell)


def _nominal_hz(text, measured):
    """The processor's nominal clock rate [Hz]: as the text says it, or else the median of what its metrics imply."""
    if clock := _NOMINAL.search(text):
        return 1e9 * float(clock[1])
    by_name = ([values[name] for values in measured] for name in (_CLOCK, _TIME, _BUSY))
    clock, time, busy = map(np.concatenate, by_name)
    ratios = (clock * time)[busy > 0] / busy[busy > 0]
    return 1e6 * float(np.nanmedian(ratios)) if np.isfinite(ratios).any() else 1e9


def _counts(values, nominal):
    """Counts (dict by event, of all threads) of a line's metrics, and for how long they were counted [s].

    `values` are a dict of metric to an array by thread, `nominal` is the nominal clock rate [Hz].
    """
    seconds = float(np.nanmax(values[_TIME]))
    cycles = np.nan_to_num(values[_BUSY]) * nominal
    cpi = np.nan_to_num(values[_CPI])
    instructions = np.divide(cycles, cpi, out=np.zeros_like(cycles), where=cpi > 0)
    counts = {"instructions": instructions.sum(), "cycles": cycles.sum()}
    for name, rates in values.items():
        if name.endswith(" rate"):
            counts[_event(name.removesuffix(" rate"))] = float(np.nansum(rates * instructions))
        elif per_second := _PER_SECOND.search(name):
            unit = re.search("bytes|flop|uops", per_second[1])[0]
            what = f"{name[: per_second.start()].rstrip(' ')} {unit}"
            counts[_event(what)] = float(1e6 * np.nansum(rates * values[_TIME]))
    return counts, seconds


def _event(name):
    """A metric's name as a name of an event: lower case, underscores for all that is no letter or digit."""
    return re.sub(r"[^a-z0-9]+", "_", name).strip("_")


def _is_used(name):
    """Whether counts are worked out of a metric of that name (in lower case)."""
    return name in _ALWAYS or name.endswith(" rate") or bool(_PER_SECOND.search(name))
