"""Files that perf wrote elsewhere are taken in as they are, and nothing else is."""

import bz2
import gzip
import json
import lzma
import multiprocessing
import resource
import tracemalloc
from datetime import datetime, timedelta

import pytest
import zstandard

from cmlib import topdown
from cmlib.collect import record
from cmlib.io import events, store
from cmlib.io.archive import programs as archive
from tests.soft_recordings import ROOT, runs


def committed(program, set_name):
    folder = ROOT / "data/recordings" / program
    return {
        run: meta for run, meta in record.existing_runs(folder).items() if meta["set"] == set_name
    }, folder


@pytest.mark.parametrize("program, set_name", [("gcc", "ocoe"), ("wordcount", "mlpx12")])
def test_imported_files_fall_into_their_places(tmp_path, program, set_name):
    known, folder = committed(program, set_name)
    files = [folder / f"{run}.csv.gz" for run in known]
    made = record.import_files("again", files, folder=tmp_path, command="gcc", note="from there")
    assert [file.stem for file in made] == list(known)
    for run, meta in runs(tmp_path, "again").items():
        keys = (
            "set",
            "mode",
            "pass",
            "part",
            "pinned",
            "groups",
            "interval_ms",
            "modifier",
            "date",
            "duration_s",
        )
        assert {key: meta[key] for key in keys} == {key: known[run][key] for key in keys}
        assert meta["imported"] and meta["command"] == "gcc" and set(meta["machine"].values()) == {None}
        assert archive.read_raw(tmp_path / "again", run) == archive.read_raw(folder, run)


def test_a_plain_file_is_kept_byte_for_byte_and_never_twice(tmp_path):
    raw = archive.read_raw(ROOT / "data/recordings/gcc", "ocoe-p0-00")
    (tmp_path / "plain.csv").write_bytes(raw)
    record.import_files("app", [tmp_path / "plain.csv"], folder=tmp_path)
    assert archive.read_raw(tmp_path / "app", "ocoe-p0-00") == raw
    with pytest.raises(record.RecordError, match="plain.csv is app/ocoe-p0-00 already"):
        record.import_files("app", [tmp_path / "plain.csv"], folder=tmp_path)
    assert len(runs(tmp_path, "app")) == 1


def test_an_import_that_can_t_be_written_leaves_nothing(tmp_path):
    files = [ROOT / "tests/golden/perf-6.1/comma.csv", ROOT / "data/recordings/gcc/mlpx12-p0-00.csv.gz"]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        with pytest.raises(record.RecordError, match="could not write to .*File too large"):
            record.import_files("app", files, folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    record.import_files("app", files[:1], folder=tmp_path)
    with pytest.raises(record.RecordError, match="is app/.* already"):
        record.import_files("app", files, folder=tmp_path)
    assert len(runs(tmp_path, "app")) == 1


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lzma.compress, zstandard.compress])
def test_a_packed_file_is_the_same_recording(tmp_path, pack):
    raw = archive.read_raw(ROOT / "data/recordings/gcc", "ocoe-p0-00")
    (tmp_path / "packed").write_bytes(pack(raw))
    record.import_files("app", [tmp_path / "packed"], folder=tmp_path)
    assert archive.read_raw(tmp_path / "app", "ocoe-p0-00") == raw


def test_runs_that_perf_appended_to_a_file_are_as_many_runs(tmp_path):
    file = ROOT / "tests/golden/perf-6.1/appended.csv"
    record.import_files("app", [file], interval_ms=50, folder=tmp_path)
    raws = [archive.read_raw(tmp_path / "app", run) for run in runs(tmp_path, "app")]
    assert raws == [file.read_bytes()] * 2
    assert [meta["selection"] for meta in runs(tmp_path, "app").values()] == [{"runs": [1]}, {"runs": [2]}]
    assert [meta["pass"] for meta in runs(tmp_path, "app").values()] == [0, 1]
    with pytest.raises(record.RecordError, match="appended.csv is app/.* already"):
        record.import_files("app", [file], interval_ms=50, folder=tmp_path)


