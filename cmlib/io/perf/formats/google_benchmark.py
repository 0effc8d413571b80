"""JSON of Google's benchmark library with ``--benchmark_perf_counters=CYCLES,INSTRUCTIONS``: a run a repetition.

Counters come as means an iteration beside the times, and are totals here, of all iterations of a repetition.
"""

import json
import re

import numpy as np

from cmlib.io.events import is_event
from cmlib.io.perf.formats.lines import NO_SHARES, Totals, as_frame
from cmlib.io.perf.grammar import ParseError

NAME = "google-benchmark's JSON"

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_OWN = re.compile(
    r"(?:real|cpu)_time|iterations|threads|repetition.*|.*_index|.*_per_second|bytes.*|items.*|label|rms"
)


_MOST = 1e18
_BLANKS = re.compile(r"\s*+")


def recognises(text):
    """Whether there are benchmarks with their times."""
    return text.lstrip().startswith("{") and '"benchmarks"' in text and '"real_time"' in text


def read(text, interval_ms=None):
    """Read the counters of all repetitions, without times."""
    return as_frame(row for entry in _entries(text) for row in _rows(entry))


def remarks(text, columns=None):
    """That running shares are missing, and which numbers are left out."""
    names = dict.fromkeys(name for entry in _entries(text) for name in _counters(entry))
    unnamed = [name for name in names if not is_event(name.rpartition("::")[2])]
    notes = [NO_SHARES, "Counts are totals of all iterations of a repetition."]
    return notes + [f"Counters that name no event are left out: {', '.join(unnamed)}."] * bool(unnamed)


def totals(text):
    """Each repetition of each benchmark as a run."""
    notes = tuple(remarks(text))
    for entry in _entries(text):
        name = str(entry.get("run_name") or entry.get("name") or "unnamed")
        frame = as_frame(_rows(entry)).assign(time_s=1.0)
        if frame.empty:
            raise ParseError(
                f"line 1: benchmark {name!r} has no counters of events. Build the library with libpfm, and run "
                "it with --benchmark_perf_counters=CYCLES,INSTRUCTIONS --benchmark_format=json."
            )
        seconds = _SECONDS[entry.get("time_unit", "ns")] * entry["real_time"] * entry["iterations"]
        piece = json.dumps({"benchmarks": [entry]}) + "\n"
        yield Totals(piece, frame, name.replace("/", "-"), (seconds,), remarks=notes)


def _entries(text):
    """Repetitions; where there are aggregates only, their means."""
    documents, decoder, text = [], json.JSONDecoder(), text.rstrip()
    try:
        end = _BLANKS.match(text).end()
        while end < len(text):
            document, end = decoder.raw_decode(text, end)
            documents += document["benchmarks"]
            end = _BLANKS.match(text, end).end()
        entries = [entry for entry in documents if entry.get("run_type", "iteration") == "iteration"]
        # The iterations of an aggregate are its repetitions; its counts are means of one iteration.
        means = [entry | {"iterations": 1} for entry in documents if entry.get("aggregate_name") == "mean"]
        entries = [entry for entry in entries or means if not entry.get("error_occurred")]
        for entry in entries:
            if not (_is_number(entry["real_time"]) and _is_number(entry["iterations"])):
                raise TypeError("a time or a number of iterations is no number from 0 to 10^18")
            if str(entry.get("time_unit", "ns")) not in _SECONDS:
                raise TypeError(f"a time_unit is {str(entry['time_unit'])[:60]!r}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParseError(f"line 1: this is not the JSON that google-benchmark writes: {error}.") from error
    return entries


def _is_number(value):
    return type(value) in (int, float) and 0 <= value <= _MOST


def _counters(entry):
    return {name: n for name, n in entry.items() if isinstance(n, float | int) and not _OWN.fullmatch(name)}


def _rows(entry):
    named = ((name.rpartition("::")[2], mean) for name, mean in entry.items() if not _OWN.fullmatch(name))
    means = [(name, mean) for name, mean in named if is_event(name)]
    if bad := next((pair for pair in means if not _is_number(pair[1])), None):
        raise ParseError(f"line 1: {str(bad[1])[:60]} {bad[0]} an iteration is no count.")
    return [(None, name, mean * entry["iterations"], np.nan, "") for name, mean in means]
