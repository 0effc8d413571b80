"""Counts by interval in other forms than `perf stat -x` writes for one program."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cmlib.collect import record
from cmlib.io.perf import ParseError, at_place, parse_stat, remarks, series
from tests.perf_output import GOLDEN, golden

PLACES = sorted(GOLDEN.glob("perf-*/per-*"))
GERMAN = """\
# started on Sat May 17 14:32:18 2025

     1,001067568      7.309.174.663      cpu_atom/cycles/                 #    1,966 GHz                (53,47%)
     1,001067568          3.718,04 msec task-clock                       #    6,383 CPUs utilized
     2,002019049      7.309.174.664      cpu_atom/cycles/                 #    1,966 GHz                (53,40%)
     2,002019049     <not counted> msec task-clock
"""


@pytest.mark.parametrize("path", PLACES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_places_are_added_up(path):
    text = path.read_text(encoding="utf-8")
    frame = parse_stat(text)
    totals = {}
    for line in text.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            totals[row["interval"]] = totals.get(row["interval"], 0) + float(row["counter-value"])
        elif line.strip() and not line.startswith("#"):
            fields = line.split(",")
            count = fields[2] if fields[1].startswith("CPU") else fields[3]
            totals[float(fields[0])] = totals.get(float(fields[0]), 0) + float(count)
    assert_allclose(frame["value"], list(totals.values()))
    assert frame["time_s"].tolist() == list(totals)
    assert frame["event"].str.startswith("task-clock").all() and (frame["running"] == 1).all()


def test_events_of_few_cpus_and_shares_are_those_of_the_cpus_that_counted():
    """Of three CPUs, with groups, by hperf on an Ice Lake server."""
    counts, running = series(parse_stat(golden("elsewhere/percpu-icelake.tsv")))
    assert len(counts) == 2 and len(counts.columns) == 21
    assert counts["cpu-clock"].iloc[0] == pytest.approx(1023.54 + 1022.92 + 1019.30)
    assert 0.49 < running.iloc[0].min() < 0.51 and counts["instructions"].notna().all()


def test_a_total_is_missing_where_a_place_that_can_count_the_event_did_not():
    counts = {"0.1": ("5", "<not supported>", "7"), "0.2": ("5", "<not supported>", "<not counted>")}
    text = "".join(
        f"{time}00000000,CPU{cpu},{count},,cycles,9,{0 if count.startswith('<') else 50}.00,,\n"
        for time, row in counts.items()
        for cpu, count in enumerate(row)
    )
    frame = parse_stat(text)
    assert frame["value"][0] == 12 and math.isnan(frame["value"][1])
    assert frame["running"].tolist() == [0.5, 0] and frame["supported"].all()
    nowhere = parse_stat(text.replace(",5,", ",<not supported>,").replace(",7,", ",<not supported>,"))
    assert math.isnan(nowhere["value"][0]) and nowhere["running"][0] == 0 and not nowhere["supported"][0]


def test_a_place_none_of_whose_cpus_counts_the_event_adds_nothing():
    cores = enumerate([(2, "1,500"), (2, "700"), (0, "<not counted>")])
    text = "".join(f"S0-D0-C{k}      {n}      {count}      cpu_core/cycles/\n" for k, (n, count) in cores)
    assert parse_stat(text)["value"].tolist() == [2200]


def test_counts_below_zero_are_left_out_and_told():
    """As of `perf stat -r -I` once; here in India's groups of digits."""
    rows = [(1, "1,84,46,74,40,73,70,95,51,000"), (2, "1,800"), (3, "18446744073709551001")]
    text = "".join(f"     {k}.000000001      {count}      faults\n" for k, count in rows)
    assert parse_stat(text)["value"].fillna(-1).tolist() == [-1, 1800, -1]
    assert ": 2." in " ".join(remarks(text)) and remarks(text.replace("18", "17").replace("1,8", "1,7")) == []


def test_the_table_for_people_is_read():
    frame = parse_stat(golden("perf-6.1/table.txt"))
    assert frame["time_s"].tolist() == [0.050104909] * 2 + [0.100299291] * 2 + [0.125024203] * 2
    assert frame["event"].tolist() == ["task-clock", "cycles"] * 3
    assert frame["value"].tolist()[::4] == [0.56, 0.05] and math.isnan(frame["value"][2])
    assert frame["supported"].tolist() == [True, False] * 3
    assert frame["unit"].tolist() == ["msec", ""] * 3


