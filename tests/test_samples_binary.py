"""perf's own stream: the same samples as in perf script's text of it, and clear words for what can't be read."""

import gzip
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.collect.sampling import record_lines
from cmlib.io.samples import SampleError, SampleReader
from cmlib.io.samples.perf_script import read_text
from tests import made_up_stream as made_up
from tests.made_up_stream import GROUP, IDENTIFIER, IP, LOST, READ, TID, TIME, TIMES, USUAL, WITH_ID
from tests.naive.samples import SampleParser
from tests.processes import has_ended, wait_until

GOLDEN = Path(__file__).parent / "golden/samples"
STREAM = gzip.decompress((GOLDEN / "perf_record_pipe.data.gz").read_bytes())
TEXT = gzip.decompress((GOLDEN / "perf_script_pipe.txt.gz").read_bytes())
EVENTS = ["task-clock", "page-faults", "context-switches"]


def read(pieces, events=EVENTS):
    reader = SampleReader(events)
    return np.concatenate([*map(reader.feed, pieces), reader.finish()]), reader


def parse(text, events=EVENTS):
    parser = SampleParser(events)
    counts = np.concatenate([parser.feed(text), parser.finish()])
    npt.assert_array_equal(read_text(text, events), counts)
    return counts, parser


def cut(content, at):
    edges = [0, *sorted(at), len(content)]
    return [content[a:b] for a, b in zip(edges, edges[1:], strict=False)]


def losses(reader):
    return reader.n_samples, reader.n_lost, reader.n_backwards


# --- real streams -------------------------------------------------------------------------------


def test_a_real_stream_holds_the_samples_that_perf_prints_of_it():
    """On two processors, with samples lost and samples that come out of order."""
    counts, reader = read([STREAM])
    expected, parser = parse(TEXT.partition(b"\n")[2])
    npt.assert_array_equal(counts, expected)
    assert losses(reader) == losses(parser) == (609, 4, 0)
    assert reader.n_unreadable == parser.n_unreadable == 0


def test_events_that_were_not_asked_for_are_passed_over_and_told():
    counts, reader = read([STREAM], EVENTS[:2])
    expected, parser = parse(TEXT.partition(b"\n")[2], EVENTS[:2])
    npt.assert_array_equal(counts, expected)
    assert reader.n_unreadable == parser.n_unreadable > 0


@given(st.lists(st.integers(0, len(STREAM)), max_size=6))
def test_it_may_be_cut_anywhere(at):
    counts, reader = read(cut(STREAM, at))
    npt.assert_array_equal(counts, read([STREAM])[0])
    assert reader.n_unreadable == 0


def test_it_may_come_byte_by_byte():
    begun = STREAM[:6000]
    npt.assert_array_equal(read(cut(begun, range(1, 6000)))[0], read([begun])[0])


@pytest.mark.needs("perf")
def test_a_stream_recorded_here_and_now_is_read_as_this_perf_prints_it(tmp_path):
    command = [sys.executable, "-S", "-c", "for n in range(60): bytearray(4096 * n); sum(range(20_000))"]
    record = ["perf", "record", "-q", "--no-inherit", "-e", f"{{{','.join(EVENTS)}}}:S", "-c", "100000"]
    stream = tmp_path / "stream"
    with stream.open("wb") as file:
        subprocess.run([*record, "-o", "-", "--", *command], stdout=file, stderr=subprocess.PIPE, check=True)
    script = ["perf", "script", "-F", "tid,time,period,event", "--ns", "--show-lost-events", "-i", stream]
    text = subprocess.run(script, capture_output=True, check=True).stdout
    counts, reader = read([stream.read_bytes()])
    expected, parser = parse(text)
    npt.assert_array_equal(counts, expected)
    assert losses(reader) == losses(parser) and reader.n_samples > 50 and reader.n_unreadable == 0


# --- made-up streams ----------------------------------------------------------------------------


@st.composite
def sampled(draw):
    """Samples of three events by two tasks on two processors, counters that fall or stand still among them."""
    grows = st.one_of(st.integers(0, 3), st.integers(0, 10**9), st.integers(-(10**6), 0))
    steps = st.tuples(
        st.integers(0, 1), st.sampled_from([7, 8]), st.integers(0, 1), st.tuples(grows, grows, grows)
    )
    time, shown, samples = 12 * 10**9, {0: [0, 0, 0], 1: [0, 0, 0]}, []
    for later, task, processor, growths in draw(st.lists(steps, max_size=25)):
        time += later
        shown[processor] = [max(0, a + b) for a, b in zip(shown[processor], growths, strict=True)]
        samples.append((time, task, processor, shown[processor]))
    return samples


