"""Folders that come from elsewhere: links, FIFOs, devices and bombs in them are refused, and lead nowhere."""

import bz2
import gzip
import json
import lzma
import multiprocessing
import os
import resource
import socket
import stat
import struct
import sys
import zlib
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import zstandard
from click.testing import CliRunner

from cmlib.cli import main
from cmlib.collect import record
from cmlib.collect import sampling as sample_streams
from cmlib.errors import CmlibError
from cmlib.experiments.cache import cached
from cmlib.io import archive, regions, samples, store
from cmlib.io.archive import ArchiveError, files, write_whole
from cmlib.io.regions import load_recording
from cmlib.report.manifests import read_manifests
from cmlib.report.run import lock_results
from tests.processes import processes, wait_until
from tests.small_runs import add_run, store_lines
from tests.soft_recordings import ROOT, make, runs

KINDS = ["fifo", "device", "socket", "folder"]


def put_in_place(file, kind):
    """Replace a file by something that is no file; a device by a link to one, which nobody needs rights for."""
    file.unlink()
    put = {
        "fifo": os.mkfifo,
        "device": lambda path: path.symlink_to("/dev/zero"),
        "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
        "folder": os.mkdir,
    }
    put[kind](file)


# --- read


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".json", ".csv.gz"])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path, kind, suffix):
    file = add_run(tmp_path / "recordings", "p", "ocoe", 0, 0, [("x", 1.0)]).with_suffix(suffix)
    put_in_place(file, kind)
    told = rf"ocoe-p0-00\{suffix} cannot be read: it is not a regular file"
    with pytest.raises(store.StoreError, match=told):
        store.rebuild(tmp_path / "recordings", f"sqlite:///{tmp_path}/s.sqlite")
    with pytest.raises(record.RecordError, match=told):
        record.import_files("p", [ROOT / "tests/golden/perf-6.1/comma.csv"], folder=tmp_path / "recordings")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["", "-journal", "-wal"])
def test_what_is_no_file_in_the_store_s_place_is_refused_and_not_waited_for(tmp_path, kind, suffix):
    recordings, url = tmp_path / "recordings", f"sqlite:///{tmp_path}/s.sqlite"
    add_run(recordings, "p", "ocoe", 0, 0, [("x", 1.0)])
    store.rebuild(recordings, url)
    place = tmp_path / f"s.sqlite{suffix}"
    place.touch()
    put_in_place(place, kind)
    for use in (partial(store.rebuild, recordings), partial(store.refresh, recordings), store.runs):
        with pytest.raises(store.StoreError, match=f"{place.name} cannot be read: it is not a regular file"):
            use(url=url)
    assert place.exists() and not place.is_file()


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_lock_of_results_is_refused_and_not_waited_for(tmp_path, kind):
    (tmp_path / ".lock").touch()
    put_in_place(tmp_path / ".lock", kind)
    with pytest.raises((CmlibError, IsADirectoryError)), lock_results(tmp_path):
        pass


def test_results_that_are_no_files_are_named_as_damaged_and_not_waited_for(tmp_path):
    (tmp_path / "01_small").mkdir()
    (tmp_path / "01_small/01_small.ipynb").touch()
    os.mkfifo(tmp_path / "01_small/manifest.json")
    (damaged,) = read_manifests(tmp_path).damaged
    assert damaged["notebook"] == "01_small" and "it is not a regular file" in damaged["message"]
    os.mkfifo(tmp_path / "02_small.not_run.json")
    with pytest.raises(ArchiveError, match="it is not a regular file"):
        read_manifests(tmp_path)


def test_a_cached_table_that_is_no_file_is_computed_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_RESULTS", str(tmp_path))
    frame = pd.DataFrame({"x": [1.0]})
    cached(["one"], lambda: {"table": frame})
    (file,) = tmp_path.rglob("*.parquet")
    put_in_place(file, "fifo")
    (lock,) = tmp_path.rglob(".lock")
    put_in_place(lock, "fifo")
    assert cached(["one"], lambda: {"table": 2 * frame})["table"].equals(2 * frame)
    assert file.is_file()


@pytest.mark.parametrize("file", ["/proc/self/pagemap", "/proc/self/mem", "/proc/self/status"])
@pytest.mark.parametrize("read", [archive.read_file, lambda file: archive.digest(file)])
def test_files_of_the_kernel_s_which_may_not_end_are_refused(tmp_path, file, read):
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(
        ArchiveError, match="link cannot be read: it is not a regular file, .* or a kernel file"
    ):
        read(tmp_path / "link")


def test_a_fifo_is_not_imported(tmp_path):
    os.mkfifo(tmp_path / "fifo.csv")
    with pytest.raises(record.RecordError, match="it is not a regular file"):
        record.import_files("p", [tmp_path / "fifo.csv"], folder=tmp_path)
    golden = str(ROOT / "tests/golden/perf-6.1/comma.csv")
    done = CliRunner().invoke(main, ["import", "p", "--machine", str(tmp_path / "fifo.csv"), golden])
    assert done.exit_code == 2 and "it is not a regular file" in done.output


