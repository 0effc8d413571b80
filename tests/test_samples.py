"""perf's sample stream: its text, its files, and programs that are sampled here and now with software events."""

import gzip
import json
import random
import sys
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cmlib.cli import main
from cmlib.collect.machine import Census, CountersBusy, counters_lock
from cmlib.collect.record import RecordError
from cmlib.collect.sampling import read_samples, record_lines, record_samples, record_stream
from cmlib.compress import compress, reconstruct
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.io.samples import SampleError, find_streams, read_lines
from cmlib.io.samples.perf_script import read_text
from cmlib_workloads.catalog import cases
from tests.naive.samples import SampleParser
from tests.processes import has_ended, wait_until
from tests.small_runs import store_lines

GOLDEN = Path(__file__).parent / "golden/samples/perf_script_lost.txt"
EVENTS = ["cpu-clock", "page-faults", "context-switches"]
EVERY = 200_000  # ns of cpu-clock


def printed(counts, events=EVENTS, task=7):
    """What perf script prints of samples: nothing for what did not happen."""
    lines = [
        f"{task:>6}  {12 + i}.000000{i:03d}: {count:>10} {event:>18}: "
        for i, sample in enumerate(counts)
        for event, count in zip(events, sample, strict=True)
        if count
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def parse(pieces, events=EVENTS):
    """Counts as they are read, which are those of the plain parser, and this one."""
    parser = SampleParser(events)
    counts = np.concatenate([*map(parser.feed, pieces), parser.finish()])
    npt.assert_array_equal(read_text(b"".join(pieces), events), counts)
    return counts, parser


sampled = st.lists(
    st.tuples(st.integers(1, 10**7), st.integers(0, 99), st.integers(0, 2)), min_size=1, max_size=12
)


# --- the text -----------------------------------------------------------------------------------


@given(sampled, st.lists(st.integers(0, 2000), max_size=5))
def test_samples_come_back_from_their_text_wherever_it_is_cut(samples, cuts):
    text = printed(samples)
    edges = [0, *sorted(cuts), len(text)]
    counts, parser = parse([text[a:b] for a, b in zip(edges, edges[1:], strict=False)])
    npt.assert_array_equal(counts, samples)
    assert (parser.n_samples, parser.n_lost, parser.n_unreadable) == (len(samples), 0, 0)


def test_real_output_with_lost_samples_keeps_every_count():
    text = GOLDEN.read_bytes()
    counts, parser = parse([text])
    assert parser.n_lost == 53 + 269 + 9417
    assert parser.n_unreadable == 1, "the first line, which says how the file was made"
    numbers = [line.split() for line in text.decode().splitlines() if line.endswith(": ")]
    for column, event in enumerate(EVENTS):
        assert counts[:, column].sum() == sum(int(n[2]) for n in numbers if n[3] == f"{event}:")
    assert counts[:, 0].tolist().count(124576158) == 1, "the gap of the lost samples is one long step"


def test_a_loss_that_is_told_twice_is_counted_once():
    text = (
        b"     7  12.000000000: PERF_RECORD_LOST lost 5\n     7  13.000000000: PERF_RECORD_LOST lost 4\n"
        b"     0   0.000000000: PERF_RECORD_LOST_SAMPLES lost 9\n"
    )
    _, parser = parse([text])
    assert (parser.n_lost, parser.n_unreadable) == (9, 0)


def test_threads_are_counted_together():
    first, second = printed([(500, 1, 0)], task=7), printed([(400, 0, 2)], task=8)
    counts, _ = parse([first + second])
    npt.assert_array_equal(counts, [(500, 1, 0), (400, 0, 2)])


def test_counts_between_two_samples_belong_to_the_later_one():
    text = (
        printed([(500, 1, 0)])
        + b"     8  20.000000000:     30   page-faults: \n"
        + printed([(400, 2, 0)], task=8)
    )
    counts, _ = parse([text])
    npt.assert_array_equal(counts, [(500, 1, 0), (400, 32, 0)])


def test_a_counter_that_ran_backwards_adds_nothing_and_is_told():
    backwards = 2**64 - 1000
    counts, parser = parse([printed([(500, 5, 0), (500, backwards, 0), (backwards, 3, 0), (500, 1, 0)])])
    npt.assert_array_equal(counts, [(500, 5, 0), (500, 0, 0), (500, 4, 0)])
    assert parser.n_backwards == 2


def test_counts_beyond_64_bits_and_below_zero_end_nothing():
    most = 2**63 - 1
    counts, parser = parse([printed([(500, -5, 1), (500, most, 1), (500, 0, 0)]) * 2])
    assert (counts >= 0).all() and counts.max() == most and parser.n_backwards == 2


def test_what_is_neither_sample_nor_loss_is_passed_over_and_told():
    text = (
        b"Warning: something\n\n"
        + printed([(500, 5, 0)])
        + b"  7  13.1:  12  branches: \n"
        + b"  7  13.2:    99 cpu-cl"
    )
    counts, parser = parse([text])
    npt.assert_array_equal(counts, [(500, 5, 0)])
    assert parser.n_unreadable == 3


def test_names_are_known_with_the_modifiers_that_perf_adds():
    names = ["cycles:u", "syscalls:sys_enter_read", "ls_stlf:uD", "instructions:u"]
    counts, parser = parse(
        [printed([(9, 8, 7, 6)], names)], ["cycles", "syscalls:sys_enter_read", "ls_stlf", "instructions:u"]
    )
    npt.assert_array_equal(counts, [(9, 8, 7, 6)])
    assert parser.n_unreadable == 0


# --- files --------------------------------------------------------------------------------------


def test_the_lines_of_a_file_are_those_of_its_samples(tmp_path):
    rng = np.random.default_rng(0)
    counts = np.column_stack(
        [rng.integers(490_000, 510_000, 3000), rng.poisson(np.repeat([3, 90, 10], 1000)), np.ones(3000)]
    )
    source = tmp_path / "run.txt.gz"
    source.write_bytes(gzip.compress(printed(counts.astype(int).tolist())))
    samples = read_samples(source, EVENTS)
    npt.assert_array_equal(samples, counts.cumsum(axis=0))
    for name, method in (("printed", {}), ("drift", {"drift": 20.0})):
        told = store_lines(source, tmp_path / name, EVENTS, **method)
        lines, metadata = read_lines(tmp_path / name)
        expected = compress(samples["cpu-clock"], samples[EVENTS[1:]], **method)
        pd.testing.assert_frame_equal(lines, expected)
        assert metadata["n_samples"] == 3000 and metadata["n_lines"] == told["n_lines"] == len(lines)


def test_lines_that_were_changed_afterwards_are_not_read(tmp_path):
    source = tmp_path / "run.txt"
    source.write_bytes(printed([(500, 1, 0)] * 9))
    store_lines(source, tmp_path / "lines", EVENTS)
    with (tmp_path / "lines.csv").open("a") as file:
        file.write("1,2,3\n")
    with pytest.raises(SampleError, match=r"lines\.csv is not the file that was written"):
        read_lines(tmp_path / "lines")


@pytest.mark.needs("perf")
@pytest.mark.parametrize(
    ("name", "content", "events", "said"),
    [
        ("missing.txt", None, EVENTS, "no file of samples"),
        ("run.txt", b"\n", None, "name the events"),
        (
            "run.txt",
            printed([(5, 5, 5)]),
            ["cycles", "instructions"],
            "holds no sample of cycles, instructions",
        ),
        ("run.txt.gz", gzip.compress(random.Random(0).randbytes(5000), mtime=0)[:3000], EVENTS, "is cut off"),
    ],
)
def test_a_file_that_is_broken_is_named(tmp_path, name, content, events, said):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SampleError, match=said):
        read_samples(tmp_path / name, events)
    assert {file.name for file in tmp_path.iterdir()} <= {name}


