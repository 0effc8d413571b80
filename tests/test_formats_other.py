"""Readers of formats that are not perf's: samples, laws, refusals."""

import importlib.util
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.io.formats import delimited, registry
from cmlib.io.formats.readings import FormatError, ReadOptions

ROOT = Path(__file__).parents[1]
TRIALS = ROOT / "tests/golden/trials"
OTHERS = [name for name in registry.formats() if name not in ("perf-csv", "perf-json", "perf-table")]


def read_sample(name):
    path = ROOT / registry.formats()[name].sample
    return path.read_bytes().decode("utf-8", "surrogateescape")


def read_text(text, **options):
    return registry.read_counts(text, options=ReadOptions(**options))[1]


def sum_events(program):
    return program.counts.groupby("event", observed=True)["value"].sum().to_dict()


def test_the_table_of_formats_is_that_of_the_registry():
    specification = importlib.util.spec_from_file_location("list_formats", ROOT / "tools/list_formats.py")
    list_formats = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(list_formats)
    page = list_formats.PAGE.read_text(encoding="utf-8")
    assert page == list_formats.replace_table(page), "run python tools/list_formats.py"


@pytest.mark.parametrize("name", registry.formats())
def test_a_sample_is_recognized_by_its_format_alone(name):
    text = read_sample(name)
    claims = [other for other, known in registry.formats().items() if known.sniff(text)]
    assert claims == [name]
    readings = registry.read_counts(text)[1]
    assert readings.programs
    assert all(len(program.counts) or len(program.metrics) for program in readings.programs)


# The first program of each sample: its name, number of rows, runs and sums of some events or metrics.
EXPECTED = {
    "aperf": ("", 90, 1, {"cycles": 79131569.0}),
    "google-benchmark": ("BM_Sort<int>/1024", 4, 2, {"CYCLES": 14750.0, "INSTRUCTIONS": 29000.0}),
    "jmh-csv": ("org.demo.Walk.go n=64", 4, 1, {"cycles": 120.0, "instructions": 240.0}),
    "jmh-json": ("org.demo.Walk.go n=64", 2, 1, {"cycles": 120.0, "instructions": 240.0}),
    "jmh-text": ("Walk.go size=1000000", 7, 1, {"cycles": 324.0, "LLC-store-misses": 1e-4}),
    "likwid-csv": ("copy", 6, 1, {"INSTR_RETIRED_ANY": 562970400.0}),
    "likwid-tables": ("", 10, 1, {"CAS_COUNT_RD": 148062879.0, "INSTR_RETIRED_ANY": 15150079461.0}),
    "likwid-timeline": ("", 24, 1, {"INSTR_RETIRED_ANY": 18860000000.0, "CAS_COUNT_RD": 16200000.0}),
    "long-table": ("nqueens", 8, 2, {"cycles": 4871203324.0, "branch-misses": 7120334.0}),
    "papi-json": ("main_loop", 6, 1, {"PAPI_TOT_CYC": 42387561628.0}),
    "papi-lines": ("", 4, 2, {"PAPI_L1_LDM": 2714813.0}),
    "pcm-csv": ("", 4, 1, {"INST": 66.8e6, "ACYC": 113e6}),
    "perf-csv-old": ("", 28, 1, {"L1I_CACHE_REFILL": 353533.0}),
    "periodic-counters": ("", 64, 1, {"CAS_COUNT.READS": 708373559.0}),
    "wide-table": ("", 234, 2, {"instructions": 97093542226.25}),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_counts_of_a_sample(name):
    expected_name, n_rows, n_runs, sums = EXPECTED[name]
    program = registry.read_counts(read_sample(name))[1].programs[0]
    assert (program.name, len(program.counts), program.counts["run"].max()) == (expected_name, n_rows, n_runs)
    found = sum_events(program)
    assert {event: found[event] for event in sums} == pytest.approx(sums)


@pytest.mark.parametrize(
    ("name", "metric", "values"),
    [
        ("toplev-csv", "% Slots Frontend_Bound", [47.5] * 3),
        ("pcm-csv", "IPC", [0.589]),
        ("jmh-csv", "CPI", [0.5]),
        ("likwid-csv", "CPI", [20.3146, 20.2934]),
    ],
)
def test_metrics_of_a_sample(name, metric, values):
    metrics = registry.read_counts(read_sample(name))[1].programs[0].metrics
    assert metrics.loc[metrics["name"] == metric, "value"].tolist()[: len(values)] == values


# Round trips

EVENTS = ["cycles", "instructions", "branch-misses", "L1-dcache-loads", "r412e", "INST_RETIRED.ANY"]
COUNTS = st.one_of(st.integers(0, 10**15), st.just(None))


@given(
    rows=st.lists(st.tuples(COUNTS, COUNTS, COUNTS), min_size=1, max_size=15),
    events=st.permutations(EVENTS),
    separator=st.sampled_from(",;\t|"),
    is_timed=st.booleans(),
)
def test_a_wide_table_is_read_as_it_was_written(rows, events, separator, is_timed):
    names = ["cycles", *[event for event in events if event != "cycles"][:2]]
    heading = (["time_s"] if is_timed else []) + names
    lines = [separator.join(heading)]
    for k, row in enumerate(rows, 1):
        cells = ["<not counted>" if count is None else str(count) for count in row]
        lines.append(separator.join(([f"{k / 10:.1f}"] if is_timed else []) + cells))
    if not is_timed and all(count is None for count in rows[0]):
        return  # a first row without any number is no row of a table
    counts = read_text("\n".join(lines) + "\n").programs[0].counts
    table = np.array([[nan if count is None else float(count) for count in row] for row in rows])
    if is_timed and counts["time_s"].nunique() < len(rows):
        return  # running totals, whose differences are taken
    index = "time_s" if is_timed else "run"
    read = counts.pivot(index=index, columns="event", values="value")[names].to_numpy()
    np.testing.assert_array_equal(read, table)


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(EVENTS), st.integers(0, 10**15)),
        min_size=1,
        max_size=20,
    )
)
def test_a_long_table_is_read_as_it_was_written(rows):
    text = "program,event,value\n" + "".join(f"{program},{event},{value}\n" for program, event, value in rows)
    read = []
    for program in read_text(text).programs:
        read += [(program.name, *row) for row in program.counts[["event", "value"]].itertuples(index=False)]
    assert sorted(read) == sorted(rows)