def test_what_the_doctor_said_there_comes_along(tmp_path):
    about = {"machine": {"model_name": "there"}, "offered_counters": 6, "good_counters": 5, "findings": []}
    files = [ROOT / "data/recordings/gcc/ocoe-p0-00.csv.gz"]
    record.import_files("app", files, about=about, folder=tmp_path)
    (meta,) = runs(tmp_path, "app").values()
    assert (
        meta["machine"]["model_name"] == "there"
        and meta["machine"]["perf"] is None
        and meta["counters"] == {"offered": 6, "good": 5}
    )
    with pytest.raises(record.RecordError, match="another model_name"):
        record.import_files("app", [files[0].with_name("ocoe-p0-01.csv.gz")], folder=tmp_path)
    with pytest.raises(record.RecordError, match="not the output of `cmlib doctor --json`"):
        record.import_files("other", files, about=["nonsense"], folder=tmp_path)


def test_a_start_in_words_nobody_reads_is_unknown(tmp_path):
    raw = archive.read_raw(ROOT / "data/recordings/gcc", "ocoe-p0-00")
    (tmp_path / "plain.csv").write_bytes(raw.replace(b"Sat Nov 21", b"Sa. 21. Nov."))
    record.import_files("app", [tmp_path / "plain.csv"], folder=tmp_path)
    (meta,) = runs(tmp_path, "app").values()
    assert meta["date"] is None and meta["duration_s"] > 18


