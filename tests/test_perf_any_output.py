"""Whatever some perf could write is read as field by field; damaged, it is read or refused, the fast way alike."""

from operator import itemgetter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from cmlib.io.perf import (
    ParseError,
    as_intervals,
    begin_ns,
    cut,
    extract,
    joined,
    parse_stat,
    remarks,
    series,
    split_runs,
    totals,
)
from cmlib.io.perf.formats import separated
from tests.naive import parsing as naive
from tests.perf_output import COLUMNS, EMON, GOLDEN, LIKWID, frame_of, golden

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
    n_intervals = draw(st.integers(1, 3))
    for interval in range(n_intervals):
        seconds = f"{interval}{time_mark}{draw(st.integers(0, 10**9 - 1)):09d}" if timed else ""
        for _ in range(draw(st.integers(1, 4))):
            value = draw(
                st.one_of(st.integers(0, 10**14), st.floats(0, 1e9), st.sampled_from(naive.UNCOUNTED))
            )
            event = draw(names | encoded)
            share = draw(st.floats(0, 100))
            variation = draw(st.floats(0, 100)) if repeated else None
            kind = draw(st.sampled_from(["counter"] * 8 + ["metric", "blank"]))
            kind = kind if interval + 1 < n_intervals else "counter"  # what counts nothing at all is refused
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


@given(outputs())
def test_whatever_perf_writes_reads_as_field_by_field(output):
    text, separator, decimal = output
    expected = frame_of(naive.parse(text, separator, decimal))
    assert_frame_equal(parse_stat(text), expected, rtol=1e-15, atol=0, check_index_type=False)


@given(outputs(), st.integers(1, 200))
def test_where_the_text_is_cut_into_chunks_does_not_matter(output, chunk):
    text, _, _ = output
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separated, "_CHUNK", chunk)
        in_pieces = parse_stat(text)
    assert_frame_equal(in_pieces, parse_stat(text))


@st.composite
def damaged(draw, texts):
    text = draw(texts)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + 20)))
        text = (
            text[:start] + draw(st.text("0159.,;\t -<>/%#{}\"':nan\r\n\x00é\ud800", max_size=5)) + text[stop:]
        )
    return text


ELSEWHERE = [
    golden("elsewhere/cloudsuite-x5650.csv")[:3000],
    golden("elsewhere/a15-cbench-list1.txt"),
    golden("perf-6.1/table.txt"),
    golden("perf-6.1/table-cpus.txt"),
    golden("elsewhere/sandmark-navajo.txt")[:2000],
    golden("elsewhere/likwid-timeline.txt"),
    golden("elsewhere/likwid-mpi.txt"),
    golden("elsewhere/likwid-regions.csv"),
    golden("elsewhere/papi-lines.txt"),
    golden("elsewhere/google-benchmark.json"),
    golden("elsewhere/mccalpin-stream.lua"),
    (GOLDEN / "elsewhere/aperf-graviton.bin").read_bytes().decode("utf-8", "surrogateescape"),
    EMON,
    LIKWID,
]


perfs = outputs().map(itemgetter(0))


@example("0.000000000,0,,cycles,1234,0.00,,\n" * 2)
@example("cycles a b\n|")
@given(damaged(perfs | st.sampled_from(ELSEWHERE)) | st.text(st.characters(exclude_categories=())))
def test_damaged_output_is_read_or_refused_and_never_breaks_the_reader(text):
    extract(text)
    try:
        if found := totals(text):
            series(as_intervals(joined(found)))
        split_runs(text)
        remarks(text)
        begin_ns(text)
        cut(text, 0.0, 1.5)
        parse_stat(text, interval_ms=100, columns={"powerWatts": "level"} if "powerWatts," in text else None)
        frame = parse_stat(text, interval_ms=100)
    except ParseError as error:
        assert "line " in str(error)
    else:
        assert frame.columns.tolist() == COLUMNS
        assert frame["supported"][frame["value"].notna()].all()
        assert not frame["running"].isna().any() or any("shares" in said for said in remarks(text))
