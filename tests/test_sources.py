"""Files of any format become recordings: by program, kind of core, run and list of events; stored whole, read again."""

import contextlib
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cmlib import experiments
from cmlib.cli import main
from cmlib.errors import UnfitRecordingError
from cmlib.io import store
from cmlib.io.archive.programs import RecordError
from cmlib.io.formats.long_table import LongTable
from cmlib.io.formats.readings import FormatError, ReadOptions
from cmlib.io.formats.registry import formats, read_counts
from cmlib.io.imports import import_files
from cmlib.io.meaning.selection import Selection, select
from cmlib.io.meaning.stored import derive_series, read_stored
from cmlib.io.sources import read_recordings
from cmlib.topdown.run_levels import interval_lengths
from cmlib.topdown.summary import build_summary
from tests.perf_output import EMON, GOLDEN, golden

ROOT = Path(__file__).resolve().parents[1]
CLOUDSUITE = golden("elsewhere/cloudsuite-x5650.csv")


def write(folder, name, text):
    file = folder / name
    file.write_text(text)
    return file


def rebuild(folder):
    url = f"sqlite:///{folder}/s.sqlite"
    store.rebuild(folder / "in", url)
    return url


def table(command, counts, seconds):
    rows = "".join(f"     {count:,}      {event}\n" for event, count in counts.items())
    return f"\n Performance counter stats for '{command}':\n\n{rows}\n       {seconds:.9f} seconds time elapsed\n\n"


@pytest.fixture(scope="module")
def stored_samples(tmp_path_factory):
    """The URL of a store of all formats' samples, and the metadata files of each that has counts."""
    folder, made = tmp_path_factory.mktemp("samples"), {}
    for name, known in formats().items():
        with contextlib.suppress(RecordError):
            made[name] = import_files(f"app-{name}", [ROOT / known.sample], folder=folder / "in")
    return rebuild(folder), made


@pytest.mark.parametrize("name", formats())
def test_every_sample_is_read_stored_whole_and_read_again(name, stored_samples):
    url, files = stored_samples
    made = files.get(name, [])
    try:
        recordings = read_recordings([ROOT / formats()[name].sample], {})
    except RecordError as error:
        assert "no counts" in str(error) and not made  # shares that are not of level 1
        return
    assert len(made) == len(recordings)
    for meta_file, recording in zip(made, recordings, strict=True):
        meta = json.loads(meta_file.read_text())
        assert meta["format"] == name
        run = store.load(url, f"{meta_file.parent.name}/{meta_file.stem}")
        both = [*run.counts, *run.counts_again]
        assert sorted(both) == sorted(recording.counts)
        np.testing.assert_array_equal(run.counts, recording.counts[list(run.counts)])
        np.testing.assert_array_equal(run.running, recording.running[list(run.running)])


def test_a_file_of_many_programs_is_as_many_recordings(tmp_path):
    file = write(
        tmp_path, "t.txt", table("./a 1", {"cycles": 5}, 2.0) + table("/bin/b x", {"cycles": 7}, 3.0)
    )
    made = import_files("app", [file], folder=tmp_path / "in")
    assert [one.parent.name for one in made] == ["app-a", "app-b"]
    run = store.load(rebuild(tmp_path), f"app-b/{made[1].stem}")
    assert run.counts["cycles"].tolist() == [7]
    assert run.interval_s.tolist() == [3.0] and run.counts["duration_time"].tolist() == [3e9]


def test_a_file_is_read_once_for_all_its_programs(tmp_path, monkeypatch):
    """Each program is stored with the whole file; reading that once per program would take quadratic time."""
    rows = "".join(f"p{n},cycles,{100 + n}\np{n},instructions,{200 + n}\n" for n in range(20))
    file = write(tmp_path, "many.csv", f"program,event,value\n{rows}")
    recordings = read_recordings([file], {})
    calls = []
    read = LongTable.read
    monkeypatch.setattr(LongTable, "read", lambda text, options: calls.append(text) or read(text, options))
    for number, recording in enumerate(recordings):
        stored = read_stored(recording.raw, recording.facts | {"imported": True})
        assert stored.counts["cycles"].tolist() == [100 + number]
    assert len(recordings) == 20 and len(calls) <= 2


def test_whole_runs_of_several_files_are_put_together_by_program(tmp_path):
    files = [write(tmp_path, f"{n}.txt", table("./a 1", {"cycles": n}, n)) for n in (5, 6, 5)]
    (made,) = import_files("app", files, folder=tmp_path / "in")
    run = store.load(rebuild(tmp_path), f"app/{made.stem}")
    assert run.counts["cycles"].tolist() == [5, 6]  # the third file is a copy
    assert run.interval_s.tolist() == [5, 6]