# --- programs, here and now ---------------------------------------------------------------------

FAULTS = """
import mmap, resource, sys
for _ in range(int(sys.argv[2])):
    block = mmap.mmap(-1, 4096 * 64)
    for at in range(0, 4096 * 64, 4096):
        block[at] = 1
    block.close()
    sum(range(5000))
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_minflt))
"""


@pytest.mark.needs("perf")
def test_counts_of_a_live_program_are_those_the_kernel_tells_it(tmp_path):
    command = [sys.executable, "-S", "-c", FAULTS, str(tmp_path / "faults"), "400"]
    told = record_lines(
        command,
        EVENTS,
        EVERY,
        tmp_path / "lines",
        label="faults",
    )
    lines, metadata = read_lines(tmp_path / "lines")
    assert metadata | {"schema": 1} == metadata == json.loads((tmp_path / "lines.json").read_text())
    assert {key: metadata[key] for key in told} == told
    assert metadata["command"] == "faults" and metadata["method"]["drift"] == 20.0
    assert metadata["n_samples"] > 100 and len(lines) == metadata["n_lines"]
    assert metadata["n_unreadable"] == metadata["n_backwards"] == 0
    faults = reconstruct(lines, lines["x_end"].tail(1))["page-faults"].item()
    assert faults == pytest.approx(int((tmp_path / "faults").read_text()), rel=0.05)