@given(st.lists(st.lists(COUNTS, min_size=2, max_size=2), min_size=1, max_size=5))
def test_likwid_tables_and_csv_agree(rows):
    cells = [
        [f"EVENT_{k}", f"PMC{k}", *("-" if c is None else str(c) for c in row)] for k, row in enumerate(rows)
    ]
    cells.insert(0, ["Event", "Counter", "Core 0", "Core 1"])
    table = "+---+\n" + "".join(f"| {' | '.join(row)} |\n" for row in cells) + "+---+\n"
    comma_separated = "TABLE,Group 1 Raw,X,1,\n" + "".join(",".join(row) + ",\n" for row in cells)
    first, second = (read_text(text).programs[0].counts for text in (table, comma_separated))
    pd.testing.assert_frame_equal(first, second)
    assert first["supported"].tolist() == [count is not None for row in rows for count in row]


@given(st.permutations(EVENTS))
def test_the_order_of_columns_changes_no_count(events):
    values = {event: 1000.0 + k for k, event in enumerate(EVENTS)}
    text = ",".join(events) + "\n" + ",".join(str(int(values[event])) for event in events) + "\n"
    assert sum_events(read_text(text).programs[0]) == values


# Wide tables


def test_a_comment_above_the_heading_is_passed_over():
    program = read_text((TRIALS / "commented.csv").read_text()).programs[0]
    assert sum_events(program) == {"cycles": 200000.0, "instructions": 500000.0, "branch-misses": 22.0}


def test_a_comment_may_be_the_heading():
    counts = read_text("# time_s,cycles,instructions\n0.1,5,6\n0.2,7,8\n").programs[0].counts
    assert counts["value"].tolist() == [5, 6, 7, 8]


def test_a_table_without_events_needs_a_column_by_name():
    text = (TRIALS / "no-events.csv").read_text()
    with pytest.raises(FormatError, match="names no known event.*lines-silent.*--count"):
        read_text(text)
    readings = read_text(text, columns={"lines-silent": "count", "GB/s": "level"})
    assert {program.name for program in readings.programs} == {"put0", "put1"}
    assert readings.levels == {"GB/s"}
    assert sum_events(readings.programs[1]) == pytest.approx({"lines-silent": 0.81, "GB/s": 80.4})


def test_stall_cycles_of_a_published_table_are_counted():
    text = "time_s,cycles,stall_cycles\n1,10,3\n2,10,4\n"
    (program,) = registry.read_counts(text)[1].programs
    stalled = program.counts[program.counts["event"] == "stall_cycles"]
    assert stalled["value"].tolist() == [3.0, 4.0]


