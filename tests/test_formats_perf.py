"""Readers of perf's own formats: real output, trials, laws over random counts, hostile texts."""

import math
import time
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.io.formats import registry
from cmlib.io.formats.readings import FormatError
from cmlib.io.meaning.selection import Selection, select

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests/golden"
TRIALS = GOLDEN / "trials"
PERF = ("perf-csv", "perf-json", "perf-table")


def read_file(path):
    return registry.read_counts(path.read_text(encoding="utf-8", errors="surrogateescape"))[1]


def read_program(text):
    (program,) = registry.read_counts(text)[1].programs
    return program


def claims(text):
    return [name for name, known in registry.formats().items() if known.sniff(text)]


def rows_of(frame, *columns):
    return list(frame[list(columns)].itertuples(index=False, name=None))


# Samples and real output


@pytest.mark.parametrize(
    ("name", "n_programs", "n_rows", "first"),
    [
        ("perf-csv", 1, 42, ("instructions:uD", 803406438.0, 1.0)),
        ("perf-json", 1, 15, ("task-clock", 2.322313, 1.0)),
        ("perf-table", 2, 10, ("task-clock", 5860.32, 1.0)),
    ],
)
def test_counts_of_a_sample(name, n_programs, n_rows, first):
    format_name, readings = registry.read_counts((ROOT / registry.formats()[name].sample).read_text())
    counts = readings.programs[0].counts
    assert (format_name, len(readings.programs), len(counts)) == (name, n_programs, n_rows)
    assert rows_of(counts, "event", "value", "running")[0] == first


def test_lines_of_csv_with_all_their_fields():
    program = read_file(GOLDEN / "perf-6.1/repeated.csv").programs[0]
    assert program.repeats == 0  # a mean of an unknown number of runs
    assert program.runs[0].started == "Sat Nov 21 05:19:46 2026"
    assert rows_of(program.counts, "event", "value", "unit", "running", "on_counter_s")[:2] == [
        ("task-clock", 3.15, "msec", 1.0, 0.003153828),
        ("page-faults:u", 231.0, "", 1.0, 0.003153828),
    ]
    assert program.counts.loc[3, "supported"] == np.False_
    assert rows_of(program.metrics, "event", "value", "name")[0] == ("task-clock", 0.025, "CPUs utilized")


@pytest.mark.parametrize("version", ["5.10", "6.1", "6.12"])
@pytest.mark.parametrize(
    ("file", "places"),
    [
        ("per-cpu.csv", {"CPU0", "CPU1"}),
        ("per-core.csv", {"S0-D0-C0", "S0-D0-C1"}),
        ("per-node.csv", {"N0"}),
    ],
)
def test_places(version, file, places):
    counts = read_file(GOLDEN / f"perf-{version}" / file).programs[0].counts
    assert set(counts["place"]) == places


@pytest.mark.parametrize("path", ["per-cpu.json", "table-cpus.txt"])
def test_places_of_json_and_table(path):
    counts = read_file(GOLDEN / "perf-6.1" / path).programs[0].counts
    assert set(counts["place"]) == {"CPU0", "CPU1"}


def test_a_place_without_cpus_does_not_support_the_event():
    text = "1.000000000,S0,0,<not counted>,,r1,0,100.00,,\n1.000000000,S1,1,5,,r1,9,100.00,,\n"
    counts = read_program(text).counts
    assert counts["supported"].tolist() == [False, True]
    assert math.isnan(counts["value"][0])


@pytest.mark.parametrize("path", ["appended.csv", "appended.json", "appended-once.csv"])
def test_appended_runs(path):
    readings = read_file(GOLDEN / "perf-6.1" / path)
    (program,) = readings.programs
    assert len(program.runs) == program.counts["run"].max() == 2
    assert all(run.started.startswith("Sun Nov 22 08:53:1") for run in program.runs)


@pytest.mark.parametrize("path", ["summary.csv", "summary-alone.csv", "summary-no-word.csv", "summary.json"])
def test_totals_beside_intervals_are_left_out(path):
    readings = read_file(GOLDEN / "perf-6.1" / path)
    assert readings.programs[0].counts["time_s"].notna().all()
    assert len(readings.notes) == 1


@pytest.mark.parametrize("path", ["separator-two-colons.csv", "separator-two-commas.csv"])
def test_two_separators_are_refused(path):
    with pytest.raises(FormatError, match="two characters"):
        read_file(GOLDEN / "perf-6.1" / path)