@pytest.mark.needs("perf")
def test_lines_are_stored_while_the_program_runs(tmp_path, monkeypatch):
    """The program itself waits for its first lines, and fails if they don't come."""
    waiting = """
import glob, os, sys, time
end = time.monotonic() + 300
while time.monotonic() < end:
    blocks = [bytearray(4096 * 64) for _ in range(64)]
    sum(range(200_000))
    if any(os.path.getsize(file) > 1000 for file in glob.glob(sys.argv[1])):
        sys.exit(0)
sys.exit(3)
"""
    command = [sys.executable, "-S", "-c", waiting, str(tmp_path / "lines.json.*.partial/lines.csv")]
    monkeypatch.setattr("cmlib.collect.sampling._BUFFER_PAGES", 4)
    record_lines(command, EVENTS, EVERY, tmp_path / "lines")
    assert len(read_lines(tmp_path / "lines")[0]) > 10


@pytest.mark.needs("perf")
def test_samples_are_stored_whole(tmp_path):
    command = [sys.executable, "-S", "-c", FAULTS, str(tmp_path / "faults"), "300"]
    told = record_samples(command, EVENTS[:2], EVERY, tmp_path / "run")
    samples = read_samples(tmp_path / "run.txt.gz")
    assert list(samples) == EVENTS[:2] and len(samples) == told["n_samples"] > 50
    assert (samples["cpu-clock"].diff().dropna() > 0).all()


@pytest.mark.needs("perf")
@pytest.mark.parametrize(
    ("command", "events", "error", "said"),
    [
        (["sh", "-c", "echo out of luck >&2; exit 3"], EVENTS, SampleError, r"exit code 3[^$]*out of luck"),
        (["sh", "-c", "kill -9 $$"], EVENTS, SampleError, "signal 9"),
        (
            ["true"],
            ["cpu-clock", "no-such-event"],
            SampleError,
            r"could not sample \{cpu-clock,no-such-event\}:S",
        ),
        (
            ["true"],
            {"elsewhere": "cpu-clock", "faults": "page-faults"},
            SampleError,
            "no sample of elsewhere, faults",
        ),
        (["true"], ["cpu-clock"], SampleError, "at least two events"),
        (["no-such-program"], EVENTS, RecordError, "does not exist"),
    ],
)
def test_what_goes_wrong_is_told_and_leaves_nothing(tmp_path, command, events, error, said):
    with pytest.raises(error, match=said):
        record_lines(command, events, 20_000, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("period", [0, -5, 2.5])
def test_a_period_must_be_a_whole_number(tmp_path, period):
    with pytest.raises(SampleError, match="period must be a whole number of cpu-clock"):
        record_lines(["true"], EVENTS, period, tmp_path / "run")


@pytest.mark.needs("perf")
def test_a_program_without_a_sample_is_told(tmp_path):
    with pytest.raises(SampleError, match="ended before the first sample"):
        record_lines(["true"], EVENTS, 10**10, tmp_path / "run")


def test_what_is_there_is_never_overwritten(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(SampleError, match="never overwritten"):
        record_lines(["true"], EVENTS, EVERY, tmp_path / "run")
    assert (tmp_path / "run.json").read_text() == "{}"


@pytest.mark.needs("perf")
def test_when_it_is_interrupted_the_program_ends_and_nothing_is_left(tmp_path, monkeypatch):
    def interrupt(*given):
        next(filter(len, given[-1]))
        raise KeyboardInterrupt

    monkeypatch.setattr("cmlib.collect.sampling._store_lines", interrupt)
    monkeypatch.setattr("cmlib.collect.sampling._BUFFER_PAGES", 4)

    endless = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid()))\nwhile True: sum(range(1000))"
    command = [sys.executable, "-S", "-c", endless, str(tmp_path / "pid")]
    with pytest.raises(KeyboardInterrupt):
        record_lines(command, EVENTS, EVERY, tmp_path / "run")
    pid = (tmp_path / "pid").read_text()
    assert wait_until(lambda: has_ended(pid))
    assert [file.name for file in tmp_path.iterdir()] == ["pid"]


# --- kept by name -------------------------------------------------------------------------------