layouts = st.tuples(
    st.sampled_from(
        [USUAL[0], TID | TIME | READ, IDENTIFIER | IP | TID | TIME | READ | 128 | 256, USUAL[0] | 1 << 10]
    ),
    st.sampled_from([USUAL[1], GROUP | WITH_ID, GROUP | WITH_ID | TIMES, GROUP | WITH_ID | TIMES | LOST]),
)


@pytest.mark.slow
@given(sampled(), layouts, st.lists(st.integers(0, 3000), max_size=4))
def test_any_samples_are_those_of_the_text_in_any_layout(samples, layout, at):
    """Of one time and different tasks, on several processors: each closes the sample before, as in the text."""
    in_order = {sample[0]: [] for sample in samples}
    for sample in samples:
        in_order[sample[0]].append(sample)
    samples = [s for same in in_order.values() for s in sorted(same, key=lambda s: s[2])]
    content = made_up.stream(EVENTS, samples, layout, a_round=100)
    counts, reader = read(cut(content, at))
    expected, parser = parse(made_up.printed(EVENTS, samples))
    npt.assert_array_equal(counts, expected)
    assert losses(reader) == losses(parser)
    assert reader.n_unreadable == 0


def test_rounds_are_put_in_order_of_time():
    times = np.arange(1, 41)
    samples = [(t, 7, int(t // 3 % 2), (100 * t, t, 0)) for t in times.tolist()]
    counts, _ = read([made_up.stream(EVENTS, samples, a_round=8)])
    npt.assert_array_equal(counts, parse(made_up.printed(EVENTS, samples))[0])


def test_losses_that_are_told_twice_are_counted_once():
    content = made_up.beginning(EVENTS)
    content += made_up.record(2, made_up.numbers(1000, 5)) + made_up.record(2, made_up.numbers(1000, 4))
    assert read([content + made_up.record(13, made_up.numbers(9))])[1].n_lost == 9


def test_what_is_not_needed_is_passed_over():
    other = [made_up.record(kind, bytes(16)) for kind in (1, 3, 4, 5, 10, 21, 73, 80, 82, 90, 4_000_000)]
    content = made_up.stream(EVENTS, [(5, 7, 0, (9, 8, 7))])
    counts, reader = read([content + b"".join(other)])
    npt.assert_array_equal(counts, [(9, 8, 7)])
    assert reader.n_unreadable == 0


def test_counters_of_no_event_are_told():
    content = made_up.beginning(EVENTS) + made_up.sample(5, 7, {1000: 9, 1002: 8, 999: 3})
    counts, reader = read([content])
    npt.assert_array_equal(counts, [(9, 8, 0)])
    assert reader.n_unreadable == 1


def test_a_stream_that_ends_within_a_record_keeps_what_came_before():
    content = made_up.stream(EVENTS, [(5, 7, 0, (9, 8, 7)), (6, 7, 0, (19, 8, 7))])
    counts, reader = read([content[: -len(made_up.ROUND) - 1]])
    npt.assert_array_equal(counts, [(9, 8, 7)])
    assert reader.n_unreadable == 1
    assert read([])[1].n_unreadable == 0 and read([STREAM[:9]])[1].n_unreadable == 1


def test_memory_does_not_grow_with_the_stream():
    def peak(n_rounds):
        reader = SampleReader(EVENTS)
        reader.feed(made_up.beginning(EVENTS))
        tracemalloc.start()
        for k in range(n_rounds):
            shown = (1000 + 1000 * k, k, 0)
            sample = made_up.sample(5 + k, 7, {1000 + 2 * e: s for e, s in enumerate(shown)})
            reader.feed(100 * sample + made_up.ROUND)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    assert peak(1000) < 1.5 * peak(200)


# --- what can't be read -------------------------------------------------------------------------

ATTRIBUTE = made_up.attribute([1000])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no such thing", "not what `perf record -o -` writes.*begins with b'no such"),
        (b"PERFILE2" + made_up.numbers(104), "begins with b'PERFILE2h"),
        (made_up.BEGINNING + bytes(8), "record of type 0 with 0 bytes: it is damaged"),
        (made_up.BEGINNING + made_up.sample(5, 7, {1: 2}), "perf has not described its events before"),
        (made_up.BEGINNING + made_up.record(64, bytes(16)), "type 64 with 24 bytes"),
        (made_up.BEGINNING + made_up.record(64, bytes(56)), "type 64 with 64 bytes"),
        (made_up.BEGINNING + made_up.record(66, b""), "type 66 with 8 bytes"),
        (made_up.BEGINNING + made_up.record(78, bytes(8)), "type 78 with 16 bytes"),
        (made_up.BEGINNING + made_up.record(2, bytes(8)), "type 2 with 16 bytes"),
        (
            made_up.BEGINNING + made_up.attribute([1], (USUAL[0] | 1 << 25, USUAL[1])),
            r"not known here \(0x2000000",
        ),
        (made_up.BEGINNING + made_up.attribute([1], (USUAL[0], USUAL[1] | 32)), r"not known here \(0x20\)"),
        (made_up.BEGINNING + ATTRIBUTE + made_up.record(9, bytes(16)), "type 9 with 24 bytes"),
        (made_up.BEGINNING + ATTRIBUTE + made_up.record(9, bytes(64)), "no room for 0 counts"),
    ],
)
def test_what_can_not_be_read_is_told(content, said):
    with pytest.raises(SampleError, match=said):
        read([content])


def test_an_event_of_perf_itself_may_have_another_layout():
    dummy = made_up.attribute([5], (TID | TIME, 0), config=9)
    content = made_up.BEGINNING + dummy + made_up.stream(EVENTS, [(5, 7, 0, (9, 8, 7))])[16:]
    npt.assert_array_equal(read([content])[0], [(9, 8, 7)])


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 8000), st.binary(min_size=1, max_size=24)), max_size=8),
    st.integers(0, 12_000),
    st.integers(1, 5000),
    st.binary(max_size=200),
)
def test_no_bytes_do_more_than_raise_a_sample_error(changes, length, piece, tail):
    content = bytearray(STREAM[:length])
    for at, new in changes:
        content[at : at + len(new)] = new
    content = bytes(content) + tail
    try:
        counts, reader = read([content[at : at + piece] for at in range(0, len(content), piece)])
    except SampleError as error:
        assert "stream" in str(error) or "perf record -o -" in str(error)
    else:
        assert counts.shape == (reader.n_samples, len(EVENTS)) and reader.n_unreadable >= 0