def test_metrics_alone():
    table = read_file(GOLDEN / "transcribed/rpl-topdown-I.txt").programs[0]
    csv = read_file(GOLDEN / "transcribed/zen4-per-socket-mo.csv").programs[0]
    json = read_file(GOLDEN / "transcribed/j-metric-only.json").programs[0]
    assert table.counts.empty and csv.counts.empty and json.counts.empty
    assert rows_of(table.metrics, "time_s", "name", "value")[0] == (1.001241352, "% tma_backend_bound", 22.4)
    assert rows_of(csv.metrics, "time_s", "place", "name", "value")[0] == (
        1.001234567,
        "S0",
        "% backend_bound",
        37.0,
    )
    assert rows_of(json.metrics, "time_s", "name", "value")[0] == (1.001, "% tma_backend_bound", 15.5)


def test_metrics_on_lines_of_their_own_belong_to_their_group():
    metrics = read_file(GOLDEN / "transcribed/alderlake-make-6.8.txt").programs[0].metrics
    groups = metrics[metrics["name"].str.contains("tma_")]
    assert set(groups["event"]) == {"TopdownL1 (cpu_core)", "TopdownL1 (cpu_atom)"}
    core = groups[groups["event"] == "TopdownL1 (cpu_core)"]
    assert core["value"].sum() == pytest.approx(100.0)
    assert core["running"].tolist() == pytest.approx([0.6184] * 4)


def test_a_share_on_a_following_line_belongs_to_the_row_above():
    text = """ Performance counter stats for './x':

       121,297,105      instructions              #    1.54  insn per cycle
                                                  #    0.16  stalled cycles per insn  (50.84%)
        78,911,009      cycles
                                                  (22.08%)

       0.015559461 seconds time elapsed
"""
    program = read_program(text)
    assert program.counts["running"].tolist() == pytest.approx([0.5084, 0.2208])
    assert program.metrics["running"].tolist() == pytest.approx([0.5084, 0.5084])
    assert set(program.metrics["event"]) == {"instructions"}


def test_hybrid_events_that_do_not_name_their_kind_are_left_out():
    readings = read_file(GOLDEN / "transcribed/lnl-three-kinds.txt")
    assert "L1-dcache-loads:u" not in set(readings.programs[0].counts["event"])
    assert any("L1-dcache-loads:u" in note for note in readings.notes)


def test_cgroups_are_programs():
    text = "".join(
        f"1.000000000,{10 * k},,cycles,{group},500,50.00,,\n" for k, group in ((1, "a/b"), (2, "9f.scope"))
    )
    programs = registry.read_counts(text)[1].programs
    assert [(program.name, program.counts["value"].tolist()) for program in programs] == [
        ("a/b", [10.0]),
        ("9f.scope", [20.0]),
    ]
    (program,) = read_file(GOLDEN / "accounts/icl-cgroup.txt").programs
    assert program.name == "system.slice/docker-ab12.scope"


def test_times_that_go_back_begin_a_run_or_are_damage():
    def line(seconds):
        return f"{seconds:.9f},5,,cycles,9,100.00,,\n"

    program = read_program("".join(map(line, (1, 2, 3, 1, 2, 3))))
    assert program.counts["run"].tolist() == [1, 1, 1, 2, 2, 2]
    with pytest.raises(FormatError, match="line 5: the time goes back"):
        registry.read_counts("".join(map(line, (1, 2, 3, 4, 3.5))))


def test_tables_that_differ_are_programs_of_their_own():
    def table(cycles, command):
        title = f" Performance counter stats for {command}:"
        return f"{title}\n\n  {cycles:,}      cycles\n\n  1.0 seconds time elapsed\n\n"

    like = registry.read_counts(table(1_000_000, "'a'") + table(1_200_000, "'a'"))[1]
    assert [(program.name, len(program.runs)) for program in like.programs] == [("a", 2)]
    unlike = registry.read_counts(table(1_000_000, "'a'") + table(1_300_000, "'a'"))[1]
    assert [program.name for program in unlike.programs] == ["a#1", "a#2"] and unlike.notes
    # A process that runs already does other work in every table.
    attached = registry.read_counts(table(10, "process id '5'") + table(1_300_000, "process id '5'"))[1]
    assert [len(program.runs) for program in attached.programs] == [2]


