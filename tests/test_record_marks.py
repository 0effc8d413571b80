"""One long recording becomes programs at marks; runs of different conditions are never joined."""

import gzip

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cmlib.cli import main
from cmlib.collect import record
from cmlib.io import perf, store
from cmlib.io.marks import Mark, read_marks
from cmlib.io.sources import read_recordings
from tests.perf_output import golden
from tests.soft_recordings import runs

HEAD = "Start:\t1481219964017747737\nEvent 1 Label:\tCPU_CYCLES\t\tRAW Identifier:\tcycles\n"
MARKS = """\
#Name	Start(ns)	End(ns)
one	1481219964071247696	1481219966100000000
two	1481219966111000000	1481219967600000000
never	1481219999000000000	1481219999100000000
"""


def recording(n=8):
    """Half a second an interval; the k-th counts k cycles, and 10 k of r008."""
    lines = [
        f"     {k / 2:.9f}\t{count}\t{event}"
        for k in range(1, n + 1)
        for count, event in ((k, "cycles"), (10 * k, "r008"))
    ]
    return HEAD + "\n".join(lines) + "\n"


def written(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def test_a_mark_takes_the_whole_intervals_within_it_and_their_lines_as_they_are(tmp_path):
    """The first program starts 53.5 ms after the recording, so the first interval is only half its own."""
    files = [written(tmp_path, "raw.txt", recording())]
    made = record.import_files("c", files, marks=written(tmp_path, "m.data", MARKS), folder=tmp_path / "in")
    assert [file.parent.name for file in made] == ["c-one", "c-two"]
    url = f"sqlite:///{tmp_path}/s.sqlite"
    listed = store.rebuild(tmp_path / "in", url)
    assert listed["duration_s"].tolist() == [1.5, 1.0]
    one, two = (store.load(url, f"c-{name}/counts-p0-00") for name in ("one", "two"))
    assert one.counts["cycles"].tolist() == [2, 3, 4] and two.counts["r008"].tolist() == [60, 70]
    assert one.counts.index.tolist() == [0.5, 1.0, 1.5] and two.interval_s.tolist() == [0.5, 0.5]
    assert (
        two.meta["selection"] == {"start_s": 2.5, "end_s": 3.5}
        and "No complete interval is within never." in two.meta["note"]
    )
    raw = gzip.decompress((tmp_path / "in/c-two/counts-p0-00.csv.gz").read_bytes()).decode()
    assert raw == recording()


@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=6, unique=True),
    st.sampled_from(["perf", "people", "json", "wide"]),
)
def test_marks_one_behind_the_other_share_no_interval_and_lose_only_those_at_their_edges(
    tmp_path_factory, tenths, form
):
    ends = [0.5 * k for k in range(1, 9)]
    row = {
        "perf": "     {:.9f},{},,cycles,500000000,100.00,,\n",
        "people": "     {:.9f}      {}      cycles\n",
        "json": '{{"interval" : {:.9f}, "counter-value" : "{}.000000", "unit" : "", "event" : "cycles", '
        '"event-runtime" : 1, "pcnt-running" : 100.00}}\n',
        "wide": "{:.9f},{}\n",
    }[form]
    heading = {"wide": "time,cycles\n", "people": "#           time             counts unit events\n"}
    text = heading.get(form, "# started on\n\n") + "".join(row.format(end, k) for k, end in enumerate(ends))
    file = written(tmp_path_factory.mktemp("marks"), "t.txt", text)
    bounds = sorted(tenth / 10 for tenth in tenths)
    for start, stop in zip(bounds, bounds[1:], strict=False):
        expected = [k for k, end in enumerate(ends) if end - 0.5 >= start and end <= stop]
        mark = Mark("m", round(start * 1e9), round(stop * 1e9))
        if not expected:
            with pytest.raises(record.RecordError, match="no complete interval"):
                read_recordings([file], {}, marks=[mark])
            continue
        (piece,) = read_recordings([file], {}, marks=[mark])
        counts = piece.counts
        assert counts["cycles"].tolist() == expected
        np.testing.assert_allclose(counts.index, 0.5 * np.arange(1, len(expected) + 1))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("name,start,end\na,0.5,1.25\n", Mark("a", 500_000_000, 1_250_000_000)),
        ("a b;1;2\n", Mark("a_b", 10**9, 2 * 10**9)),
        ("phase start_ms end_ms\nx 500 1500\n", Mark("x", 500_000_000, 1_500_000_000)),
        ("# phases\n\n# of x\nname,start_ms,end_ms\nx,500,1500\n", Mark("x", 500_000_000, 1_500_000_000)),
        (
            "# phases\n# name,start_ms,end_ms\n# two\nx,500,1500\n# y,1,2",
            Mark("x", 500_000_000, 1_500_000_000),
        ),
        ("x,1481219964071247696,1481219966100000000", Mark("x", 1481219964071247696, 1481219966100000000)),
        ("x,1481219964.071247696,1481219966.1", Mark("x", 1481219964071247696, 1481219966100000000)),
    ],
)
def test_marks_are_seconds_or_as_their_heading_says(tmp_path, text, expected):
    assert read_marks(written(tmp_path, "m.csv", text)) == [expected]


