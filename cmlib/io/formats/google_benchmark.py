"""JSON of Google's benchmark library with hardware counters: one program per benchmark, one run per repetition."""

import json
import re
from typing import Any

from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, Run, make_counts
from cmlib.io.formats.vocabulary import is_event

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_MOST = 1e18
# Numbers beside the counters
_NO_COUNTER = re.compile(
    r"(?:real|cpu)_time|iterations|threads|repetition.*|.*_index|.*_per_second|bytes.*|items.*|label|rms"
)


class GoogleBenchmark:
    """Benchmarks with their times and with counters per iteration."""

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

        A file that was written with ``--benchmark_report_aggregates_only`` has no single repetitions. Then their means
        are read.

        Raises
        ------
        FormatError
            If the JSON is damaged, or no benchmark has counters of events.
        """
        try:
            entries = json.loads(text)["benchmarks"]
            repetitions = [entry for entry in entries if entry.get("run_type", "iteration") == "iteration"]
            are_means = not repetitions
            if are_means:
                repetitions = [entry for entry in entries if entry.get("aggregate_name") == "mean"]
            by_name: dict[str, list[dict]] = {}
            for entry in repetitions:
                if not entry.get("error_occurred"):
                    by_name.setdefault(str(entry.get("run_name") or entry["name"]), []).append(entry)
            programs = [cls._read_program(name, of_name, are_means) for name, of_name in by_name.items()]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(
                f"this is not JSON as google-benchmark writes it: {type(error).__name__} {str(error)[:80]}"
            ) from None
        programs_with_counts = tuple(program for program in programs if len(program.counts))
        if not programs_with_counts:
            raise FormatError(
                "the benchmarks have no counters of events. Build the library with libpfm, and run it with "
                "--benchmark_perf_counters=CYCLES,INSTRUCTIONS."
            )
        notes = []
        without = [program.name for program in programs if not len(program.counts)]
        if without:
            notes.append(f"Benchmarks without counters were ignored: {', '.join(without)}.")
        others = dict.fromkeys(
            name
            for entry in repetitions
            for name, value in entry.items()
            if type(value) in (int, float)
            and not _NO_COUNTER.fullmatch(name)
            and not is_event(_get_event(name))
        )
        if others:
            notes.append(f"Counters that name no event were ignored: {', '.join(others)}.")
        return Readings(programs_with_counts, notes=tuple(notes))

    @staticmethod
    def _read_program(name: str, entries: list[dict], are_means: bool) -> Program:
        rows, runs, repeats = [], [], 1
        for run, entry in enumerate(entries, 1):
            time, unit = (
                _check_number(entry["real_time"], "real_time"),
                _SECONDS[entry.get("time_unit", "ns")],
            )
            runs.append(Run(seconds=time * unit))
            for key, value in entry.items():
                if not _NO_COUNTER.fullmatch(key) and is_event(_get_event(key)):
                    rows.append((run, key, _check_number(value, key)))
            if are_means:
                repeats = int(_check_number(entry.get("iterations", 0), "iterations"))
        columns = zip(*rows, strict=True) if rows else ([], [], [])
        counts = make_counts(dict(zip(("run", "event", "value"), columns, strict=True)))
        return Program(counts, name, tuple(runs), repeats=repeats, per="operation")


def _get_event(key: str) -> str:
    """Return the event's name without the PMU that libpfm puts before it: ``skl::INSTRUCTIONS``."""
    return key.rpartition("::")[2]


def _check_number(value: Any, name: str) -> float:
    if type(value) not in (int, float) or not 0 <= value <= _MOST:
        raise FormatError(f"{str(value)[:60]!r} of {name} is no number from 0 to 10^18.")
    return float(value)