def test_a_table_that_is_cut_off_ends_at_its_first_blank_line():
    text = """$ perf stat ./x
 Performance counter stats for './x':

    1,000      cycles
    2,000      instructions

3 of these were enough.
"""
    program = read_program(text)
    assert program.counts["value"].tolist() == [1000.0, 2000.0]


def test_a_line_that_begins_as_a_row_and_is_none_is_refused():
    text = (
        " Performance counter stats for './x':\n\n    1,000      cycles\n  12\n\n 1.0 seconds time elapsed\n"
    )
    with pytest.raises(FormatError, match="line 4"):
        registry.read_counts(text)
    with pytest.raises(FormatError, match="line 2"):
        registry.read_counts("5,,cycles,9,100.00,,\n5,cycles\n7,,instructions,9,100.00,,\n")


@pytest.mark.parametrize(
    "counts",
    [
        ["1,234,567", "12,345", "5,012.34 msec"],
        ["1.234.567", "12.345", "5.012,34 msec"],
        ["1 234 567", "12 345", "5 012,34 msec"],
        ["1\u202f234\u202f567", "12\u202f345", "5\u202f012,34 msec"],
        ["12,34,567", "12,345", "5,012.34 msec"],
        ["123,4567", "1,2345", "5012.34 msec"],
        ["1234567", "12345", "5012.34 msec"],
    ],
)
def test_locales(counts):
    events = ("cycles", "instructions", "task-clock")
    rows = "".join(
        f"   {count}{' ' if 'msec' in count else '      '}{event}\n"
        for count, event in zip(counts, events, strict=True)
    )
    values = read_program(f" Performance counter stats for 'x':\n\n{rows}\n").counts["value"].tolist()
    assert values[1:] == [12345.0, 5012.34] and values[0] == 1234567.0


def test_a_table_has_one_locale():
    text = " Performance counter stats for 'x':\n\n  1.234.567      cycles\n  1,234,567      branches\n\n"
    with pytest.raises(FormatError, match=r"line [34].*not written"):
        registry.read_counts(text)


# Trials


def test_a_process_that_sleeps_counts_nothing():
    counts = select(read_file(TRIALS / "sleeping.csv"), Selection()).counts
    sums = counts.groupby("event", observed=True)["value"].sum(skipna=False)
    assert sums["instructions"] == 4.32e9
    assert sums["task-clock"] == pytest.approx(1601.3)
    assert counts["time_s"].max() == 8.0008


@pytest.mark.parametrize(
    ("file", "name", "run", "counts"),
    [
        ("waits.txt", "./svc", (10.045098039, 0.112, 0.4003), {"task-clock": 512.3, "cycles": 1536900000.0}),
        ("mispredicts.txt", "./dispatch", (0.611, 0.606, 0.003), {"branch-misses": 42e6}),
        ("multiline-command.txt", "bash -c ./job ./job again", (0.501, 0.49, 0.008), {"instructions": 3e9}),
        ("hybrid-user-kernel.txt", "CPU(s) 0-1", (60.0031, nan, nan), {"cpu_core/cpu-cycles:k/": 3e10}),
    ],
)
def test_tables_of_trials(file, name, run, counts):
    (program,) = read_file(TRIALS / file).programs
    assert program.name == name
    assert program.runs[0][:3] == pytest.approx(run, nan_ok=True)
    values = dict(rows_of(program.counts, "event", "value"))
    assert {event: values[event] for event in counts} == counts


def test_two_builds_are_two_programs():
    readings = read_file(TRIALS / "two-builds.txt")
    assert [program.name for program in readings.programs] == ["./job#1", "./job#2"]
    assert readings.programs[1].counts["running"].tolist() == [0.081, 0.244, 0.41]


def test_a_latency_is_a_row_of_its_own():
    counts = read_file(TRIALS / "retire-latency.csv").programs[0].counts
    assert rows_of(counts, "event", "value")[-1] == ("mem_load_retired.l3_hit:R", 84.0)


@pytest.mark.parametrize(
    "file", ["perfevent.csv", "pmcarch.txt", "linuxperf-jl.md", "scylla.txt", "hyperfine.txt"]
)
def test_other_tools_are_not_perf(file):
    assert not set(claims((TRIALS / file).read_text())) & set(PERF)


@pytest.mark.parametrize("prefix", ["> ", "bench-1  | ", "12:00:01 ", "// "])
def test_a_quoted_or_prefixed_table_is_not_read(prefix):
    lines = (TRIALS / "waits.txt").read_text().splitlines()
    assert claims("\n".join(prefix + line for line in lines)) == []


