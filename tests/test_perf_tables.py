"""Wide tables, a column an event, and what likwid-perfctr writes in intervals."""

import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from cmlib.collect import record
from cmlib.io import events, store
from cmlib.io.perf import ParseError, parse_stat, remarks, series, split_runs
from tests.perf_output import EMON, LIKWID, golden

PUBLIC = Path(os.environ.get("CMLIB_PUBLIC", Path(__file__).parents[2] / "shared/public"))
A15 = {"vendor": "ARM", "family": 7, "model": 0xC0F}
SKYLAKE = {"vendor": "GenuineIntel", "family": 6, "model": 85}
L2 = [("L2_RQSTS.MISS", "l2_rqsts.miss"), ("BR_MISP_RETIRED_ALL_BRANCHES", "br_misp_retired.all_branches")]
CLOUDSUITE = golden("elsewhere/cloudsuite-x5650.csv")


@pytest.mark.parametrize(
    "name, is_one",
    [
        ("cpu-cycles", True),
        ("CACHE_MISSES", True),
        ("L1_dcache_loads", True),
        ("SIMD_FP_256_PACKED_SINGLE", True),
        ("INST_RETIRED.ANY", True),
        ("PAPI_TOT_INS", True),
        ("r412e", True),
        ("uncore_imc_0/cas_count_read/", True),
        ("red", False),
        ("Core_0", False),
        ("bytes_read", False),
        ("powerWatts", False),
        ("CPU_IDLE", False),
        ("POWER_W", False),
        ("", False),
    ],
)
def test_names_of_events_are_told_from_other_headings(name, is_one):
    assert events.is_event(name) == is_one


def test_instructions_and_cycles_are_known_under_the_names_of_vendors():
    names = ["PAPI_L2_TCM", "INST_RETIRED.ANY_P", "INST_RETIRED.ANY", "cpu-cycles"]
    assert events.translate(names, {}) == {"INST_RETIRED.ANY": "instructions", "cpu-cycles": "cycles"}
    assert events.translate([*names, "instructions", "cycles"], {}) == {}
    hybrid = ["cpu_core/cycles/", "cpu_core/instructions/"]
    assert events.translate(hybrid, {}) == dict(zip(hybrid, ["cycles", "instructions"], strict=True))
    assert events.translate([*hybrid, "cpu_atom/instructions/"], {}) == {}


@pytest.mark.parametrize(
    "names, machine, expected",
    [
        (["r008", "r00A", "r3ff"], A15, {"r008": "instructions", "r00A": "exc_return"}),
        (["r412e", "cycles"], SKYLAKE, {"r412e": "longest_lat_cache.miss"}),
        (["r412e", "r008"], {"vendor": None}, {}),
        (["L2_RQSTS.MISS", "BR_MISP_RETIRED_ALL_BRANCHES"], {}, dict(L2)),
        (["L2_RQSTS.MISS", "L2_RQSTS_MISS", "BR_MISP_RETIRED_ALL_BRANCHES"], {}, dict(L2[1:])),
    ],
)
def test_codes_and_spellings_get_the_names_of_the_machine_s_table(names, machine, expected):
    assert events.translate(names, machine) == expected


def test_events_outside_the_cores_are_no_processor_s_and_their_units_are_said():
    recognised = events.recognise([*dict(L2), "arm_cmn_0/hnf_cache_miss/", "a:b"])
    assert "intel_skylake" in recognised.tables and recognised.outside == ("arm_cmn_0",)
    assert events.describe_recognised(recognised).endswith(
        "Events of arm_cmn_0 are counted outside the cores."
    )
    assert events.describe_recognised(events.recognise(["arm_cmn_0/x/"])).startswith("Events of arm_cmn_0")


def test_a_table_of_cloudsuite_is_two_runs_whose_other_columns_are_named_and_left_out():
    """The last five rows of one run, and the first four of another that began earlier."""
    first, second = split_runs(CLOUDSUITE)
    assert first.splitlines()[0] == second.splitlines()[0] == CLOUDSUITE.splitlines()[0]
    counts, running = series(parse_stat(first))
    assert (
        counts.shape == (5, 26)
        and counts.index.tolist() == [2, 4, 6, 8, 10]
        and running.isna().all(axis=None)
    )
    assert counts.loc[4, ["instructions", "branch-misses"]].tolist() == [19389700063, 2876125]
    _, left_out = remarks(first)
    assert "left out: powerWatts, contexts, Core_0," in left_out and "UOPS_RETIRED" not in left_out
    with pytest.raises(ParseError, match="line 7, '1422977620,.*another run begins"):
        parse_stat(CLOUDSUITE)