KERNEL_GROUP = ["task-clock", "page-faults"]
BUSY = [sys.executable, "-S", "-c", "for _ in range(60): sum(range(30_000))"]


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.needs("perf")
def test_streams_are_kept_under_their_program_and_numbered(own_data):
    for number in range(2):
        out, told = record_stream("busy", BUSY, KERNEL_GROUP, period=EVERY)
        assert out == own_data / f"samples/busy/software-{number:02d}"
        assert told["kind"] == "samples" and told["n_samples"] > 20
    out, told = record_stream("busy", BUSY, KERNEL_GROUP, period=EVERY, compress={"drift": 20.0})
    assert out.name == "software-lines-00" and read_lines(out)[1]["method"]["drift"] == 20.0
    meta = read_lines(out)[1]
    assert meta["n_lines"] == told["n_lines"] and meta["own_s"] > 0
    found = find_streams()
    assert found["name"].tolist() == ["busy", "busy"] and set(found["kind"]) == {"software"}
    assert found["events"].iloc[0] == tuple(KERNEL_GROUP)
    assert len(read_samples(found["path"].iloc[0])) == found["n_samples"].iloc[0]


@pytest.mark.needs("perf")
def test_what_perf_printed_is_kept_as_it_is(tmp_path):
    record_samples(BUSY, KERNEL_GROUP, EVERY, tmp_path / "run")
    text = gzip.decompress((tmp_path / "run.txt.gz").read_bytes())
    counts, parser = parse([text], KERNEL_GROUP)
    assert parser.n_unreadable == 0
    npt.assert_array_equal(read_samples(tmp_path / "run.txt.gz"), counts.cumsum(axis=0))


@pytest.mark.needs("perf")
def test_without_counters_sampling_is_refused_with_what_can_be_done(own_data, monkeypatch):
    def refuse(*_, **__):
        raise SampleError("perf could not sample {cycles:u,cache-misses:u}:S")

    nothing = Census(0, 0, complaint="the machine has no counters")
    monkeypatch.setattr("cmlib.collect.sampling.record_samples", refuse)
    monkeypatch.setattr("cmlib.collect.machine.census", lambda: nothing)
    with pytest.raises(CmlibError, match=r"no hardware event .* the machine has no counters.*--events"):
        record_stream("busy", BUSY)
    with pytest.raises(SampleError, match="perf could not sample"):
        record_stream("busy", BUSY, KERNEL_GROUP)


@pytest.mark.needs("perf")
def test_one_at_a_time(own_data):
    with counters_lock("another recording"), pytest.raises(CountersBusy):
        record_stream("busy", BUSY, KERNEL_GROUP)


def test_nothing_recorded_says_what_to_run(tmp_path):
    with pytest.raises(NothingRecordedError, match=r"Run `cmlib record-samples`"):
        find_streams(tmp_path)


def test_an_unknown_kind_of_events_is_refused(tmp_path):
    with pytest.raises(ValueError, match="got 'hard'"):
        find_streams(tmp_path, "hard")


def test_a_stream_that_was_changed_afterwards_is_left_out_by_name(tmp_path, capsys):
    (tmp_path / "busy").mkdir()
    (tmp_path / "busy/software-00.txt.gz").write_bytes(gzip.compress(b"", mtime=0))
    (tmp_path / "busy/software-00.json").write_text('{"sha256": "0"}')
    with pytest.raises(NothingRecordedError):
        find_streams(tmp_path)
    assert "software-00.txt.gz is not the file that was written" in capsys.readouterr().err


def test_the_committed_streams_are_all_cases_and_whole():
    found = find_streams(kind="software")
    assert set(found["name"]) == {case.name for case in cases()} and len(found) >= 30
    assert all(case.to_record().command == case.program_label for case in cases())
    assert (found["n_lost"] == 0).all() and (found["n_samples"] >= 1000).all()
    for stream in found.groupby("events").head(1).itertuples():
        samples = read_samples(stream.path)
        assert tuple(samples) == stream.events and len(samples) == stream.n_samples
        assert samples.iloc[:, 0].diff().iloc[1:].gt(0).all()


@pytest.mark.needs("perf")
def test_the_command_line_samples_compresses_and_says_where(own_data):
    run = CliRunner(catch_exceptions=False).invoke
    events = ["--samples", "--events", "task-clock,page-faults", "--period", str(EVERY)]
    done = run(main, ["record", "busy", *events, "--", *BUSY])
    assert done.exit_code == 0 and "stored as perf printed them" in done.output
    live = run(main, ["record", "busy", *events, "--compress", "--", *BUSY])
    assert live.exit_code == 0 and "stored as" in live.output
    assert run(main, ["record", "busy", "--compress", "--", *BUSY]).exit_code == 2