@pytest.mark.parametrize("file", ["wrapped-mail-r5.txt", "wrapped-mail-hybrid.txt"])
def test_a_wrapped_table_is_refused(file):
    with pytest.raises(FormatError, match="wrapped"):
        read_file(GOLDEN / "transcribed" / file)


# Laws: random counts are rendered in every dialect, and read back

EVENTS = ("cycles", "instructions:u", "cpu/event=0x3c,umask=0x1/u", "cpu_core/branches/", "task-clock")
ROWS = st.lists(
    st.lists(
        st.tuples(
            st.one_of(st.integers(0, 10**13), st.sampled_from(["<not counted>", "<not supported>"])),
            st.integers(0, 10**10),
            st.integers(1, 100),
        ),
        min_size=3,
        max_size=3,
    ),
    min_size=1,
    max_size=4,
)


def expected_rows(rows, events, places, times):
    """Rows (time, place, event, value, running) in the order in which perf prints them."""
    expected = []
    for end, interval in zip(times, rows, strict=True):
        for (count, _, share), event in zip(interval, events, strict=True):
            for place in places:
                value = nan if isinstance(count, str) else float(count)
                expected.append((end, place, event, value, share / 100))
    return expected


def found_rows(program):
    counts = program.counts.astype({"place": object, "event": object})
    return rows_of(counts, "time_s", "place", "event", "value", "running")


def assert_same_rows(program, expected):
    pd.testing.assert_frame_equal(pd.DataFrame(found_rows(program)), pd.DataFrame(expected), check_exact=True)


@given(
    rows=ROWS,
    separator=st.sampled_from(",;\t|!~@"),
    decimal=st.sampled_from(".,"),
    places=st.sampled_from([("",), ("CPU0", "CPU11"), ("S0-D0-C1", "S1-D0-C0"), ("my prog-12", "b-3")]),
    varies=st.booleans(),
    has_metrics=st.booleans(),
)
def test_csv_in_any_dialect(rows, separator, decimal, places, varies, has_metrics):
    events = EVENTS[:3] if separator != "," else (EVENTS[0], EVENTS[2], EVENTS[3])
    times = [0.1 * (k + 1) for k in range(len(rows))]
    lines = []
    for k, interval in enumerate(rows):
        for (count, on, share), event in zip(interval, events, strict=True):
            for place in places:
                fields = [f"{times[k]:.9f}"]
                fields += [place] if place else []
                fields += ["1"] if place.startswith("S") else []
                fields += [str(count), "", event]
                fields += [f"0{decimal}50%"] if varies else []
                fields += [str(on), f"{share}{decimal}00"]
                fields += (
                    [f"1{decimal}5" if decimal == "." else "1", "insn per cycle"] if has_metrics else ["", ""]
                )
                lines.append(f"     {separator.join(fields)}\n")
    expected = expected_rows(rows, events, places, [round(end, 9) for end in times])
    format_name, readings = registry.read_counts("".join(lines))
    assert format_name == "perf-csv"
    assert_same_rows(readings.programs[0], expected)
    n_metrics = len(lines) if has_metrics and decimal == "." else 0
    assert len(readings.programs[0].metrics) == n_metrics


@given(rows=ROWS, decimal=st.sampled_from(".,"), has_cpu=st.booleans())
def test_json_in_any_dialect(rows, decimal, has_cpu):
    times = [k + 1.0 for k in range(len(rows))]
    places = ("CPU0", "CPU3") if has_cpu else ("",)
    lines = []
    for k, interval in enumerate(rows):
        for (count, on, share), event in zip(interval, EVENTS[:3], strict=True):
            for place in places:
                cpu = f'"cpu" : "{place[3:]}", ' if place else ""
                number = count if isinstance(count, str) else f"{count}{decimal}000000"
                lines.append(
                    f'{{"interval" : {times[k]:.9f}, {cpu}"counter-value" : "{number}", "unit" : "", "event" : '
                    f'"{event}", "event-runtime" : {on}, "pcnt-running" : {share}{decimal}00}}\n'
                )
    format_name, readings = registry.read_counts("".join(lines))
    assert format_name == "perf-json"
    assert_same_rows(readings.programs[0], expected_rows(rows, EVENTS[:3], places, times))