@pytest.mark.parametrize("suffix", [".json", ".txt.gz"])
def test_streams_and_regions_that_are_no_files_are_refused(tmp_path, suffix):
    stream = tmp_path / f"run{suffix}"
    (tmp_path / "run.json").write_text(json.dumps({"sha256": "0", "events": ["a", "b"]}))
    (tmp_path / "run.txt.gz").write_bytes(gzip.compress(b""))
    put_in_place(stream, "device")
    with pytest.raises(CmlibError, match="it is not a regular file"):
        sample_streams.read_samples(tmp_path / "run.txt.gz")
    if suffix == ".json":
        with pytest.raises(CmlibError, match="it is not a regular file"):
            load_recording(stream)


def test_a_file_is_read_through_a_link_as_some_tools_keep_them(tmp_path):
    file = add_run(tmp_path / "recordings", "p", "ocoe", 0, 0, [("x", 1.0)]).with_suffix(".csv.gz")
    file.rename(tmp_path / "content")
    file.symlink_to(tmp_path / "content")
    assert len(store.rebuild(tmp_path / "recordings", f"sqlite:///{tmp_path}/s.sqlite")) == 1


def bomb(mebibytes):
    """A gzip file of so many mebibytes of zeros, a thousandth as long."""
    block = gzip.compress(bytes(1 << 20), mtime=0)
    return block * mebibytes


@pytest.fixture
def little_memory(monkeypatch):
    """A mebibyte is what a file may unpack to, however short it is, so that a bomb can be a small one."""
    monkeypatch.setattr(files, "_ALWAYS", 1 << 20)


def test_a_bomb_is_refused_with_its_numbers(tmp_path, little_memory):
    content = bomb(3)
    (tmp_path / "bomb.csv.gz").write_bytes(content)
    numbers = rf"its {len(content):,} bytes unpack to more than [\d,]+"
    with pytest.raises(record.RecordError, match=numbers):
        record.import_files("p", [tmp_path / "bomb.csv.gz"], folder=tmp_path)
    lines = gzip.compress((b"x" * 65535 + b"\n") * 16, mtime=0) * 3
    for content in (bomb(3), lines):
        (tmp_path / "bomb.txt.gz").write_bytes(content)
        with pytest.raises(samples.SampleError, match="unpack to more than"):
            sample_streams.read_samples(tmp_path / "bomb.txt.gz", ["a", "b"])


@pytest.mark.parametrize("pack", [bz2.compress, partial(lzma.compress, preset=0), zstandard.compress])
def test_a_bomb_of_another_kind_is_refused_before_it_fills_memory(tmp_path, little_memory, pack):
    (tmp_path / "bomb").write_bytes(pack(bytes(2 << 20)))
    with pytest.raises(record.RecordError, match=r"unpack to more than 1,048,576"):
        record.import_files("p", [tmp_path / "bomb"], folder=tmp_path)


def test_a_file_that_asks_for_more_memory_than_there_is_is_refused(tmp_path):
    packed = bytearray(lzma.compress(b"1.0,5,,cycles,10,100.00,,\n"))
    packed[packed.index(b"\x21\x01", 12) + 2] = 40  # the size of its dictionary: 4 GiB
    end = 12 + 4 * packed[12]
    packed[end : end + 4] = struct.pack("<I", zlib.crc32(packed[12:end]))
    (tmp_path / "asks.xz").write_bytes(packed)
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (int(4e9), before[1]))
    try:
        with pytest.raises(ArchiveError, match="asks.xz cannot be unpacked: it asks for too much memory"):
            archive.decompress(bytes(packed), tmp_path / "asks.xz")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_what_packs_as_well_as_perf_s_output_is_no_bomb(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "_ALWAYS", 1000)
    content = os.urandom(50) * 1000
    assert archive.unpack(archive.pack(os.urandom(5000) + content), tmp_path)[-50_000:] == content
    with pytest.raises(ArchiveError, match="1,003 bytes unpack to more than 100,300"):
        archive.unpack(archive.pack(bytes(1_000_000)), tmp_path)
    monkeypatch.setattr(files, "_AT_MOST", 50_000)
    with pytest.raises(ArchiveError, match="unpack to more than 50,000"):
        archive.unpack(archive.pack(os.urandom(1000) + bytes(60_000)), tmp_path)
    monkeypatch.undo()
    for file in (ROOT / "data/recordings").glob("*/*-p0-00.csv.gz"):
        assert len(archive.unpack(file.read_bytes(), file)) < 20 * file.stat().st_size


def test_a_file_too_large_to_be_one_is_refused(tmp_path):
    with open(tmp_path / "sparse.json", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ArchiveError, match=r"it has 1,099,511,627,776 bytes, and 67,108,864 are the most"):
        archive.read_object(tmp_path / "sparse.json", "anything", "")
    with pytest.raises(ArchiveError, match=r"and 536,870,912 are the most"):
        archive.read_file(tmp_path / "sparse.json")


