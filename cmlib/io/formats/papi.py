"""Read counts of PAPI, a library that programs call to count their own events.

There are two formats: lines with an event and a count, and the JSON of PAPI's high-level interface.
"""

import json
import re
from typing import Any

from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, Run, make_counts

_MOST = 1e18  # a larger number is not a count


class PapiLines:
    """Reader for lines ``PAPI_TOT_INS : 9159958`` in the output of a program."""

    name = "papi-lines"
    recorded_by = "programs that print PAPI's counts, a line per event: PAPI_TOT_INS : 9159958"
    sample = "tests/golden/formats/papi-lines.txt"

    # PAPI_TOT_INS : 9159958     PAPI_L1_DCM=12
    _LINE = re.compile(
        r"[ \t]{0,40}(PAPI_[A-Z0-9_]{2,40}|perf::TASK-CLOCK)[ \t]{0,40}[:= \t][ \t]{0,40}(\S{1,40})[ \t]{0,40}"
    )
    _COUNT = re.compile("[0-9]{1,20}")

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if a line consists of a PAPI event and an integer."""
        return "PAPI_" in text and any(cls._match(line) for line in text.splitlines() if "PAPI_" in line[:80])

    @classmethod
    def _match(cls, line: str) -> re.Match | None:
        """Match a line with an event and an integer."""
        match = cls._LINE.fullmatch(line)
        return match if match and cls._COUNT.fullmatch(match[2]) else None

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the counts. A repeated event name starts a new run. Other lines are ignored.

        Raises
        ------
        FormatError
            If the value after an event name is not a number.
        """
        rows, run_events, run = [], set(), 1
        for number, line in enumerate(text.splitlines(), 1):
            match = cls._LINE.fullmatch(line)
            if match is None:
                continue
            event, count = match.groups()
            if not cls._COUNT.fullmatch(count):
                raise FormatError(f"line {number}: {count!r} of {event} is not a count.")
            if event in run_events:
                run, run_events = run + 1, set()
            run_events.add(event)
            is_clock = event == "perf::TASK-CLOCK"
            rows.append((run, event, float(count), "ns" if is_clock else ""))
        if not rows:
            raise FormatError(
                "no line with a PAPI event and a count, for example PAPI_TOT_INS : 9159958, was found."
            )
        columns = dict(zip(("run", "event", "value", "unit"), zip(*rows, strict=True), strict=True))
        notes = (f"A repeated event name starts a new run: {run} runs.",) if run > 1 else ()
        return Readings((Program(make_counts(columns)),), notes=notes)


class PapiJson:
    """Reader for the JSON of PAPI's high-level interface, with counts per thread and region."""

    name = "papi-json"
    recorded_by = (
        "PAPI_EVENTS=PAPI_TOT_INS,PAPI_TOT_CYC with PAPI_hl_region_begin: papi_hl_output/rank_….json"
    )
    sample = "tests/golden/formats/papi-json.json"

    _OTHER_KEYS = frozenset(["name", "parent_region_id", "region_count", "cycles", "real_time_nsec"])

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text is a JSON object with ``papi_version`` and ``threads``."""
        return text.lstrip()[:1] == "{" and '"papi_version"' in text and '"threads"' in text

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the counts. Each region becomes a program, and each thread a place.

        The field ``cycles`` of PAPI is ignored, because it is a clock instead of an event.

        Raises
        ------
        FormatError
            If the JSON is damaged, a field is missing, or the file has no counts.
        """
        try:
            document = json.loads(text)
            regions = [
                (f"thread {thread}", region)
                for thread, content in document["threads"].items()
                for region in content["regions"].values()
            ]
            rows: dict[str, list] = {}
            seconds: dict[str, float] = {}
            for place, region in regions:
                name = str(region["name"])
                elapsed = cls._parse_total(region["real_time_nsec"], "real_time_nsec") / 1e9
                seconds[name] = max(elapsed, seconds.get(name, 0.0))
                for event, value in region.items():
                    if event not in cls._OTHER_KEYS:
                        rows.setdefault(name, []).append((place, event, cls._parse_total(value, event)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(
                f"the text is not JSON of PAPI: {type(error).__name__} {str(error)[:80]}"
            ) from None
        if not rows:
            raise FormatError("the file has no counts. Set PAPI_EVENTS=PAPI_TOT_INS,PAPI_TOT_CYC.")
        programs = []
        for name, region_rows in rows.items():
            columns = dict(zip(("place", "event", "value"), zip(*region_rows, strict=True), strict=True))
            programs.append(Program(make_counts(columns), name, (Run(seconds=seconds[name]),)))
        notes = ("The field cycles of PAPI was ignored, because it is a clock instead of an event.",)
        return Readings(tuple(programs), str(document.get("cpu_info", "")), notes=notes)

    @staticmethod
    def _parse_total(value: Any, event: str) -> float:
        """Parse a count. If the region was called several times, the count is the total of its calls."""
        total = value["total"] if isinstance(value, dict) else value
        number = float(total)
        if not 0 <= number <= _MOST:
            raise FormatError(f"{total!r} of {event} is not a count.")
        return number