def test_a_table_of_too_many_cells_is_refused_before_its_rows_are_read(monkeypatch):
    text = "time_s,cycles,instructions\n" + "1,2,3\n" * 10 + "4,5\n"
    monkeypatch.setattr(delimited, "MOST_CELLS", 30)
    with pytest.raises(FormatError, match="are read at most"):
        registry.read_counts(text)
    monkeypatch.setattr(delimited, "MOST_CELLS", 100)
    with pytest.raises(FormatError, match="line 12 has 2 cells"):
        registry.read_counts(text)


def test_columns_are_not_chosen_of_another_format():
    with pytest.raises(FormatError, match="likwid-tables"):
        registry.read_counts(
            read_sample("likwid-tables"), "likwid-tables", ReadOptions(columns={"x": "count"})
        )
    with pytest.raises(FormatError, match="names no column 'nothing'"):
        read_text("cycles,instructions\n1,2\n", columns={"nothing": "count"})


def test_a_numeric_column_names_no_program():
    readings = read_text("threads,cycles,instructions\n1,5,6\n2,7,8\n")
    assert [program.name for program in readings.programs] == [""]
    assert any("threads" in note for note in readings.notes)


def test_elapsed_is_how_long_a_run_took():
    readings = read_text("program,run,elapsed_time,cycles\na,1,0.5,10\nb,1,2.5,30\na,2,0.6,20\n")
    assert [(p.name, [run.seconds for run in p.runs]) for p in readings.programs] == [
        ("a", [0.5, 0.6]),
        ("b", [2.5]),
    ]
    assert readings.programs[0].counts["time_s"].isna().all()


def test_rows_of_runs_that_timed_out_are_left_out():
    text = "id,cycles,wall_time_s,status\n0,10,0.5,ok\n1,,,timeout\n2,20,0.6,ok\n3,30,,ok\n"
    readings = read_text(text)
    (program,) = readings.programs
    assert program.counts["value"].tolist() == [10, 20, 30]
    np.testing.assert_array_equal([run.seconds for run in program.runs], [0.5, 0.6, np.nan])
    assert any("left out: 1" in note for note in readings.notes)
    with pytest.raises(FormatError, match="no row"):
        registry.read_counts("id,cycles,wall_time_s\n7,,\n8,-,-\n", "wide-table")


def test_time_is_the_end_of_an_interval():
    counts = read_text("Time (ms),cycles\n100,1\n200,2\n300,3\n").programs[0].counts
    np.testing.assert_allclose(counts["time_s"], [0.1, 0.2, 0.3])


def test_times_since_1970():
    readings = read_text("timestamp,cycles\n1422978322,1\n1422978324,2\n")
    assert readings.begin_ns == 1422978320_000_000_000
    assert readings.programs[0].counts["time_s"].tolist() == [2.0, 4.0]


@pytest.mark.parametrize("last", [0.1, 4.0])
def test_time_that_falls_or_pauses_begins_a_run(last):
    times = [0.1, 0.2, 0.3, 0.4, 0.5, last]
    text = "time_s,cycles\n" + "".join(f"{time},{k}\n" for k, time in enumerate(times))
    assert read_text(text).programs[0].counts["run"].tolist() == [1, 1, 1, 1, 1, 2]


def test_in_a_short_pause_nothing_was_counted():
    counts = read_text("time_s,cycles\n1,5\n2,6\n3,7\n6,8\n").programs[0].counts
    assert counts["time_s"].tolist() == [1, 2, 3, 5, 6]
    assert counts["value"].isna().tolist() == [False, False, False, True, False]


def test_copied_runs_are_read_once():
    rows = "0.1,5\n0.2,6\n0.3,7\n0.4,9\n0.5,9\n0.6,9\n"
    readings = read_text("time_s,cycles\n" + 2 * rows)
    assert readings.programs[0].counts["run"].max() == 1
    assert any("copies" in note for note in readings.notes)


def test_lengths_of_runs_called_time_are_refused():
    with pytest.raises(FormatError, match="elapsed_s"):
        read_text("size,time_s,cycles\n1,5.5,1\n2,4.4,2\n3,3.3,3\n4,2.2,4\n")


def test_a_heading_of_two_rows_has_places():
    counts = (
        read_text("CPU2,CPU2,CPU3,CPU3\ncycles,instructions,cycles,instructions\n1,2,3,4\n")
        .programs[0]
        .counts
    )
    assert counts["place"].tolist() == ["CPU2", "CPU2", "CPU3", "CPU3"]
    assert counts["value"].tolist() == [1, 2, 3, 4]