def test_a_table_of_two_headings_without_times_needs_an_interval_and_adds_processors_up():
    """As EMON writes it."""
    with pytest.raises(ParseError, match="line 1, 'CPU2,CPU2,.*--interval-ms N"):
        parse_stat(EMON)
    counts, running = series(parse_stat(EMON, interval_ms=10))
    assert counts.index.tolist() == [0.01, 0.02]
    assert counts["INST_RETIRED.ANY"].iloc[0] == 874640 + 40368603 and np.isnan(
        counts["INST_RETIRED.ANY"].iloc[1]
    )
    assert counts["L2_RQSTS.MISS"].tolist() == [392516, 142926] and running["L2_RQSTS.MISS"].isna().all()
    assert "Counts of CPU2, CPU3 are added up." in remarks(EMON)


def test_what_is_imported_of_a_table_is_what_the_store_holds(tmp_path):
    (tmp_path / "emon.csv").write_text(EMON)
    (made,) = record.import_files(
        "blackscholes", [tmp_path / "emon.csv"], interval_ms=10, folder=tmp_path / "in"
    )
    meta = json.loads(made.read_text())
    assert meta["names"] == {"INST_RETIRED.ANY": "instructions"} and meta["pinned"] == ["instructions"]
    assert meta["running_shares"] is False and "INST_RETIRED.ANY is taken for instructions." in meta["note"]
    url = f"sqlite:///{tmp_path}/s.sqlite"
    store.rebuild(tmp_path / "in", url)
    run = store.load(url, "blackscholes/counts-p0-00")
    assert run.counts.columns.tolist() == ["instructions", "L2_RQSTS.MISS"]
    assert run.interval_s.tolist() == [0.01, 0.01]


@pytest.mark.parametrize(
    "column, written",
    [
        ("time_s", ["0.5", "1.0", "1.5"]),
        ("Time (ms)", ["500", "1000", "1500"]),
        ("timestamp", ["1422978316.5", "1422978317", "1422978317.5"]),
        ("timestamp", ["1422978316500000000", "1422978317000000000", "1422978317500000000"]),
        ("datetime", ["2026-11-21 03:00:46.5", "2026-11-21 03:00:47", "2026-11-21 03:00:47.5"]),
        ("elapsed", ["0", "0.5", "1"]),
    ],
)
def test_times_are_understood_and_counted_from_the_first_interval(column, written):
    rows = "\n".join(f"{time},{k}" for k, time in enumerate(written))
    assert_allclose(parse_stat(f"{column},cycles\n{rows}\n")["time_s"], [0.5, 1, 1.5])


def test_running_totals_are_taken_apart_and_that_is_said():
    rows = "".join(f"{k},{k * k},{7 * k},5\n" for k in range(1, 22))
    counts, running = series(parse_stat(f"time,cycles,branches,page-faults\n{rows}"))
    assert counts.index.tolist() == list(range(1, 21)) and counts["branches"].tolist() == [7] * 20
    assert counts["cycles"].tolist() == [2 * k + 1 for k in range(1, 21)]
    assert "they are running totals" in remarks(f"time,cycles,branches,page-faults\n{rows}")[1]
    one_falls = rows.replace("20,400,", "20,360,")
    assert parse_stat(f"time,cycles,branches,page-faults\n{one_falls}")["value"].iloc[:2].tolist() == [1, 7]


def test_a_pause_is_an_interval_in_which_nothing_was_counted():
    counts, running = series(parse_stat("time,cycles\n1,5\n2,6\n6,7\n7,8\n"))
    assert counts.index.tolist() == [1, 2, 5, 6, 7] and running["cycles"].eq(0).tolist() == [0, 0, 1, 0, 0]
    assert np.isnan(counts["cycles"][5])
    assert len(split_runs("time,cycles\n1,5\n2,6\n3,7\n14,8\n")) == 2