@pytest.mark.parametrize(
    "content, told",
    [
        (b"1.0,5,,cycles,10,100.00,,\n\x00nonsense\n", "cannot be read"),
        (b"# started on Sat Nov 21 03:00:46 2026\n\n", "cannot be read"),
        (gzip.compress(b"1.0,5,,cycles,10,100.00,,\n", mtime=0)[:-9], "is cut off"),
        (b"\x1f\x8b\x08\0garbage garbage", "cannot be unpacked"),
        (b"PERFILE2h\0\0\0", ".*is perf's own binary format"),
        (b"PK\x03\x04garbage", ".*is an archive"),
        (b"PK\x03\x04".ljust(30, b"\0") + b"[Content_Types].xml", ".*is a spreadsheet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".*is a spreadsheet"),
        *((begin, ".*is a table in a binary format") for begin in (b"PAR1\x15\4", b"\x89HDF\r\n")),
        (b"version https://git-lfs.github.com/spec/v1\noid", ".*is a placeholder of Git LFS"),
        *(
            ("time,cycles\n1,2\n2,3\n".encode(coding), ".*is text in UTF-16 or UTF-32")
            for coding in ("utf-16-le", "utf-16-be", "utf-32")
        ),
        (
            b"x.csv".ljust(257, b"\0") + b"ustar  \0\n1.0,5,,cycles,10,100.00,,\n",
            ".*is an archive",
        ),
        (b"1.0,5,,cycles,10,100.00,,\n" + b"x" * (1 << 21), "has a line of 2,097,152 bytes"),
        (b"\xfd7zXZ\0\0\x04", "is cut off"),
        (b"BZh9garbage garbage", "cannot be unpacked"),
        (b"\x28\xb5\x2f\xfdgarbage", "cannot be unpacked"),
        (
            b"sleep 26786 [001]  9218.512996:     250000 task-clock:u:   7f75ea01ef38 check\n",
            ".*perf script",
        ),
        (
            b"# perf script\n 7663  2750.793695886:      18878        cpu-clock: \n",
            ".*perf script",
        ),
        (
            b"# started\n\n     0.05     0.56 msec task-clock   #    0.011 CPUs utilized\n",
            "cannot be read",
        ),
        (
            b"Some words.\n\ncore BAD  Bad_Speculation.Machine_Clears  % Slots  100.0\n",
            "cannot be read",
        ),
        (b"Some words.\nThey count nothing.\n", "cannot be read"),
        (b"1.000000000,5,,x<img src=y>,10,100.00,,\n", "counts an event named 'x<img"),
        (
            b"1.000000000,5,,x';touch${IFS}PWN;',10,100.00,,\n",
            "counts an event named",
        ),
        (b"1.000000000,5,,a b,10,100.00,,\n", "counts an event named"),
        (b"1.000000000,5,,`b`,10,100.00,,\n", "counts an event named"),
        (b"seconds;cycles\n1;-5\n2;4\n3;4\n", "cannot be read"),
        (b"1.000000000,5,,a\xe2\x80\xaeb,10,100.00,,\n", r"counts an event named 'a\\u202eb'"),
    ],
)
def test_what_is_not_perfs_output_is_not_imported(tmp_path, content, told):
    (tmp_path / "good.csv").write_text(interval("1.000000000", 5, 6) + interval("2.000000000", 5, 6))
    (tmp_path / "bad.csv").write_bytes(content)
    with pytest.raises(record.RecordError, match=f"bad.csv {told}"):
        record.import_files("app", [tmp_path / "good.csv", tmp_path / "bad.csv"], folder=tmp_path)
    assert runs(tmp_path, "app") == {}


def interval(end, *counts, events=("instructions", "cycles")):
    return "".join(f"{end},{n},,{event},10,100.00,,\n" for n, event in zip(counts, events, strict=True))


@pytest.mark.parametrize(
    "text, told",
    [
        (interval("0.000000000", 5, 6) + interval("1.000000000", 5, 6), "intervals of 0 to 1 s"),
        ("".join(interval(f"1.00000000{k}", 5, 6) for k in range(1, 6)), "intervals of 1e-09 to 1 s"),
        (interval("1.000000000", 5, 6) + interval("999999999999.000000000", 5, 6), "1e.12 s"),
        (
            interval("1.000000000", 5, 10**299),
            "counts 1e.299 cycles at once, which is too large for a counter",
        ),
        (interval("1.000000000", *range(481), events=[f"e{k}" for k in range(481)]), "481 events, and a run"),
    ],
)
def test_what_no_counter_and_no_clock_gave_is_refused(tmp_path, text, told):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(record.RecordError, match=told):
        record.import_files("app", [tmp_path / "x.csv"], folder=tmp_path / "in")
    assert runs(tmp_path / "in", "app") == {}


def test_names_of_cgroups_give_no_orders_to_a_terminal(tmp_path):
    (tmp_path / "x.csv").write_text("1.000000000,5,,cycles,a\x1b[31m,10,100.00,,\n")
    record.import_files("app", [tmp_path / "x.csv"], folder=tmp_path / "in")
    (meta,) = runs(tmp_path / "in", "app").values()
    assert meta["note"].isprintable() and meta["program"].isprintable()


def stamp(second):
    return (datetime(2024, 1, 1) + timedelta(seconds=second)).isoformat() + "Z"


N = 1500  # squared, in numbers of eight bytes: 18 MB


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{k}.000000000,5,,r{k:04x},9,80.00,,\n" for k in range(1, N)),
        "".join(f"{k}.000000000,CPU{k},5,,r{k:04x},9,80.00,,\n" for k in range(1, N)),
        "".join(f"{stamp(k)}\n0 ipc;5;6;1\n0 m{k};5;6;1\n" for k in range(N)),
    ],
    ids=["fields", "places", "aperf"],
)
def test_a_table_far_larger_than_its_file_is_refused_before_it_is_made(tmp_path, text):
    (tmp_path / "x.txt").write_text(text)
    events.is_event("x")  # the tables of all events are kept
    tracemalloc.start()
    with pytest.raises(
        record.RecordError, match=r"480 at most|few intervals only|and a run has|1,000 of them"
    ):
        record.import_files("app", [tmp_path / "x.txt"], folder=tmp_path / "in")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 15e6


def test_what_is_given_goes_before_what_is_seen(tmp_path):
    files = [ROOT / "data/recordings/gcc/ocoe-p0-00.csv.gz"]
    record.import_files("app", files, mode="mlpx", set_name="mine", interval_ms=99, folder=tmp_path)
    (meta,) = runs(tmp_path, "app").values()
    assert (meta["run"], meta["mode"], meta["interval_ms"]) == ("mine-p0-00", "mlpx", 99)