@given(st.lists(st.tuples(st.sampled_from([2, 9, 13, 64, 66, 68, 78]), st.binary(max_size=160)), max_size=12))
def test_no_records_do_more_than_raise_a_sample_error(records):
    content = made_up.beginning(EVENTS) + b"".join(made_up.record(*each) for each in records)
    try:
        counts, reader = read([content])
    except SampleError as error:
        assert "record of type" in str(error)
    else:
        assert len(counts) == reader.n_samples


def test_a_perf_that_writes_something_else_is_told_and_leaves_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "perf").write_text("#!/bin/sh\nhead -c 1000000 /dev/zero\nexec sleep 100\n")
    (folder / "perf").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(SampleError, match="not what `perf record -o -` writes"):
        record_lines(["true"], EVENTS, 20_000, tmp_path / "out/run")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.needs("perf")
def test_ctrl_c_while_nothing_comes_ends_the_program_too(tmp_path):
    endless = (
        "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid()))\nwhile True: time.sleep(1)"
    )
    script = (
        "import sys; from cmlib.collect.sampling import record_lines\n"
        f"record_lines([sys.executable, '-S', '-c', {endless!r}, sys.argv[1]], {EVENTS}, 10**6, sys.argv[2])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "pid"), str(tmp_path / "out/run")]
    recorder = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        assert wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        recorder.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in recorder.communicate(timeout=300)[1]
    finally:
        recorder.kill()
        recorder.wait()
    assert recorder.returncode == -signal.SIGINT
    pid = (tmp_path / "pid").read_text()
    assert wait_until(lambda: has_ended(pid))
    assert list((tmp_path / "out").iterdir()) == []