@given(
    st.lists(st.lists(st.none() | st.integers(0, 10**15), min_size=2, max_size=2), min_size=1, max_size=5),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_a_table_reads_the_same_whatever_separates_its_cells(rows, separator, end, quoted):
    def line(cells):
        written = ["" if cell is None else str(cell) for cell in cells]
        return separator.join(f'"{cell}"' for cell in written) if quoted else separator.join(written)

    body = [line([k + 1, *row]) for k, row in enumerate(rows)]
    text = end.join([line(["time", "cycles", "LLC-loads"]), *body, ""])
    expected = [np.nan if cell is None else cell for row in rows for cell in row]
    frame = parse_stat(text)
    assert_allclose(frame["value"], expected)
    assert frame["event"].tolist() == ["cycles", "LLC-loads"] * len(rows)


def test_marks_between_digits_are_no_decimal_points():
    assert parse_stat('time,cycles\n"0.1","1,234,567"\n')["value"].tolist() == [1234567]
    assert parse_stat("time;cycles;branches\n0,5;1,5;12,34,567\n")["value"].tolist() == [1.5, 1234567]


@pytest.mark.parametrize(
    "text, told",
    [
        ("time,cycles\n1,5\n2,-6\n", "line 3, '2,-6', has '-6' for cycles, which is no count"),
        ("time,cycles\n1,5\n2\n3,4\n", "line 3, '2', has 1 cells, and the heading names 2 columns"),
        ("time,cycles\n1,5\nnoon,6\n", "line 3, 'noon,6', has 'noon' for a time"),
    ],
)
def test_what_is_no_row_of_a_table_is_named(text, told):
    with pytest.raises(ParseError, match=re.escape(told)):
        parse_stat(text)


@pytest.mark.parametrize("name", ["blackscholes", "bodytrack", "canneal", "swaptions", "vips"])
def test_tables_of_emon_are_added_up_row_by_row(name):
    """The real ones, where they are on this machine; else one of their form."""
    file = PUBLIC / f"wide/emon/set106.{name}.csv.gz"
    text = gzip.decompress(file.read_bytes()).decode() if file.is_file() else EMON
    _, names, *rows = [line.split(",") for line in text.splitlines()[:400]]
    counts, _ = series(parse_stat("\n".join(text.splitlines()[:400]) + "\n", interval_ms=10))
    for event in counts:
        where = [column for column, name in enumerate(names) if name == event]
        added = [sum(float(row[column] or "nan") for column in where) for row in rows]
        assert_array_equal(counts[event], added)


def test_other_columns_are_kept_by_name_and_levels_are_what_is_left_per_second(tmp_path):
    """Power of a CloudSuite run; the interval is 2 s."""
    (tmp_path / "c.csv").write_text(CLOUDSUITE)
    columns = {"powerWatts": "level", "contexts": "count"}
    record.import_files("graph", [tmp_path / "c.csv"], columns=columns, folder=tmp_path / "in")
    url = f"sqlite:///{tmp_path}/s.sqlite"
    store.rebuild(tmp_path / "in", url)
    run = store.load(url, "graph/counts-p0-00")
    assert (run.counts["powerWatts"] / run.interval_s).tolist() == [200.5, 199.5, 200.5, 200, 200.5]
    assert run.counts["contexts"].iloc[0] == 10292.5 and run.meta["columns"] == columns
    assert "powerWatts is kept as a level" in run.meta["note"] and "left out: Core_0," in run.meta["note"]
    with pytest.raises(record.RecordError, match="names no column 'power'. It names timestamp, powerWatts"):
        record.import_files("x", [tmp_path / "c.csv"], columns={"power": "level"}, folder=tmp_path / "in")
    with pytest.raises(ParseError, match="columns can be chosen of a wide table only"):
        parse_stat(LIKWID, columns=columns)


def test_commas_of_a_column_are_all_between_groups_of_digits_or_all_before_decimals():
    read = parse_stat('time,cycles,branches\n1,"12,345","1,234,567"\n2,"12,5","12,345"\n')["value"]
    assert read.tolist() == [12.345, 1234567, 12.5, 12345]