@pytest.mark.parametrize("name, n_places", [("cpus", 2), ("sockets", 1)])
def test_places_in_the_table_for_people_are_added_up(name, n_places):
    text = golden(f"perf-6.1/table-{name}.txt")
    frame = parse_stat(text).query("event == 'page-faults'")
    faults = [int(count) for count in re.findall(r" (\d+) +page-faults", text)]
    added = [sum(faults[k : k + n_places]) for k in range(0, len(faults), n_places)]
    assert frame["value"].tolist() == added and frame["time_s"].is_unique


def test_the_locales_marks_are_understood():
    """The rows are those of a German table of totals, given a time."""
    counts, running = series(parse_stat(GERMAN))
    assert counts["cpu_atom/cycles/"].tolist() == [7309174663, 7309174664]
    assert counts["task-clock"].iloc[0] == 3718.04 and math.isnan(counts["task-clock"].iloc[1])
    assert running["cpu_atom/cycles/"].tolist() == [0.5347, 0.534]


@given(
    st.integers(0, 10**13), st.sampled_from([",", ".", "\u202f", "\ufffd", "'", " "]), st.sampled_from([2, 3])
)
def test_a_count_reads_the_same_however_its_digits_are_grouped(count, mark, size):
    """In groups of three, and in India of two but for the last three."""
    size = 3 if mark == " " else size
    head, last = str(count)[:-3], str(count)[-3:]
    groups = [head[::-1][at : at + size][::-1] for at in range(0, len(head), size)][::-1]
    written = mark.join([*groups, last]) if head else last
    assert parse_stat(f"     1.000000000 {written:>25}      branches   (80.02%)\n")["value"][0] == count


def test_three_columns_have_the_names_that_their_header_gives():
    frame = parse_stat(golden("elsewhere/a15-cbench-list1.txt"))
    counts, running = series(frame)
    assert list(counts)[:3] == ["cycles", "SW_INCR", "L1I_CACHE_REFILL"]
    assert counts["L1I_CACHE_REFILL"].iloc[0] == 220448 and running.isna().all(axis=None)


def test_four_columns_are_those_of_old_perf():
    """What perf 6.1 wrote, without the columns that it did not have before."""
    text = golden("perf-6.1/comma.csv")
    old = re.sub(r"^([^#,]*),([^,]*),([^,]*),([^,]*),.*$", lambda row: _four(*row.groups()), text, flags=re.M)
    expected, read = parse_stat(text), parse_stat(old)
    assert read["value"].equals(expected["value"]) and read["unit"].equals(expected["unit"])
    assert read["event"].tolist() == expected["event"].tolist()


@pytest.mark.parametrize(
    "text",
    [
        GERMAN.replace("     2,002019049      7.309", "what the program said, 7.309"),
        golden("elsewhere/a15-cbench-list1.txt").replace(
            "     1.001156595\t43406\tr001", "1.001156595 43406"
        ),
    ],
)
def test_other_lines_are_named(text):
    with pytest.raises(ParseError, match=r"line \d+, '"):
        parse_stat(text)


def _four(time, count, unit, event):
    return f"{time},{count},{unit or 'n/a'},{event}"


def test_one_place_is_taken_by_its_name(tmp_path):
    for name in ("perf-6.1/table-cpus.txt", "elsewhere/percpu-icelake.tsv"):
        text = golden(name)
        alone = at_place(text, "CPU1")
        assert [
            line for line in text.splitlines() if not re.search(r"\dCPU(?!1\b)|\sCPU(?!1\b)\d", line)
        ] == alone.splitlines()
        assert parse_stat(alone)["value"].notna().all() and remarks(alone) == ["Counts are those of CPU1."]
        with pytest.raises(ParseError, match="no line counts 'CPU7'; there are CPU0, CPU1"):
            at_place(text, "CPU7")
    assert remarks(golden("perf-6.1/table-cpus.txt")) == ["Counts of 2 places, CPU0 to CPU1, are added up."]
    with pytest.raises(ParseError, match="a place is chosen of counts a CPU"):
        at_place(GERMAN, "CPU1")
    file = GOLDEN / "elsewhere/percpu-icelake.tsv"
    made = record.import_files("web", [file], place="CPU32", folder=tmp_path)
    assert [one.parent.name for one in made] == ["web-CPU32"]
