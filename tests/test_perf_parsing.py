"""What perf writes is read exactly, and nothing else is read."""

import math

import pytest
from pandas.testing import assert_frame_equal

from cmlib.io.perf import parse_stat
from tests.naive import parsing as naive
from tests.perf_output import GOLDEN, frame_of, golden

FILES = sorted(path for path in GOLDEN.glob("perf-[0-9]*/*") if path.is_file())
REFUSED = [path for path in FILES if path.stem.startswith(("appended", "separator-"))]
# Read in tests/test_formats_perf.py, and tables of whole runs in tests/test_first_answer.py.
OTHERS = [path for path in FILES if path.stem.startswith(("per-", "table", "slept", "preempted"))]
READ = [path for path in FILES if path not in REFUSED + OTHERS]
SOFTWARE = ["task-clock", "page-faults:u", "context-switches", "cycles", "instructions:u"]


def label(path):
    return f"{path.parent.name}/{path.name}"


def layout_of(path):
    """Separator and decimal mark, which the file's name tells."""
    decimal = "," if "decimal-comma" in path.stem else "."
    if path.suffix == ".json":
        return None, decimal
    return "\t" if path.suffix == ".tsv" else ";" if "semicolon" in path.stem else ",", decimal


# --- real output


@pytest.mark.parametrize("path", READ, ids=label)
def test_real_output_reads_as_field_by_field(path):
    text = path.read_text(encoding="utf-8")
    frame = parse_stat(text)
    assert len(frame) > 0
    expected = frame_of(naive.parse(text, *layout_of(path)))
    # Not counted in 100 % of the time is 0 if it was on no counter; the field-by-field reader does not say.
    slept = expected["value"].isna() & expected["supported"] & (expected["running"] == 1)
    assert (frame["value"][slept].isna() | (frame["value"][slept] == 0)).all()
    assert_frame_equal(frame.mask(slept), expected.mask(slept), check_exact=True)


@pytest.mark.parametrize("path", [p for p in READ if p.stem not in {"once", "repeated"}], ids=label)
def test_real_intervals_are_complete(path):
    frame = parse_stat(path.read_text(encoding="utf-8"))
    assert frame["time_s"].is_monotonic_increasing
    assert (frame["time_s"].drop_duplicates().diff().dropna() > 0).all()
    assert set(frame.groupby("time_s").size()) == {frame["event"].nunique()}


def test_every_separator_and_locale_of_a_version_shows_the_same_events():
    for version in ("5.10", "6.1", "6.12"):
        for path in (GOLDEN / f"perf-{version}").iterdir():
            if path.name.startswith(("comma.", "comma-d", "semi", "tab.", "lines", "decimal")):
                frame = parse_stat(path.read_text(encoding="utf-8"))
                assert frame["event"].drop_duplicates().tolist() == SOFTWARE, path
                assert frame.loc[frame["event"].isin(["cycles", "instructions:u"]), "value"].isna().all()
                assert 1 < frame["value"][0] < 20 and frame["unit"][0] == "msec"


def test_counts_and_shares_of_real_output_are_the_printed_ones():
    frame = parse_stat(golden("perf-6.1-zen5/mlpx.csv"))
    assert frame.loc[2].tolist() == [
        0.100153902,
        "ic_tag_hit_miss.instruction_cache_miss",
        83411798.0,
        True,
        0.28,
        "",
    ]
    commas = parse_stat(golden("perf-5.10/comma-decimal-comma.csv"))
    assert commas.loc[0].tolist() == [0.050968272, "task-clock", 8.85, True, 1.0, "msec"]
    spelt = parse_stat(golden("perf-6.1/comma-in-event.csv"))
    assert spelt.loc[0].tolist() == [0.050098148, "msr/event=0x0,config1=0x0/", 6056362.0, True, 1.0, ""]


def test_three_things_stay_different():
    starved = parse_stat(golden("perf-6.1-zen5/starved.csv"))
    uncounted = starved[starved["event"] == "fp_ret_sse_avx_ops.all"].iloc[0]
    zero = starved[starved["event"] == "fp_ret_x87_fp_ops.mul_ops"].iloc[0]
    unsupported = parse_stat(golden("perf-6.1/comma.csv")).set_index("event").loc["cycles"].iloc[0]
    assert math.isnan(uncounted["value"]) and uncounted["supported"] and uncounted["running"] == 0
    assert zero["value"] == 0 and zero["supported"] and zero["running"] == 0.27
    assert math.isnan(unsupported["value"]) and not unsupported["supported"]


def test_totals_after_the_intervals_are_left_out():
    for name in (
        "5.10/summary.csv",
        "6.1/summary.csv",
        "6.1/summary.json",
        "6.1/summary-alone.csv",
        "6.1/summary-no-word.csv",
        "6.12/summary.csv",
        "6.12/summary.json",
    ):
        frame = parse_stat(golden(f"perf-{name}"))
        assert frame["time_s"].notna().all() and len(frame) % len(SOFTWARE) == 0


def test_output_without_intervals_has_no_time():
    for path in READ:
        if path.stem in {"once", "repeated"}:
            frame = parse_stat(path.read_text(encoding="utf-8"))
            assert frame["time_s"].isna().all() and frame["event"].tolist() == SOFTWARE


def test_of_a_program_repeated_in_intervals_perf_writes_one_run():
    """perf 6.1 runs it three times, and writes the intervals of one."""
    for name in ("repeated-intervals.csv", "repeated-intervals.json"):
        time = parse_stat(golden(f"perf-6.1/{name}"))["time_s"].unique()
        assert 3 <= len(time) <= 4 and (time[1:] > time[:-1]).all() and 0.12 < time[-1] < 0.3


def test_nothing_counted_is_an_empty_frame():
    for text in ("", "\n\n", "# started on Sat Nov 21 03:00:46 2026\n\n"):
        frame = parse_stat(text)
        assert_frame_equal(frame, frame_of([]), check_index_type=False)
