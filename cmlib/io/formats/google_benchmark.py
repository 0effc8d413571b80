"""Read the JSON of Google's benchmark library for C++.

The library counts events if it is built with libpfm. The main function is :meth:`GoogleBenchmark.read`.
"""

import json
import re
from typing import Any

from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, Run, make_counts
from cmlib.io.formats.vocabulary import is_event

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_MOST = 1e18
# Keys of an entry that are not counters
_OTHER_KEY = re.compile(
    r"(?:real|cpu)_time|iterations|threads|repetition.*|.*_index|.*_per_second|bytes.*|items.*|label|rms"
)


class GoogleBenchmark:
    """Reader for benchmarks with counts per iteration."""

    name = "google-benchmark"
    recorded_by = "./benchmark --benchmark_perf_counters=CYCLES,INSTRUCTIONS --benchmark_out=FILE.json"
    sample = "tests/golden/formats/google-benchmark.json"

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text is a JSON object with benchmarks and their times."""
        return text.lstrip()[:1] == "{" and '"benchmarks"' in text and '"real_time"' in text

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the counters, which are means per iteration.

        Each benchmark becomes a program, and each repetition a run. If the file has only aggregates, their means are
        read (``--benchmark_report_aggregates_only``).

        Raises
        ------
        FormatError
            If the JSON is damaged, or no benchmark has counters of events.
        """
        try:
            repetitions, are_means = cls._list_repetitions(json.loads(text)["benchmarks"])
            entries_by_name: dict[str, list[dict]] = {}
            for entry in repetitions:
                if not entry.get("error_occurred"):
                    name = str(entry.get("run_name") or entry["name"])
                    entries_by_name.setdefault(name, []).append(entry)
            programs = [
                cls._read_program(name, entries, are_means) for name, entries in entries_by_name.items()
            ]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(
                f"the text is not JSON of google-benchmark: {type(error).__name__} {str(error)[:80]}"
            ) from None
        programs_with_counts = tuple(program for program in programs if len(program.counts))
        if not programs_with_counts:
            raise FormatError(
                "the benchmarks have no counters of events. Build the library with libpfm, and run the benchmark with "
                "--benchmark_perf_counters=CYCLES,INSTRUCTIONS."
            )
        return Readings(programs_with_counts, notes=cls._make_notes(programs, repetitions))

    @staticmethod
    def _list_repetitions(entries: list[dict]) -> tuple[list[dict], bool]:
        """Return the entries of repetitions, and False. If the file has none, return the means, and True."""
        repetitions = [entry for entry in entries if entry.get("run_type", "iteration") == "iteration"]
        if repetitions:
            return repetitions, False
        return [entry for entry in entries if entry.get("aggregate_name") == "mean"], True

    @staticmethod
    def _make_notes(programs: list[Program], repetitions: list[dict]) -> tuple[str, ...]:
        """Return notes on ignored benchmarks and counters."""
        notes = []
        names_without_counts = [program.name for program in programs if not len(program.counts)]
        if names_without_counts:
            notes.append(f"Benchmarks without counters were ignored: {', '.join(names_without_counts)}.")
        unknown_counters = dict.fromkeys(
            key
            for entry in repetitions
            for key, value in entry.items()
            if type(value) in (int, float)
            and not _OTHER_KEY.fullmatch(key)
            and not is_event(_remove_pmu(key))
        )
        if unknown_counters:
            notes.append(f"Counters of unknown events were ignored: {', '.join(unknown_counters)}.")
        return tuple(notes)

    @staticmethod
    def _read_program(name: str, entries: list[dict], are_means: bool) -> Program:
        """Make a program from the entries of a benchmark."""
        rows, runs, repeats = [], [], 1
        for run, entry in enumerate(entries, 1):
            time = _check_number(entry["real_time"], "real_time")
            runs.append(Run(seconds=time * _SECONDS[entry.get("time_unit", "ns")]))
            for key, value in entry.items():
                if not _OTHER_KEY.fullmatch(key) and is_event(_remove_pmu(key)):
                    rows.append((run, key, _check_number(value, key)))
            if are_means:
                repeats = int(_check_number(entry.get("iterations", 0), "iterations"))
        columns = zip(*rows, strict=True) if rows else ([], [], [])
        counts = make_counts(dict(zip(("run", "event", "value"), columns, strict=True)))
        return Program(counts, name, tuple(runs), repeats=repeats, per="operation")


def _remove_pmu(key: str) -> str:
    """Remove the PMU that libpfm writes before an event. For example, ``skl::`` of ``skl::INSTRUCTIONS``."""
    return key.rpartition("::")[2]


def _check_number(value: Any, name: str) -> float:
    """Convert a value to float. FormatError if it is not a number from 0 to 10^18."""
    if type(value) not in (int, float) or not 0 <= value <= _MOST:
        raise FormatError(f"{str(value)[:60]!r} of {name} is not a number from 0 to 10^18.")
    return float(value)