@pytest.mark.parametrize("interval_ms", [0, -1, 86_400_001, 10**400])
def test_an_interval_out_of_range_is_not_imported(tmp_path, interval_ms):
    files = [ROOT / "data/recordings/gcc/ocoe-p0-00.csv.gz"]
    with pytest.raises(record.RecordError, match="an interval has 1 to 86,400,000 ms"):
        record.import_files("app", files, interval_ms=interval_ms, folder=tmp_path)
    assert runs(tmp_path, "app") == {}


@pytest.mark.slow
def test_imports_at_the_same_time_take_different_names(tmp_path):
    raw = archive.read_raw(ROOT / "data/recordings/gcc", "ocoe-p0-00")
    files = [tmp_path / f"{number}.csv" for number in range(2)]
    for number, file in enumerate(files):
        file.write_bytes(raw + b"#" * number + b"\n")
    spawn = multiprocessing.get_context("spawn")
    all_of_them = [
        spawn.Process(target=record.import_files, args=("app", [file]), kwargs={"folder": tmp_path / "all"})
        for file in files
    ]
    for one in all_of_them:
        one.start()
    for one in all_of_them:
        one.join()
    assert [one.exitcode for one in all_of_them] == [0] * 2
    kept = {archive.read_raw(tmp_path / "all/app", run) for run in runs(tmp_path / "all", "app")}
    assert kept == {file.read_bytes() for file in files}


def test_an_event_listed_twice_is_read_twice_and_keeps_its_second_reading_under_another_name(tmp_path):
    rows = [
        f"{end}.000000000,{count},,{event},1000,{share}.00,,\n"
        for end in (1, 2, 3)
        for count, event, share in [
            (70, "INST_RETIRED.ANY", 50),
            (9, "branches", 50),
            (74, "INST_RETIRED.ANY", 40),
        ]
    ]
    (tmp_path / "twice.csv").write_text("".join(rows))
    record.import_files("app", [tmp_path / "twice.csv"], folder=tmp_path / "recordings")
    store.rebuild(tmp_path / "recordings", url := f"sqlite:///{tmp_path}/store.db")
    run = store.load(url, "app/mlpx1-p0-00")
    assert run.meta["encodings"] == {"branches": "branches", "instructions#2": "INST_RETIRED.ANY"}
    assert store.runs(url)["events"][0] == ("instructions", "branches")
    assert run.counts["instructions"].tolist() == [70.0] * 3
    assert run.counts_again["instructions#2"].tolist() == [74.0] * 3
    assert run.running_again["instructions#2"].tolist() == [0.4] * 3


def test_zeros_of_events_without_a_turn_are_not_counted_in_the_recording(tmp_path):
    """Programs that were over before the last events of the list had their turn, as a tool without shares prints it."""
    names = ["cycles", "instructions", "branches", "branch-misses", "cache-misses"]
    rows = [[n + 7 if k < 2 + n % 3 or n >= 30 else 0 for k in range(5)] for n in range(40)]
    file = tmp_path / "many.csv"
    file.write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]) + "\n")
    (made,) = record.import_files("many", [file], folder=tmp_path / "in")
    meta = record.existing_runs(made.parent)[made.stem]
    assert meta["zeros_uncounted"] and "branches, branch-misses, cache-misses" in meta["note"]
    url = f"sqlite:///{tmp_path}/store.sqlite"
    store.rebuild(tmp_path / "in", url)
    run = store.load(url, f"many/{made.stem}")
    assert run.counts.isna().sum().tolist() == [0, 0, 10, 20, 30]
    assert (run.running.to_numpy()[run.counts.isna()] == 0).all() and run.kind == "shares not known"
    told = topdown.summarize("many", [run.whole()])
    assert told["counted"] is None and not any("less than" in remark for remark in told["remarks"])


def test_a_remark_about_thousands_of_columns_is_abridged(tmp_path):
    heading = "time,cycles," + ",".join(f"no_event_of_ours_{number}" for number in range(4000))
    (tmp_path / "wide.csv").write_text("\n".join([heading, *(f"{row}{',1' * 4001}" for row in range(1, 9))]))
    (file,) = record.import_files("app", [tmp_path / "wide.csv"], folder=tmp_path)
    note = json.loads(file.read_text(encoding="utf-8"))["note"]
    assert "no_event_of_ours_0, " in note and len(note) < 5000