def test_metrics_of_a_table_are_kept():
    metrics = read_text("program,cycles,IPC\na,5,1.5\n").programs[0].metrics
    assert metrics[["name", "value"]].to_numpy().tolist() == [["IPC", 1.5]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("5", "line 3 has 1 cells"),
        ("5,6,7", "line 3 has 3 cells"),
        ("5,-6", "'-6' in column 'instructions' is not a count"),
        ("5,inf", "'inf'"),
        ("5,1e400", "'1e400'"),
        ("5,true", "'true'"),
    ],
)
def test_a_damaged_row_is_refused(row, message):
    with pytest.raises(FormatError, match=message):
        read_text(f"cycles,instructions\n3,4\n{row}\n1,2\n")


def test_a_last_row_that_was_cut_off_is_left_out():
    readings = read_text("cycles,instructions\n3,4\n5")
    assert len(readings.programs[0].counts) == 2
    assert any("cut off" in note for note in readings.notes)


def test_rows_of_sums_are_refused():
    with pytest.raises(FormatError, match="line 4 is called 'TOTAL'"):
        read_text("replica,cycles\nr1,5\nr2,6\nTOTAL,11\n")


def test_running_totals_become_differences():
    text = "time_s,cycles,instructions\n" + "".join(f"{k},{100 * k * k},{300 * k}\n" for k in range(1, 26))
    counts = read_text(text).programs[0].counts
    assert counts.loc[counts["event"] == "instructions", "value"].tolist() == [300.0] * 24


def test_commas_between_digits_and_before_decimals():
    grouped = read_text('cycles;instructions\n"1,234,567";5\n').programs[0].counts["value"][0]
    decimal = read_text("cycles;instructions\n1234,5;5\n").programs[0].counts["value"][0]
    assert (grouped, decimal) == (1234567, 1234.5)


# Other formats


def test_a_long_table_with_shares_places_and_units():
    text = "time_s,cpu,event,value,unit,pct_running\n1,0,cycles,5,,50\n1,1,cycles,6,,100\n2,0,task-clock,7,msec,100\n"
    counts = read_text(text).programs[0].counts
    assert counts["place"].tolist() == ["cpu0", "cpu1", "cpu0"]
    assert counts["running"].tolist() == [0.5, 1.0, 1.0]
    assert counts["unit"].tolist() == ["", "", "msec"]


def test_runs_of_a_long_table_begin_where_an_event_comes_again():
    counts = read_text("event,value\ncycles,5\ninstructions,6\ncycles,7\n").programs[0].counts
    assert counts["run"].tolist() == [1, 1, 2]


def test_likwid_names_the_processor_and_keeps_impossible_counts():
    readings = read_text((TRIALS / "likwid-ivybridge.txt").read_text())
    assert "i5-3570" in readings.processor and "IvyBridge" in readings.processor
    assert [(program.name, program.runs[0].seconds) for program in readings.programs] == [("work", 2.1e-05)]
    counts = read_text((TRIALS / "likwid-underflow.txt").read_text()).programs[0].counts
    assert counts.loc[0, ["place", "value"]].tolist() == ["Core 3/FIXC0", 1.844674e19]


def test_a_row_of_likwid_without_its_heading_is_refused():
    lines = read_sample("likwid-tables").splitlines(keepends=True)
    without_heading = [line for k, line in enumerate(lines) if k != 4]
    with pytest.raises(FormatError, match="without a heading|no supported format"):
        read_text("".join(without_heading) + "".join(lines))


def test_a_jmh_table_whose_rows_do_not_follow_its_heading_is_refused():
    heading = "Benchmark        Mode  Cnt  Score   Error  Units\n"
    with pytest.raises(FormatError, match="line 1 .* no row follows"):
        read_text(f"{heading}\n# 8u191\nA.go:cycles  avgt  3  1.021 ±  0.193   #/op\n")


def test_times_per_operation():
    program = read_text(read_sample("jmh-text")).programs[0]
    assert program.per == "operation"
    assert program.runs[0].seconds == pytest.approx(5e-8, rel=1e-6)
    first, second = read_text(read_sample("jmh-csv")).programs
    assert [p.runs[0].seconds for p in (first, second)] == pytest.approx([41.3e-9, 820e-9])
    assert second.name == "org.demo.Walk.go n=4096"


