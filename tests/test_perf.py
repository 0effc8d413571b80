"""What perf writes is read exactly, and nothing else is read."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from cmlib.events import base_name
from cmlib.perf import ParseError, parse_stat, parsing, series, stat_command
from cmlib.schedule import Plan
from tests.naive import parsing as naive
from tests.naive import series as naive_series

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(path for path in GOLDEN.glob("perf-*/*") if path.is_file())
REFUSED = [path for path in FILES if path.stem.startswith("per-") or path.stem == "table"]
READ = [path for path in FILES if path not in REFUSED]
COLUMNS = ["time_s", "event", "value", "supported", "running", "unit"]
SOFTWARE = ["task-clock", "page-faults:u", "context-switches", "cycles", "instructions:u"]


def golden(name):
    return (GOLDEN / name).read_text(encoding="utf-8")


def label(path):
    return f"{path.parent.name}/{path.name}"


def frame_of(rows):
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.astype(
        {"time_s": float, "value": float, "supported": bool, "running": float, "event": "str", "unit": "str"}
    )


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
    expected = "for people" if path.stem == "table" else "counts one CPU, socket, thread"
    with pytest.raises(ParseError, match=rf"line [2-5], .*{expected}"):
        parse_stat(path.read_text(encoding="utf-8"))


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


def test_a_cgroup_is_refused_rather_than_taken_for_a_part_of_the_name():
    for separator in ",;":
        row = separator.join(["1.000000001", "5", "", "cycles", "user.slice", "1000", "100.00", "", ""])
        with pytest.raises(ParseError, match=r"line 1, '1\.000000001"):
            parse_stat(row + "\n")


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
        ("0.200000000,CPU1,5,,cycles,1000,100.00,,", "counts one CPU"),
        ("0.200000000;5;;cycles;1000;100.00;;", "one format a file"),
        ("x" * 500, "xxx…'"),
    ],
)
def test_any_other_line_is_named(intruder, told):
    row = "0.100000000,5,,cycles,1000,100.00,,"
    with pytest.raises(ParseError, match=told.replace("(", r"\(")):
        parse_stat(f"# started on\n\n{row}\n{intruder}\n{row}\n")


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


# --- any output at all

names = st.sampled_from(
    ["cycles", "instructions:uD", "l2.miss_all", "task-clock [software]", "sched:sched_switch", ""]
)
encoded = st.sampled_from(
    ["cpu/event=0x43,umask=0x4/", "cpu/event=0x43,umask=0x4,cmask=1/u", "msr/tsc/", "cycles"]
)


@st.composite
def outputs(draw):
    """(text, separator, decimal) of what some perf could have written."""
    separator = draw(st.sampled_from([",", ";", "\t", "|", None]))
    decimal = draw(st.sampled_from(".,"))
    timed, repeated, padded = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    write = json_line if separator is None else fields_line
    lines = [draw(st.sampled_from(["# started on Sat Nov 21 03:00:46 2026", "", "   "]))]
    time_mark = draw(st.sampled_from(".,"))
    for interval in range(draw(st.integers(1, 3))):
        seconds = f"{interval}{time_mark}{draw(st.integers(0, 10**9 - 1)):09d}" if timed else ""
        for _ in range(draw(st.integers(1, 4))):
            value = draw(
                st.one_of(st.integers(0, 10**14), st.floats(0, 1e9), st.sampled_from(naive.UNCOUNTED))
            )
            event = draw(names | encoded)
            share = draw(st.floats(0, 100))
            variation = draw(st.floats(0, 100)) if repeated else None
            kind = draw(st.sampled_from(["counter"] * 8 + ["metric", "blank"]))
            lines.append(write(kind, seconds, value, event, share, variation, separator, decimal, padded))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(lines) + draw(st.sampled_from(["", end])), separator, decimal


def fields_line(kind, seconds, value, event, share, variation, separator, decimal, padded):
    if kind == "blank":
        return ""
    head = [f"     {seconds}" if padded else seconds] if seconds else []
    if kind == "metric":
        return separator.join([*head, "", "", "", "", "0.3", "stalled cycles per insn"])
    number = value if isinstance(value, str) else f"{value:.2f}" if isinstance(value, float) else str(value)
    middle = [number.replace(".", decimal), "msec" if isinstance(value, float) else "", event]
    noise = [] if variation is None else [f"{variation:.2f}%".replace(".", decimal)]
    return separator.join([*head, *middle, *noise, "1234", f"{share:.2f}".replace(".", decimal), "", ""])


def json_line(kind, seconds, value, event, share, variation, separator, decimal, padded):
    if kind == "blank":
        return ""
    head = f'"interval" : {seconds}, ' if seconds else ""
    if kind == "metric":
        return f'{{{head}"metric-value" : 0{decimal}300000, "metric-unit" : "stalled cycles per insn"}}'
    number = value if isinstance(value, str) else f"{value:.6f}".replace(".", decimal)
    noise = "" if variation is None else f'"variance" : {variation:.2f}, '.replace(".", decimal)
    share = f"{share:.2f}".replace(".", decimal)
    return (
        f'{{{head}"counter-value" : "{number}", "unit" : "", "event" : "{event}", {noise}"event-runtime" : 1234, '
        f'"pcnt-running" : {share}, "metric-value" : 0{decimal}000000, "metric-unit" : ""}}'
    )


def read_both(text, separator, decimal):
    try:
        expected = frame_of(naive.parse(text, separator, decimal))
    except naive.Refused:
        expected = None
    try:
        return parse_stat(text), expected
    except ParseError:
        return None, expected


@given(outputs())
def test_whatever_perf_writes_reads_as_field_by_field(output):
    frame, expected = read_both(*output)
    assert_frame_equal(frame, expected, rtol=1e-15, atol=0, check_index_type=False)


@given(outputs(), st.integers(1, 200))
def test_where_the_text_is_cut_into_chunks_does_not_matter(output, chunk):
    text, _, _ = output
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_CHUNK", chunk)
        in_pieces = parse_stat(text)
    assert_frame_equal(in_pieces, parse_stat(text))


@given(outputs())
def test_the_fast_way_is_only_faster(output):
    text, _, _ = output
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "read_plain", lambda text, grammar: None)
        by_grammar = parse_stat(text)
    assert_frame_equal(parse_stat(text), by_grammar)


@st.composite
def damaged(draw):
    text, _, _ = draw(outputs())
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + 20)))
        text = (
            text[:start] + draw(st.text("0159.,;\t -<>/%#{}\"':nan\r\n\x00é\ud800", max_size=5)) + text[stop:]
        )
    return text


@given(damaged() | st.text(st.characters(exclude_categories=())))
def test_damaged_output_is_read_or_refused_and_never_breaks_the_reader(text):
    try:
        frame = parse_stat(text)
    except ParseError as error:
        assert "line " in str(error)
    else:
        assert frame.columns.tolist() == COLUMNS
        assert frame["supported"][frame["value"].notna()].all()
        assert not frame["running"].isna().any()


@given(damaged())
def test_the_fast_way_refuses_what_the_grammar_refuses(text):
    def read():
        try:
            return parse_stat(text)
        except ParseError as error:
            return str(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "read_plain", lambda text, grammar: None)
        by_grammar = read()
    found = read()
    if isinstance(by_grammar, str) or isinstance(found, str):
        assert found == by_grammar
    else:
        assert_frame_equal(found, by_grammar)


# --- series

rows = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["a:u", "b:u", "b:k", "c:uD", "d"]), min_size=1, max_size=6),
        st.floats(0.001, 1),
    ),
    min_size=1,
    max_size=6,
)


@given(rows, st.randoms(use_true_random=False))
def test_series_are_the_rows_cell_by_cell(intervals, random):
    time, made = 0.0, []
    for events, length in intervals:
        time += length
        made += [
            (time, event, random.choice([math.nan, random.random()]), random.random()) for event in events
        ]
    counts, running = series(pd.DataFrame(made, columns=["time_s", "event", "value", "running"]))
    table, columns = naive_series.series(made, base_name)
    assert counts.columns.tolist() == columns and counts.index.tolist() == list(table)
    for column in columns:
        cells = [naive_series.cell(table, at, column) for at in table]
        np.testing.assert_array_equal(counts[column], [value for value, _ in cells])
        np.testing.assert_array_equal(running[column], [share for _, share in cells])
    assert counts.index.name == running.index.name == "time_s"
    assert running.index.equals(counts.index) and running.columns.equals(counts.columns)


def test_series_of_real_output():
    counts, running = series(parse_stat(golden("perf-6.1-zen5/mlpx.csv")))
    assert counts.shape == (3, 14) and counts.columns[:2].tolist() == ["instructions", "cycles"]
    assert counts["instructions"].iloc[0] == 803406438 and running["ls_stlf"].iloc[0] == 0.23


def test_copies_of_an_event_are_numbered_and_modifiers_kept_apart():
    text = "".join(
        f"1.000000000,{n},,{event},9,100.00,,\n" for n, event in enumerate(["a:u", "a:u", "b:u", "b:k"])
    )
    counts, _ = series(parse_stat(text))
    assert counts.columns.tolist() == ["a", "a#2", "b:u", "b:k"] and counts.iloc[0].tolist() == [0, 1, 2, 3]


def test_an_interval_cut_off_lacks_its_last_counts():
    text = golden("perf-6.1-zen5/ocoe.csv")
    counts, running = series(parse_stat(text[: text.rstrip("\n").rindex("\n") + 10]))
    assert counts.iloc[:-1].notna().all(axis=None)
    assert counts.iloc[-1].isna().sum() == 1 and running.iloc[-1].eq(0).sum() == 1


def test_series_need_one_run_with_times():
    with pytest.raises(ValueError, match="record with an interval"):
        series(parse_stat(golden("perf-6.1/once.csv")))
    twice = golden("perf-6.1/comma.csv") * 2
    with pytest.raises(ValueError, match="more than one run"):
        series(parse_stat(twice))


def test_no_rows_make_empty_series():
    counts, running = series(parse_stat(""))
    assert counts.shape == running.shape == (0, 0)


# --- the command


def test_the_command_of_the_first_recordings():
    """The same command line that made data/recordings/gcc/ocoe-p1-02."""
    meta = json.loads((GOLDEN.parents[1] / "data/recordings/gcc/ocoe-p1-02.json").read_text(encoding="utf-8"))
    plan = Plan("ocoe", "ocoe", 2, tuple(meta["pinned"]), tuple(map(tuple, meta["groups"])), 100, "u")
    made = stat_command(plan, meta["encodings"], "FILE", ["gcc", "-O2"])
    group = ",".join(
        f"cpu/event={code},umask=0x0,name={name}/u"
        for name, code in [("de_op_queue_empty", "0xa9"), ("ls_stlf", "0x35"), ("ex_div_busy", "0xd3")]
    )
    expected = [
        "perf",
        "stat",
        "-I",
        "100",
        "-x",
        ",",
        "-o",
        "FILE",
        "-e",
        "instructions:uD",
        "-e",
        "cycles:uD",
        "-e",
    ]
    assert made == [*expected, "{" + group + "}", "--", "gcc", "-O2"]


def test_events_without_an_encoding_go_by_their_name():
    plan = Plan("s", "ocoe", 0, ("task-clock",), (("page-faults", "context-switches"),), 50, "")
    made = stat_command(plan, {"task-clock": "task-clock"}, "o", ["true"])
    assert made[made.index("-e") :] == [
        "-e",
        "task-clock:D",
        "-e",
        "{page-faults,context-switches}",
        "--",
        "true",
    ]
    pinned = Plan("s", "ocoe", 0, ("x", "sched:sched_switch"), (), 50, "u")
    told = stat_command(
        pinned, {"x": "cpu/event=0x1,name=x/u", "sched:sched_switch": "sched:sched_switch"}, "o", ["true"]
    )
    assert told[8:] == ["-e", "cpu/event=0x1,name=x/uD", "-e", "sched:sched_switch:D", "--", "true"]


def test_processes_are_counted_while_the_command_runs():
    plan = Plan("s", "ocoe", 0, ("task-clock",), (), 50, "")
    made = stat_command(plan, {}, "o", ["load"], pids=(12, 345))
    assert made[made.index("-p") :] == ["-p", "12,345", "--", "load"]


def test_nothing_to_count_and_nothing_to_run_are_refused():
    with pytest.raises(ValueError, match="no event to count"):
        stat_command(Plan("s", "ocoe", 3, (), ()), {}, "o", ["true"])
    with pytest.raises(ValueError, match="no command to count"):
        stat_command(Plan("s", "ocoe", 3, ("cycles",), ()), {}, "o", [])
