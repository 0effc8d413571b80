"""Reading takes time in proportion to a text's length, whatever the text is."""

import contextlib
import itertools
import json
import time

import pytest

from cmlib.errors import CmlibError
from cmlib.io import callgrind
from cmlib.io.formats.readings import ReadOptions
from cmlib.io.formats.registry import read_counts
from cmlib.io.meaning.program_names import name_programs
from cmlib.io.meaning.selection import Selection, select
from cmlib.io.meaning.stored import derive_series
from cmlib.io.samples.perf_script import read_text
from cmlib.report.inline import to_html

FACTOR, MOST = 8, 30  # times the length; times the time: quadratic time has a ratio of 64
_LONGEST = 40_000  # characters


def read(text):
    """Recognize and read a text, and derive what its rows mean."""
    with contextlib.suppress(CmlibError):
        _, readings = read_counts(text, options=ReadOptions(interval_ms=100))
        for number in range(len(readings.programs)):
            with contextlib.suppress(CmlibError, ValueError):
                derive_series(select(readings, Selection(program=number)), readings.levels)


def name_commands(text):
    name_programs(text.split("\n"))


def read_callgrind(text):
    with contextlib.suppress(CmlibError):
        callgrind.read_intervals(text)


def read_samples(text):
    read_text(text.encode(), ["cycles", "instructions"])


def lines(line):
    """A text of so many lines, made from their numbers."""
    return lambda n: "".join(line(k) for k in range(1, n + 1))


def rows(form):
    """Lines of perf with their times: four events an interval."""
    return lines(lambda k: form.format(time=f"{(k + 3) // 4}.000000000", n=k, event="abcd"[k % 4]))


def pumped(before, piece, after="x\n"):
    """A piece again and again."""
    return lambda n: before + piece * n + after