@pytest.mark.parametrize(
    "text, told",
    [
        ("name,start,end\n", "contains no mark. A mark is a line"),
        ("," * (5 << 20), "has 5,242,880 bytes, and a file of marks 4,194,304 at most"),
        ("a,1,2\nb,2\n", "line 2: 'b 2' is not a mark"),
        ("a,start,end\nb,start,end\n", "line 2: 'b start end' is not a mark"),
        ("a,1,2\nb,2,x\n", "line 2: 'b 2 x' is not a mark"),
        ("a,2,1\n", "line 1: 'a' ends at 1, before it begins"),
        ("…,1,2\n", "line 1: '…' is not a name"),
        ("a,100,200\n", "no complete interval is within any of the 1 marks"),
    ],
)
def test_what_is_no_mark_is_named_and_nothing_imported(tmp_path, text, told):
    files, marks = [written(tmp_path, "raw.txt", recording())], written(tmp_path, "m.csv", text)
    with pytest.raises(record.RecordError, match=told):
        record.import_files("c", files, marks=marks, folder=tmp_path / "in")
    assert not (tmp_path / "in").exists()


def test_times_since_1970_need_a_recording_that_tells_when_it_began(tmp_path):
    perfs = written(tmp_path, "p.csv", golden("perf-6.1/comma.csv"))
    with pytest.raises(record.RecordError, match="contains no start time.*seconds since the recording began"):
        record.import_files("c", [perfs], marks=written(tmp_path, "m.data", MARKS), folder=tmp_path / "in")
    once = written(tmp_path, "once.csv", golden("perf-6.1/once.csv"))
    with pytest.raises(record.RecordError, match="no times"):
        read_recordings([once], {}, marks=[Mark("x", 0, 10**9)])


def test_a_table_tells_its_beginning_by_its_times(tmp_path):
    text = "timestamp,cycles\n" + "".join(f"{1422978316 + 2 * k},{k}\n" for k in range(6))
    assert perf.begin_ns(text) == 1422978314 * 10**9
    marks = written(tmp_path, "m.csv", "x,1422978316,1422978322\n")
    record.import_files("t", [written(tmp_path, "t.csv", text)], marks=marks, folder=tmp_path / "in")
    url = f"sqlite:///{tmp_path}/s.sqlite"
    store.rebuild(tmp_path / "in", url)
    assert store.load(url, "t-x/counts-p0-00").counts["cycles"].to_dict() == {2: 1, 4: 2, 6: 3}


def test_runs_of_two_conditions_are_of_programs_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    for condition, n in (("collocated", 6), ("independent", 7), ("", 8)):
        file = written(tmp_path, f"{n}.txt", recording(n))
        given = ["--condition", condition] if condition else []
        done = CliRunner().invoke(main, ["import", "nfv", *given, str(file)])
        assert done.exit_code == 0 and f"run live -p program={'-'.join(['nfv', *given[1:]])}" in done.stderr
    listed = store.rebuild(tmp_path / "recordings", f"sqlite:///{tmp_path}/s.sqlite")
    assert listed[["program", "condition"]].to_numpy().tolist() == [
        ["nfv", ""],
        ["nfv-collocated", "collocated"],
        ["nfv-independent", "independent"],
    ]
    assert [meta["condition"] for meta in runs(tmp_path / "recordings", "nfv-collocated").values()] == [
        "collocated"
    ]