@given(
    interval=ROWS.map(lambda rows: rows[0]),
    locale=st.sampled_from([(",", "."), (".", ","), ("\u202f", ","), ("'", ".")]),
    places=st.sampled_from([("",), ("CPU0", "CPU11"), ("S0-D0-C1", "S1-D0-C0")]),
)
def test_table_in_any_locale(interval, locale, places):
    group, decimal = locale
    lines = []
    for (count, _, share), event in zip(interval, EVENTS[:3], strict=True):
        for place in places:
            number = count if isinstance(count, str) else f"{count:,}".replace(",", group)
            n_cpus = "        2" if place.startswith("S") else ""
            shown = f"  ({share}{decimal}00%)" if share < 100 else ""
            lines.append(f"{place}{n_cpus} {number:>20}      {event:30}{shown}\n")
    text = f" Performance counter stats for 'x':\n\n{''.join(lines)}\n  1{decimal}000000000 seconds time elapsed\n"
    format_name, readings = registry.read_counts(text)
    assert format_name == "perf-table"
    expected = expected_rows([[(count, 1, share) for count, _, share in interval]], EVENTS[:3], places, [nan])
    assert_same_rows(readings.programs[0], expected)
    assert readings.programs[0].runs[0].seconds == 1.0


def test_sums_over_places_do_not_depend_on_the_order_of_lines():
    text = (GOLDEN / "perf-6.1/per-core.csv").read_text()
    head, lines = text.split("\n\n")[0], text.split("\n\n")[1].splitlines()
    swapped = [line for pair in zip(lines[1::2], lines[::2], strict=True) for line in pair]
    whole = read_program(text).counts.groupby("time_s")["value"].sum()
    again = read_program("\n".join([head, *swapped])).counts.groupby("time_s")["value"].sum()
    pd.testing.assert_series_equal(whole, again)


# Hostile texts

HOSTILE = {
    "a. a. a.": lambda n: " Performance counter stats for 'x':\n\n  5      cycles\n" + "a. " * n,
    "an event of zeros": lambda n: "5,,armv" + "0" * n + ",9,100.00,,\n",
    "digits": lambda n: "1" * n,
    "separators": lambda n: "," * n,
    "groups of digits": lambda n: (
        " Performance counter stats for 'x':\n\n  " + "1,234" * n + "      cycles\n"
    ),
    "blanks": lambda n: " Performance counter stats for 'x" + " " * n,
    "titles": lambda n: "Performance counter stats for '\n" * n,
    "open parentheses": lambda n: (
        " Performance counter stats for 'x':\n\n  5      cycles " + "(" * n + ")" * n
    ),
    "slashes in an event": lambda n: "5,," + "a/" * n + ",9,100.0,,\n",
    "shares": lambda n: ",1,100.00" * n,
    "braces": lambda n: '{"counter-value" : "' * n,
    "a heading of metrics": lambda n: "% a," * n + "\n",
    "interval headings": lambda n: "#           time             counts unit events\n" * n,
    "hashes": lambda n: " Performance counter stats for 'x':\n\n  5      cycles" + "#" * n + "\n",
}


def measure_time(text):
    begin = time.process_time()
    for name in PERF:
        known = registry.formats()[name]
        try:
            known.sniff(text)
            known.read(text, registry.ReadOptions())
        except FormatError:
            pass
    return time.process_time() - begin


@pytest.mark.parametrize("shape", HOSTILE)
def test_time_is_linear(shape):
    short, long = HOSTILE[shape](4_000), HOSTILE[shape](32_000)
    least_short = least_long = math.inf
    for _ in range(3):  # the least of several times, if one was disturbed
        least_short = min(least_short, measure_time(short))
        least_long = min(least_long, measure_time(long))
        if least_long < 30 * least_short + 0.1:  # quadratic time: 64 times
            return
    pytest.fail(f"8 times the text takes {least_long / least_short:.0f} times the time")


def test_the_heading_that_perf_repeats_begins_no_run():
    heading = "#           time             counts unit events\n"
    rows = [f"     {time}.000000000            {100 + time}      cycles\n" for time in range(1, 31)]
    text = "".join([heading, *rows[:25], heading, *rows[25:]])
    (program,) = registry.read_counts(text)[1].programs
    assert program.counts["run"].unique().tolist() == [1] and len(program.counts) == 30


def test_a_table_in_a_quoted_printable_mail_is_refused():
    text = (
        " Performance counter stats for './app':=0A=\n"
        "           1706379      faults=0A=\n"
        "             30588      pagefault:spf_vma_changed=0A=\n"
        "=0A=\n"
    )
    with pytest.raises(FormatError):
        registry.read_counts(text)