_HEADING = " Performance counter stats for '{}':\n\n 5 cycles # 1 x (50.00%)\n\n 1.0 seconds time elapsed\n\n"
_ROW = "     1.000000000,5,,cycles,9,100.00,,\n"
_LIKWID = "# GID|EventCount|CpuCount|Total runtime [s]|A|B\n"
_ENTRY = {"name": "x", "real_time": 1.0, "iterations": 2, "CYCLES": 3.0}
_HONEST = {
    "comma": rows("{time},{n},,{event}.x,9,80.00,,\n"),
    "tab": rows("     {time}\t{n}\t\t{event}.x\t9\t80.00\t\t\n"),
    "JSON": rows(
        '{{"interval" : {time}, "counter-value" : "{n}.0", "unit" : "", "event" : "{event}.x", "event-runtime" : 9, '
        '"pcnt-running" : 80.00}}\n'
    ),
    "for people": rows(" {time}   {n}   {event}.x   #  0.30 insn per cycle   (80.00%)\n"),
    "few columns": rows("{time},{n},{event}.x\n"),
    "a CPU": rows("{time},CPU1,{n},,{event}.x,9,80.00,,\n"),
    "a cgroup": rows("{time},{n},,{event}.x,grp,9,80.00,,\n"),
    "kinds of core": lines(
        lambda k: f"{k}.000000000,{k},,cpu_{'core' if k % 2 else 'atom'}/cycles/,9,80.00,,\n"
    ),
    "wide": lambda n: "time_s,cycles,instructions\n" + lines(lambda k: f"{k},5,6\n")(n),
    "wide, many runs": lambda n: "time_s,cycles,instructions\n" + lines(lambda k: f"{k % 3},5,6\n")(n),
    "wide, many programs": lambda n: (
        "program,cycles,instructions\n" + lines(lambda k: f"p{k},5,6\n")(n // 20)
    ),
    "appended tables": lines(lambda k: _HEADING.format("x")),
    "appended runs": lines(lambda k: "# started on Sat Nov 21 03:00:46 2026\n\n5,,cycles,9,100.00,,\n"),
    "benchmarks": lambda n: json.dumps({"benchmarks": [_ENTRY] * n}),
    "documents of benchmarks": lines(lambda k: json.dumps({"benchmarks": [_ENTRY]}) + "\n"),
    "stressors": lines(
        lambda k: f"info: [{k}] s{k}:\ninfo: [1] {k},000 CPU Cycles  1.0 B/sec\nx: [1] s{k} 5 2.50 1.0 1.0\n"
    ),
    "google-benchmark": lambda n: (
        "Benchmark Time CPU Iterations CYCLES\n" + lines(lambda k: f"B/{k} 1 ns 1 ns 5 CYCLES=1.5k\n")(n)
    ),
    "statements": lines(lambda k: f'core[{k % 4}]["A.B"][{k}] = {k}\nwalltime[0][{k}] = {k}\n'),
    "likwid's lines": lambda n: _LIKWID + lines(lambda k: f"1|2|1|{k}.5|3|4\n".replace("|", " "))(n),
    "likwid's tables": lines(
        lambda k: f"Region r{k}, Group 1\nEvent,Counter,HWThread 0\nINSTR,FIXC0,5\nTABLE,x\n"
    ),
    "PAPI": lines(lambda k: f"PAPI_TOT_INS : {k}\n"),
    "JSON's lines": lines(lambda k: json.dumps({"t": k, "cycles": 5, "instructions": 6}) + "\n"),
    "a column of events": lambda n: (
        "time,event,count\n" + lines(lambda k: f"{k},cycles,5\n{k},instructions,6\n")(n)
    ),
    "lines of events": lines(lambda k: f"p{k}:cycles avgt 5.0 #/op\np{k}:instructions avgt 6.0 #/op\n"),
    "logged": lines(lambda k: f"2024-01-01T00:00:00Z {k}.000000000,5,,cycles,9,100.00,,\n"),
    "APerf": lambda n: "2024-01-01T00:00:00Z\n" + lines(lambda k: f"{k % 9} ipc;5 6;7 8;1\n")(n),
}
_HOSTILE = {
    "rows of HTML": pumped("", "<tr><td>5 </td>", "<table>"),
    "options of what starts a program": pumped("taskset", " -1", " x\n"),
    "a unit of simpleperf's": pumped("Performance counter statistics:\n 1 a 1 ", " ", "(x\n"),
    "a tag in front of each line": lambda n: (
        lines(lambda k: f"t{k // 4}: a\n")(n) + lines(lambda k: "x\n")(n // 6)
    ),
    "rows of intervals amid prose": lambda n: "prose\n\n" + lines(lambda k: f" {k}.000000000 5 cycles\n")(n),
    "accounts of a command": lines(
        lambda k: (
            _HEADING.format("x").replace(
                "cycles # 1 x", f"e{k} # 9.0 % tma_retiring # 1 % tma_bad_speculation"
            )
            + "".join(f"# 1 % tma_{share}\n" for share in ("frontend_bound", "backend_bound"))
        )
    ),
    "rows on one line": pumped("", "1 a.x # 1 ", "Performance counter stats for 'a"),
    "blanks behind an event": pumped("cycles", " ", "x 5\n"),
    "digits behind an event": pumped("cycles=", "5,", "x\n"),
    "an event a benchmark": pumped("x:cycles ", "5 ", "#/o\n"),
    "brackets of JSON": pumped("", "["),
    "containers": pumped("", "a", " | x\n"),
    "digits amid APerf's": pumped("2024-01-01T00:00:00Z\n0 ipc;5;6;1\n0 x;", "1 ", ";x"),
    "digits of APerf's": pumped("2024-01-01T00:00:00Z\n0 ipc;5;6;1\n0 x;", "1", ";x"),
    "line feeds": pumped("", "\n"),
    "line feeds with a carriage return": pumped("", "\r\n"),
    "blanks": pumped("", " "),
    "blanks and line feeds": pumped("", " \n"),
    "tabs": pumped("1.000000000,5,cycles", "\t"),
    "headings of runs": pumped("", "# started on x\n", _ROW),
    "headings of runs after a row": pumped(_ROW, "# started on x\n"),
    "headings of tables": pumped("", " Performance counter stats for 'x':\n\n", _ROW),
    "a table with blanks": pumped("  5  cycles", " ", "x # 3\n"),
    "a table with a comment of blanks": pumped("  5  cycles  #", " ", "x (50.00\n"),
    "a table with parentheses": pumped("  5  cycles  #", "(+-", "\n"),
    "a table with parentheses in a name": pumped("  5  cycles", "(+-", "x x\n"),
    "a table with a number in groups": pumped("  5", " 234", "x\n"),
    "a table and blank lines": pumped(_HEADING.format("x"), " \n"),
    "a number amid blanks": pumped("5 cycles\n 1", " ", "5\n"),
    "a field of digits": pumped(_ROW + "1.000000000,", "5", ",,x\n"),
    "fields": pumped(_ROW + "1.000000000,5", ",", "x\n"),
    "slashes": pumped(_ROW + "1.000000000,5,,cpu", "/", ",x\n"),
    "slashes of few columns": pumped("1.000000000,5,cycles\n1.000000000,5,c", "/", "x\n"),
    "blanks of few columns": pumped("1.000000000,5,cycles\n1.000000000,5,c", " ", ";x\n"),
    "braces": pumped('{"interval" : 1.0, "counter-value" : "5"', "}   ", "x\n"),
    "quotes": pumped('{"cpu" : "', '"cpu" : ', "x\n"),
    "places": pumped("1.000000000,S0", "-D0", ",x\n"),
    "kinds of core": lines(lambda k: f"{k}.000000000,5,,armv8_{k}/x/,9,100.00,,\n"),
    "rows without a kind of core": lines(
        lambda k: (
            f"  {k}  cpu_{'core' if k % 2 else 'atom'}/x/  (50.00%)\n  {k}  LLC-loads\n  #  1.0 %  tma_retiring\n"
        )
    ),
    "remarks behind rows": pumped("  5  cycles  (50.00%)", " a", "(50.00%) b\n"),
    "words like kinds of core": pumped(_ROW, " apple__pmu_pmu"),
    "labels": pumped("Start: ", "Event 1 Label: \n"),
    "likwid's heading": pumped("# GID|EventCount|CpuCount|Total runtime [s]|A", " ", "|B\n1 1 1 1.0 2\n"),
    "likwid's line": pumped(_LIKWID + "1 1 1 1.0 2", " ", "x\n"),
    "likwid's groups": lambda n: _LIKWID * n + lines(lambda k: f"{k % 9999} 2 1 1.0 3 4\n")(n),
    "likwid's empty tables": pumped("", "Event,Counter,\n"),
    "a row of numbers": pumped("1", ",1", ",x\n"),
    "samples in comments": pumped("", "# a 1: \n"),
    "a sample's name": pumped("a 1: ", "a:", ",\n"),
    "documents": lambda n: '{"benchmarks": [], "real_time": 1}' * n,
    "long heading of many runs": lambda n: f"time_s,cycles,{'x' * n}\n" + "2,5,6\n1,5,6\n" * (n // 4),
}


def seconds(reader, text):
    began = time.process_time()
    reader(text)
    return time.process_time() - began


def check_is_linear(reader, make):
    """Find a length at which reading takes longer than what no length changes; then compare with eight times more."""
    n, shortest = 2, None
    while True:
        text = make(n)
        spent = seconds(reader, text)
        shortest = min(spent, shortest or spent)
        if spent > max(2.5 * shortest, 0.004) or len(text) > _LONGEST / FACTOR:
            break
        n *= 2
    longer = make(FACTOR * n)
    ratios = (seconds(reader, longer) / max(seconds(reader, text), spent / 2) for _ in range(3))
    tried = list(itertools.takewhile(lambda ratio: ratio > MOST, ratios))
    assert len(tried) < 3, f"{FACTOR} times {len(text)} characters took {min(tried):.0f} times the time"


@pytest.mark.parametrize("form", _HONEST)
def test_an_honest_text_is_read_in_linear_time(form):
    check_is_linear(read, _HONEST[form])


@pytest.mark.parametrize("shape", _HOSTILE)
def test_a_hostile_text_is_read_in_linear_time(shape):
    check_is_linear(read, _HOSTILE[shape])


@pytest.mark.parametrize(
    ("reader", "make"),
    [
        (name_commands, lines(lambda k: f"./p{k} -x\n")),
        (name_commands, lines(lambda k: f"./p -x {k}\n")),
        (name_commands, pumped("", "env ")),
        (read_callgrind, pumped("version: 1\nevents: Ir\n", "desc: LL cache: x\n")),
        (read_callgrind, pumped("", "version: 1\nevents: Ir\n")),
        (read_samples, lines(lambda k: f"1 {k}.5: 9 cycles\n")),
        (read_samples, lines(lambda k: f"1 {k}.5: 9 e{k}\n")),
        (to_html, pumped("", "`")),
        (to_html, pumped("", "*a ")),
        (to_html, pumped("", "**a ")),
        (to_html, pumped("*a", " ")),
    ],
)  # fmt: skip
def test_other_texts_are_read_in_linear_time(reader, make):
    check_is_linear(reader, make)