def test_perf_before_3_19_without_times_is_totals():
    counts = read_text("5,cycles\n6,instructions\n7,cycles\n8,instructions\n").programs[0].counts
    assert counts["run"].tolist() == [1, 1, 2, 2]
    assert counts["time_s"].isna().all()


def test_the_start_of_a_recording_before_3_19_is_known():
    assert read_text(read_sample("perf-csv-old")).begin_ns == 1481219964017747737


# Refusals


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        (" \n\n", "empty"),
        ((TRIALS / "perfevent.csv").read_text(), "perfevent"),
        ((TRIALS / "pmcarch.txt").read_text(), "pmcarch"),
        ((TRIALS / "hyperfine.txt").read_text(), "cmlib compare './old' './new'"),
        ('{\n  "results": [\n    {\n      "command": "sleep 1",\n', "cmlib compare './old' './new'"),
        ('{"benchmarks": [], "metadata": {"loops": 8, "python_implementation": "cpython"}}', "pyperf"),
        ("# Overhead  Command  Shared Object  Symbol\n", "perf report"),
        ("sleep 267 [001]  9218.512996:  250000 task-clock: \n", "perf script"),
        ("=====\n      Shared Data Cache Line Table          \n", "perf c2c"),
        (" 9843.265131  task clock ticks     #       0.999 CPU utilization factor\n", "2009"),
        ("Performance counter statistics,\n1,cpu-cycles,\n", "simpleperf"),
        ("stress-ng: info:  [12] dispatching hogs: 4 cpu\n", "stress-ng"),
        ("Benchmark 1 (3 runs): ./a\n  measurement\n  wall_time          1.5ms ± 20us\n", "poop"),
        ("sep/emon V5.33\n", "EDP"),
        ("PERFILE2\x01\x02", "binary format"),
        ("PK\x03\x04" + 26 * "\0" + "[Content_Types].xml", "spreadsheet"),
        ("PK\x03\x04" + 26 * "\0" + "a.txt", "archive"),
        ("#PERF_COUNT_HW_INSTRUCTIONS PERF_COUNT_HW_CPU_CYCLES \n1 2 \n", "cmlib.io.streams"),
    ],
)
def test_refusals_say_what_it_is_or_what_to_do(content, message):
    with pytest.raises(FormatError, match=message):
        registry.read_counts(content)


@pytest.mark.parametrize("name", ["linuxperf-jl.md", "scylla.txt"])
def test_unknown_text_is_refused_with_the_list_of_formats(name):
    with pytest.raises(FormatError) as error:
        registry.read_counts((TRIALS / name).read_text())
    assert all(known in str(error.value) for known in registry.formats())
    assert not str(error.value).startswith("the file is output")


def test_an_unknown_format_names_the_known_ones():
    with pytest.raises(FormatError, match="wide-table"):
        registry.read_counts("cycles,instructions\n1,2\n", "wide")


def test_prose_is_no_table():
    texts = [
        "cycles, instructions\nare counted by perf, and 5 is a number\n",
        "Dear all,\n5 cycles, 6 instructions\n",
    ]
    for text in texts:
        with pytest.raises(FormatError):
            registry.read_counts(text)


def test_columns_of_words():
    assert delimited.is_text_column("kind", ("a", "<b>", "none"))
    assert not delimited.is_text_column("kind", ("a", "1"))
    assert not delimited.is_text_column("kind", ("nan", "-"))
    assert not delimited.is_text_column("kind", ("429.mcf", "401.bzip2"))
    assert delimited.is_text_column("program", ("429.mcf", "a"))
    assert not delimited.is_text_column("program", ("429.1", "a"))
    assert not delimited.is_text_column("program", ("1e5", "a"))


@pytest.mark.parametrize(
    "heading",
    ["program,cycles\n429.mcf,5\n470.lbm,6\n", "benchmark,event,value\n429.mcf,cycles,5\n470.lbm,cycles,6\n"],
)
def test_programs_whose_names_begin_with_digits(heading):
    assert [program.name for program in read_text(heading).programs] == ["429.mcf", "470.lbm"]


@pytest.mark.parametrize("name", ["Date", "Time", "EXEC"])
def test_pcms_table_with_a_damaged_name_is_not_taken_for_another_table(name):
    text = Path(registry.formats()["pcm-csv"].sample).read_text()
    damaged = text.replace(f"{name};", f"{name[:-1]}x;", 1)
    claims = {format for format, known in registry.formats().items() if known.sniff(damaged)}
    assert damaged != text and claims <= {"pcm-csv"}
