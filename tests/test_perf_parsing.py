"""What perf writes is read exactly, and nothing else is read."""

import math

import pytest
from pandas.testing import assert_frame_equal

from cmlib.io import perf
from cmlib.io.perf import ParseError, parse_stat, split_runs
from tests.naive import parsing as naive
from tests.perf_output import GOLDEN, frame_of, golden

FILES = sorted(path for path in GOLDEN.glob("perf-[0-9]*/*") if path.is_file())
REFUSED = [path for path in FILES if path.stem.startswith(("appended", "separator-"))]
# Read in tests/test_perf_formats.py.
OTHERS = [path for path in FILES if path.stem.startswith(("per-", "table"))]
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
    assert_frame_equal(frame, frame_of(naive.parse(text, *layout_of(path))), check_exact=True)


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


@pytest.mark.parametrize("path", REFUSED, ids=label)
def test_what_is_not_one_program_s_counts_is_refused(path):
    kinds = {"appended": "begins another run", "separator": "counts no event"}
    with pytest.raises(ParseError, match=rf"line \d+, .*{kinds[path.stem.partition('-')[0]]}"):
        parse_stat(path.read_text(encoding="utf-8"))


def test_of_a_program_repeated_in_intervals_perf_writes_one_run():
    """perf 6.1 runs it three times, and writes the intervals of one."""
    for name in ("repeated-intervals.csv", "repeated-intervals.json"):
        time = parse_stat(golden(f"perf-6.1/{name}"))["time_s"].unique()
        assert 3 <= len(time) <= 4 and (time[1:] > time[:-1]).all() and 0.12 < time[-1] < 0.3


def test_runs_that_were_appended_are_found_and_read_one_by_one():
    for name in ("appended.csv", "appended.json", "appended-once.csv"):
        text = golden(f"perf-6.1/{name}")
        first, second = split_runs(text)
        assert first + second == text and second.startswith("# started on")
        assert all(parse_stat(part)["event"].unique().tolist() == SOFTWARE for part in (first, second))
    texts = [path.read_text(encoding="utf-8") for path in READ]
    assert all(split_runs(text) == [text] for text in texts)


# --- forms that no machine here writes


def test_rows_that_hold_only_metrics_are_left_out():
    text = (
        "     1.000000001,100,,cycles,1000,100.00,,\n"
        "     1.000000001,50,,instructions,1000,50.00,0.50,insn per cycle\n"
        "     1.000000001,,,,,0.30,stalled cycles per insn\n"
        "     1.000000001,,1000,100.00,,,,TopdownL1\n"
        "     1.000000001,,,,,,,41.0,%  tma_retiring\n"
    )
    frame = parse_stat(text)
    assert frame[["event", "value", "running"]].to_numpy().tolist() == [
        ["cycles", 100, 1],
        ["instructions", 50, 0.5],
    ]
    once = "\n".join(line.partition(",")[2] for line in text.splitlines())
    assert parse_stat(once)["value"].tolist() == [100, 50]
    lines = (
        '{"interval" : 1.000000001, "counter-value" : "100.000000", "unit" : "", "event" : "cycles", '
        '"event-runtime" : 1000, "pcnt-running" : 100.00, "metricgroup" : "TopdownL1"}\n'
        '{"interval" : 1.000000001, "metric-value" : "41.0", "metric-unit" : "%  tma_retiring"}\n'
        '{"interval" : 1.000000001, "event-runtime" : 1000, "pcnt-running" : 100.00, "metricgroup" : "TopdownL1"}\n'
    )
    assert parse_stat(lines)["value"].tolist() == [100]


def test_rows_without_an_event_name_are_left_out():
    text = "1.000000001;5;;;1000;100.00;;\n1.000000001;7;;cycles;1000;100.00;;\n"
    assert parse_stat(text)["event"].tolist() == ["cycles"]
    assert parse_stat("# started on\n" + text + "\n")["event"].tolist() == ["cycles"]