def test_runs_of_one_file_in_one_program_keep_the_file_once(tmp_path):
    text = golden("perf-6.1-zen5/mlpx.csv")
    file = write(tmp_path, "appended.csv", text + text.replace("83411798", "83411799"))
    made = import_files("app", [file], folder=tmp_path / "in")
    assert len(made) == 2
    contents = [one.with_suffix(".csv.gz") for one in made]
    assert os.path.samefile(*contents)
    first, second = (store.load(rebuild(tmp_path), f"app/{one.stem}") for one in made)
    assert not first.counts.equals(second.counts)
    with pytest.raises(RecordError, match="already; nothing was imported"):
        import_files("app", [file], folder=tmp_path / "in")


def test_kinds_of_core_are_programs_of_their_own(tmp_path):
    """A table with decimal commas of five runs."""
    file = GOLDEN / "elsewhere/hybrid-r5.txt"
    made = import_files("app", [file], folder=tmp_path / "in")
    assert [one.parent.name for one in made] == ["app-cpu_core", "app-cpu_atom"]  # what ran most is first
    run = store.load(rebuild(tmp_path), f"app-cpu_core/{made[0].stem}")
    assert run.counts[["instructions", "cycles"]].to_numpy().tolist() == [[13148396527, 15433140732]]
    assert run.counts["context-switches"].tolist() == [856] and run.interval_s.tolist() == [3.4814]
    assert run.running["cycles"].iloc[0] == pytest.approx(0.9963)
    one = import_files("other", [file], place="cpu_atom", folder=tmp_path / "in")
    assert [meta_file.parent.name for meta_file in one] == ["other-cpu_atom"]


def test_what_is_imported_of_a_table_is_what_the_store_holds(tmp_path):
    file = write(tmp_path, "emon.csv", EMON)
    (made,) = import_files("blackscholes", [file], interval_ms=10, folder=tmp_path / "in")
    meta = json.loads(made.read_text())
    assert meta["names"] == {"INST_RETIRED.ANY": "instructions"} and meta["pinned"] == ["instructions"]
    assert meta["running_shares"] is False and "INST_RETIRED.ANY is taken for instructions." in meta["note"]
    run = store.load(rebuild(tmp_path), f"blackscholes/{made.stem}")
    assert run.counts.columns.tolist() == ["instructions", "L2_RQSTS.MISS"]
    assert run.interval_s.tolist() == [0.01, 0.01]


def test_chosen_columns_are_kept_and_levels_are_their_own_rates(tmp_path):
    """Power of a CloudSuite run; the interval is 2 s."""
    file = write(tmp_path, "c.csv", CLOUDSUITE)
    columns = {"powerWatts": "level", "contexts": "count"}
    made = import_files("graph", [file], columns=columns, folder=tmp_path / "in")
    run = store.load(rebuild(tmp_path), f"graph/{made[0].stem}")
    assert (run.counts["powerWatts"] / run.interval_s).tolist() == [200.5, 199.5, 200.5, 200, 200.5]
    assert run.counts["contexts"].iloc[0] == 10292.5 and run.meta["columns"] == columns


def test_a_run_of_an_earlier_version_is_read_or_says_how_to_import_it_again():
    text = golden("perf-6.1-zen5/mlpx.csv").encode()
    assert read_stored(text, {}).counts.shape == (3, 14)
    assert read_stored(text, {"imported": True, "interval_ms": 100}).counts.shape == (3, 14)
    for meta in ({"start_s": 1.0}, {"axis": "runs"}, {}):
        with pytest.raises(FormatError, match="cmlib import"):
            content = text if meta.get("start_s") else b"| cycles | 5 |\n"
            read_stored(content, {"imported": True, "program": "p", "run": "r", **meta})


def test_processor_times_are_kept(tmp_path):
    (recording,) = read_recordings([GOLDEN / "trials/waits.txt"], {})
    assert recording.facts["user_s"] == [0.112] and recording.facts["system_s"] == [0.4003]


def test_a_format_can_be_named_and_an_unknown_one_is_refused(tmp_path):
    file = str(GOLDEN / "perf-6.1-zen5/mlpx.csv")
    named = CliRunner().invoke(main, ["summarize", file, "--format", "perf-csv"])
    other = CliRunner().invoke(main, ["summarize", file, "--format", "perf-json"])
    unknown = CliRunner().invoke(main, ["summarize", file, "--format", "perf-xml"])
    assert named.exit_code == 0 and other.exit_code == 2
    assert unknown.exit_code == 2 and "perf-csv" in unknown.output


EVENTS = ["instructions", "cycles", "page-faults", "L1-dcache-load-misses", "branches"]
READING = st.tuples(st.integers(0, 10**10), st.sampled_from([0.0, 0.01, 0.25, 1 / 3, 0.9, 1.0]))
INTERVALS = st.lists(
    st.tuples(
        st.floats(0.01, 2), st.booleans(), st.lists(READING, min_size=len(EVENTS), max_size=len(EVENTS))
    ),
    min_size=2,
    max_size=8,
)