# --- written


@pytest.fixture
def outside(tmp_path):
    """A file that nothing may change."""
    file = tmp_path / "outside"
    file.write_text("years of work")
    yield file
    assert file.read_text() == "years of work"


def test_links_in_a_received_folder_lead_nowhere(fake_perf, tmp_path, outside):
    folder = tmp_path / "recordings"
    (folder / "sleepy").mkdir(parents=True)
    for name in (".lock", "sleepy/soft-p0-00.csv.gz.partial", "sleepy/soft-p0-00.json.partial"):
        (folder / name).symlink_to(outside)
    (folder / "sleepy/soft-p0-00.csv.gz").symlink_to(outside)
    (folder / "sleepy/soft-p0-01.partial").symlink_to(tmp_path)
    make(folder)
    assert not (folder / "sleepy/soft-p0-00.csv.gz").is_symlink() and len(runs(folder)) == 2


def test_a_program_s_folder_that_is_a_link_is_not_written_to(fake_perf, tmp_path):
    (tmp_path / "recordings").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "recordings/sleepy").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(record.RecordError, match=r"sleepy is a link to .*elsewhere"):
        make(tmp_path / "recordings")
    with pytest.raises(record.RecordError, match=r"sleepy is a link to .*elsewhere"):
        files = [ROOT / "tests/golden/perf-6.1/comma.csv"]
        record.import_files("sleepy", files, folder=tmp_path / "recordings")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_fifo_or_a_socket_is_not_replaced_by_a_page(tmp_path, monkeypatch):
    """As root this replaced /dev/null, for all programs of the machine."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    (tmp_path / "history.csv").write_text("commit,m\n" + "".join(f"{k},{k}\n" for k in range(20)))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for name, is_there in (("fifo", Path.is_fifo), ("socket", Path.is_socket)):
            done = CliRunner().invoke(main, ["compare", "--history", "history.csv", "--page", name])
            assert done.exit_code == 2 and f"{name} is a device, a FIFO or a socket" in done.output
            assert is_there(Path(name))
    os.symlink("/dev/null", "link")
    with pytest.raises(ArchiveError, match="link is a device"):
        write_whole("link", "page")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "history.csv", "link", "socket"]


def test_samples_are_not_written_through_links(tmp_path, outside):
    stream = ROOT / "tests/golden/samples/perf_script_pipe.txt.gz"
    for name in ("lines.csv", "lines.csv.partial", "lines.json.partial"):
        (tmp_path / name).symlink_to(outside)
    store_lines(stream, tmp_path / "lines", ["task-clock", "page-faults", "context-switches"])
    assert not (tmp_path / "lines.csv").is_symlink()


def test_regions_are_not_written_through_links(tmp_path, outside):
    from cmlib.io.regions import save_recording

    for name in ("r.json", "r.csv.gz", "r.json.partial", "r.csv.gz.partial"):
        (tmp_path / name).symlink_to(outside)
    save_recording(tmp_path / "r.json", ["# run=0\n"], {"program": "p", "events": [], "machine": {}})
    assert not (tmp_path / "r.json").is_symlink() and not (tmp_path / "r.csv.gz").is_symlink()


# --- killed


BUSY = [sys.executable, "-S", "-c", "for _ in range(60): sum(range(30_000))"]
ENDLESS = ["sh", "-c", "while :; do :; done; : 76.54321"]


@pytest.mark.needs("perf")
@pytest.mark.parametrize("compress", [None, {}], ids=["samples", "lines"])
def test_sampling_that_is_killed_leaves_nothing_running_and_what_it_leaves_is_removed(
    tmp_path, monkeypatch, compress
):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    folder = tmp_path / "samples/p"
    group, how = ["task-clock", "page-faults"], {"period": 100_000, "compress": compress}
    sampling = multiprocessing.get_context("spawn").Process(
        target=sample_streams.record_stream, args=("p", ENDLESS, group), kwargs=how
    )
    sampling.start()
    begun = wait_until(lambda: any(file.stat().st_size for file in folder.glob("*/*")))
    running = processes("76.54321")
    sampling.kill()
    sampling.join()
    assert begun and len(running) >= 2 and wait_until(lambda: not processes("76.54321"))
    (left,) = folder.iterdir()
    assert left.suffix == ".partial"
    out, _ = sample_streams.record_stream("p", BUSY, group, **how)
    assert {file.name.partition(".")[0] for file in folder.iterdir()} == {out.name}
    assert not list(folder.glob("*.partial"))


@pytest.mark.parametrize("read", [regions.read_regions, archive.read_file])
def test_a_table_that_is_no_file_is_not_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "fifo.csv")
    with pytest.raises(CmlibError, match="it is not a regular file"):
        read(tmp_path / "fifo.csv")