def test_a_second_cgroup_is_refused_and_none_is_taken_for_a_part_of_the_name():
    for separator in ",;":
        one, other = (
            separator.join(["1.000000001", "5", "", "cycles", cgroup, "1000", "98.00", "", ""]) + "\n"
            for cgroup in ("user.slice", "system.slice/cron.service")
        )
        assert parse_stat(one)[["event", "value", "running"]].to_numpy().tolist() == [["cycles", 5, 0.98]]
        with pytest.raises(
            ParseError, match="line 2, .* counts cgroup system.slice/cron.service, and the first"
        ):
            parse_stat(one + other)
    assert perf.remarks(one) == ["Counts are those of cgroup user.slice."]


def test_nothing_counted_is_an_empty_frame():
    for text in ("", "\n\n", "# started on Sat Nov 21 03:00:46 2026\n\n"):
        frame = parse_stat(text)
        assert_frame_equal(frame, frame_of([]), check_index_type=False)


@pytest.mark.parametrize(
    ("intruder", "told"),
    [
        ("warning: the program prints to stderr", "Keep perf's output apart"),
        ("0.200000000,5,,cycles", "line 4, '0.200000000,5,,cycles'"),
        ("0.200000000,-,,cycles,1000,100.00,,", "line 4"),
        ("0.200000000,5,,cycles,1000,100,00,,", "line 4"),
        ("0.200000000,-5,,cycles,1000,100.00,,", "line 4"),
        ("0.200000000,5,,cycles,1000,100.01,,", "line 4"),
        ("0.200000000,5,,cycles,1000,101.00,,", "line 4"),
        (f"0.200000000,{'9' * 400},,cycles,1000,100.00,,", "line 4"),
        (f"{'9' * 400}.200000000,5,,cycles,1000,100.00,,", "line 4"),
        ("0.200000000,CPU1,5,,cycles,1000,100.00,,", "line 4.*without --per-thread"),
        ("0.200000000;5;;cycles;1000;100.00;;", "one format a file"),
        ("x" * 500, "xxx…'"),
    ],
)
def test_any_other_line_is_named(intruder, told):
    row = "0.100000000,5,,cycles,1000,100.00,,"
    with pytest.raises(ParseError, match=told.replace("(", r"\(")):
        parse_stat(f"# started on\n\n{row}\n{intruder}\n{row}\n")


def test_shares_and_counts_that_can_not_be_are_refused_in_json_too():
    line = golden("perf-6.1/lines.json").splitlines()[3]
    assert len(parse_stat(line)) == 1
    for wrong in (
        line.replace('"pcnt-running" : 100.00', '"pcnt-running" : 100.50'),
        line.replace('"counter-value" : "', '"counter-value" : "-'),
    ):
        assert wrong != line
        with pytest.raises(ParseError, match="line 1"):
            parse_stat(wrong)


@pytest.mark.parametrize(
    "repeated", [" ", "\t", "9", ",", "/a", "{", "} ", '"cpu" ', "-1", "CPU1", "S0-D0", "0.1,"]
)
def test_a_line_of_half_a_million_characters_is_read_or_refused_at_once(repeated):
    """In time that grew with the square of its length, this would take minutes."""
    row, long = "0.100000000,5,,cycles,1000,100.00,,\n", repeated * (500_000 // len(repeated))
    for text in (long, f"{long}\n{row}", f"{row}{long}\n{row}", f"{row}{{{long}\n{row}"):
        try:
            assert len(parse_stat(text)) <= 2
        except ParseError as error:
            assert "line " in str(error) and len(str(error)) < 500


def test_only_the_last_line_may_be_cut_off_and_only_if_it_has_no_end():
    text = golden("perf-6.1-zen5/ocoe.csv")
    whole = parse_stat(text)
    last = text.rstrip("\n").rindex("\n")
    for stop in range(last + 1, len(text)):
        read = parse_stat(text[:stop])
        assert_frame_equal(read, whole.iloc[: len(read)])
        assert len(whole) - len(read) <= 1
    with pytest.raises(ParseError):
        parse_stat(text[: last + 20] + "\n")
    with pytest.raises(ParseError):
        parse_stat("     0.1000")
