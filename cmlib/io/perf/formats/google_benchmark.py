"""JSON of Google's benchmark library with ``--benchmark_perf_counters=CYCLES,INSTRUCTIONS``: a run a repetition.

Counters come as means an iteration beside the times, and are totals here, of all iterations of a repetition.

They are read as Totals, the counts of whole runs. ParseError for damaged JSON, or a benchmark without counters of
events.
"""

import functools
import json
import re

import numpy as np

from cmlib.io.archive import reading_errors_as
from cmlib.io.events import is_event
from cmlib.io.perf.formats.base import RunFormat, Totals
from cmlib.io.perf.formats.lines import NO_SHARES, as_table
from cmlib.io.perf.grammar import ParseError

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_NO_COUNTER = re.compile(
    r"(?:real|cpu)_time|iterations|threads|repetition.*|.*_index|.*_per_second|bytes.*|items.*|label|rms"
)
_MOST = 1e18
_BETWEEN = re.compile(r"\}\s*+\{")  # two documents


class GoogleBenchmark(RunFormat):
    """Reader of benchmarks with their times, and counters an iteration."""

    name = "google-benchmark's JSON"

    def recognises(self):
        """Whether the text is a JSON object with ``benchmarks`` and ``real_time`` in it."""
        return self.text.lstrip()[:1] == "{" and '"benchmarks"' in self.text and '"real_time"' in self.text

    def remarks(self, columns=None):
        """Sentences (list of str) on running shares, iterations, and counters that name no event.

        `columns` is not used.
        """
        values = functools.reduce(dict.__or__, self._entries, {})
        numbers = [name for name, value in values.items() if isinstance(value, float | int)]
        unnamed = [n for n in numbers if not (_NO_COUNTER.fullmatch(n) or is_event(n.rpartition("::")[2]))]
        notes = [NO_SHARES, "Counts are totals of all iterations of a repetition."]
        return notes + [f"Counters that name no event are left out: {', '.join(unnamed)}."] * bool(unnamed)

    def totals(self, columns=None, *, rows_are_runs=True):
        """Yield Totals, the counts of a run, for each repetition of each benchmark; ParseError for one without
        counters of events.

        The command is the benchmark's name, with dashes for slashes. `columns` and `rows_are_runs` are not used.
        """
        notes = tuple(self.remarks())
        for entry in self._entries:
            name = str(entry.get("run_name") or entry.get("name") or "unnamed")
            table = as_table(_rows(entry))
            if not len(table):
                raise ParseError(
                    f"line 1: benchmark {name!r} has no counters of events. Build the library with libpfm, and run "
                    "it with --benchmark_perf_counters=CYCLES,INSTRUCTIONS --benchmark_format=json."
                )
            seconds = _SECONDS[entry.get("time_unit", "ns")] * entry["real_time"] * entry["iterations"]
            piece = json.dumps({"benchmarks": [entry]}) + "\n"
            yield Totals(piece, table, name.replace("/", "-"), (seconds,), remarks=notes)

    @functools.cached_property
    def _entries(self):
        """Repetitions (list of dicts); where there are aggregates only, their means. ParseError if the JSON is
        damaged.
        """
        what = "line 1: this is not the JSON that google-benchmark writes"
        errors = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
        with reading_errors_as(ParseError, what, errors=errors):
            documents = json.loads(f"[{_BETWEEN.sub('},{', self.text)}]")
            listed = [entry for document in documents for entry in document["benchmarks"]]
            entries = [entry for entry in listed if entry.get("run_type", "iteration") == "iteration"]
            # The iterations of an aggregate are its repetitions; its counts are means of one iteration.
            means = [entry | {"iterations": 1} for entry in listed if entry.get("aggregate_name") == "mean"]
            entries = [entry for entry in entries or means if not entry.get("error_occurred")]
            for entry in entries:
                if not (_is_number(entry["real_time"]) and _is_number(entry["iterations"])):
                    raise TypeError("a time or a number of iterations is no number from 0 to 10^18")
                if str(entry.get("time_unit", "ns")) not in _SECONDS:
                    raise TypeError(f"a time_unit is {str(entry['time_unit'])[:60]!r}")
        return entries


def _is_number(value):
    """Whether a value is a number from 0 to 10^18."""
    return type(value) in (int, float) and 0 <= value <= _MOST


def _rows(entry):
    """List of the rows (as of :meth:`Format.rows`, the time is 1) of one repetition (dict); ParseError for a counter
    that is no number.
    """
    names = {name: name.rpartition("::")[2] for name in entry if not _NO_COUNTER.fullmatch(name)}
    means = [(event, entry[name]) for name, event in names.items() if is_event(event)]
    if bad := next((pair for pair in means if not _is_number(pair[1])), None):
        raise ParseError(f"line 1: {str(bad[1])[:60]} {bad[0]} an iteration is no count.")
    return [(1.0, name, mean * entry["iterations"], np.nan, "") for name, mean in means]