def as_perf_csv(intervals):
    """Write intervals as `perf stat -x,` does: events with a share of 0 waited, and those of a process that slept
    have a time on the counter of 0."""
    lines = []
    end = 0.0
    for length, slept, readings in intervals:
        end += length
        for event, (count, share) in zip(EVENTS, readings, strict=True):
            value, on_counter_ns, percent = str(count), round(1e9 * length * share), f"{100 * share:.2f}"
            if slept:
                value, on_counter_ns, percent = "<not counted>", 0, "100.00"
            elif share == 0:
                value = "<not counted>"
            lines.append(f"{end:.9f},{value},,{event},{on_counter_ns},{percent},,\n")
    return "".join(lines)


@given(INTERVALS)
def test_a_total_divided_by_the_seconds_is_every_rate(intervals):
    """The law for all recordings, also of a process that slept and of events that waited for a counter."""
    _, readings = read_counts(as_perf_csv(intervals))
    derived = derive_series(select(readings, Selection()))
    summary = build_summary("x", [(derived.counts, derived.running)])
    levels, totals = summary.medians.levels, summary.medians.counts
    if "instructions" in levels:
        assert levels["instructions a second"] == pytest.approx(levels["instructions"] / levels["seconds"])
        assert levels["instructions"] == pytest.approx(totals["instructions"])
    if "cycles" in levels:
        assert levels["cycles"] == pytest.approx(totals["cycles"])
    if "faults" in levels:
        assert levels["faults"] == pytest.approx(totals["page-faults"] / levels["seconds"])
    lengths = pd.Series(interval_lengths(derived.counts), derived.counts.index)
    for event, total in totals.items():
        seen = derived.counts[event].notna()
        rate = derived.counts[event].sum() / lengths[seen].sum()
        assert total / levels["seconds"] == pytest.approx(rate)


@pytest.mark.slow
def test_from_twenty_runs_on_what_varies_over_runs_is_studied(tmp_path, monkeypatch):
    """A program whose misses decide its IPC, and another with a run less."""
    rng = np.random.default_rng(1)
    runs = [
        table("./app", {"cycles": 10**9 + 100 * n, "instructions": 10**9, "branch-misses": n}, 1.0 + n / 1e7)
        for n in (rng.integers(1, 2, 40) * 10**6 + rng.integers(0, 10**6, 40)).tolist()
    ]
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    for name, some in (("app", runs), ("few", runs[:19])):
        file = write(tmp_path, f"{name}.txt", "".join(some))
        done = CliRunner().invoke(main, ["import", name, str(file)])
        assert done.exit_code == 0 and "Counts are totals of" in done.output
    url = f"sqlite:///{tmp_path}/s.sqlite"
    store.rebuild(tmp_path / "recordings", url)
    _, target = experiments.choose_target(url, "app")
    data = experiments.recorded_matrix(url, "app", target)
    assert data.X.index.name == "run" and len(data.X) == 40
    assert abs(data.X["branch-misses"].corr(data.ipc)) > 0.99
    with pytest.raises(UnfitRecordingError, match="19"):
        experiments.choose_target(url, "few")


def test_columns_are_chosen_in_a_table_without_a_known_event():
    file = GOLDEN / "trials/no-events.csv"
    with pytest.raises(RecordError, match="--count"):
        read_recordings([file], {})
    options = ReadOptions(columns={"lines-silent": "count"})
    recordings = read_recordings([file], {}, options=options)
    assert all("lines-silent" in recording.counts for recording in recordings)


def test_a_damaged_row_of_a_known_format_is_named(tmp_path):
    """The advice on texts of no format does not replace it."""
    table = tmp_path / "falling.csv"
    table.write_text("time_s,cycles,instructions\n" + "1,2,3\n" * 40)
    with pytest.raises(RecordError, match="line 3: column 'time_s'"):
        read_recordings([table], {})


@pytest.mark.parametrize("name", ["$(rm -rf x)", "a;b`c`", "x'y", "a b", "\x1b[31mred", "cyc\u202eles"])
@pytest.mark.parametrize(
    "text",
    [
        "     1.000000000,5,,{},1000000000,100.00,,\n     1.000000000,5,,cycles,1000000000,100.00,,\n",
        "program,event,value\np,{},3\np,cycles,5\n",
    ],
)
def test_names_that_no_tool_gives_are_not_read(tmp_path, text, name):
    file = write(tmp_path, "named.txt", text.format(name))
    with pytest.raises(RecordError, match="letters that perf does not use"):
        read_recordings([file], {})
