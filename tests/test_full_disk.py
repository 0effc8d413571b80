"""A disk that is full, a real one of two megabytes: every writer says so, and leaves nothing half."""

import os
import subprocess
import sys

import pytest

from tests.soft_recordings import ROOT

pytestmark = pytest.mark.full

# A disk of its own, which is gone with the process that it was made for.
MOUNTED = 'mount -t tmpfs -o size=2m none "$1" && cd "$1" && shift && exec "$@"'
BEFORE = """
import os, sys
from pathlib import Path
from cmlib import places
from cmlib.collect import record
from cmlib.collect import sampling as sample_streams
from cmlib.io import samples, store
from cmlib.errors import CmlibError
from tests.small_runs import add_run, store_lines
from tests.soft_recordings import ROOT, make

def fill(left):
    free = os.statvfs(".").f_bavail * os.statvfs(".").f_bsize
    Path("filler").write_bytes(bytes(max(free - left, 0)))

def told(writer, *arguments, **options):
    try:
        writer(*arguments, **options)
    except CmlibError as error:
        print(type(error).__name__, error)
    else:
        print("nothing was wrong")

def left():
    return sorted(str(file) for file in Path(".").rglob("*") if file.is_file() and file.name != "filler")

GOLDEN, STREAM = ROOT / "data/recordings/gcc/ocoe-p0-00.csv.gz", ROOT / "data/samples/gcc-1/software-00.txt.gz"
"""


def on_small_disk(folder, script, **environment):
    """What a script prints that runs in a folder of two megabytes."""
    (folder / "disk").mkdir()
    unshare = ["unshare", "--mount", "--map-root-user", "sh", "-c", MOUNTED, "sh", str(folder / "disk")]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    done = subprocess.run(
        [*unshare, sys.executable, "-c", BEFORE + script], env=environment, capture_output=True, text=True
    )
    if "mount" in done.stderr and not done.stdout:
        pytest.skip(f"no disk can be mounted here, not even in a namespace of its own: {done.stderr.strip()}")
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_a_recording_says_so_before_and_after_the_program(fake_perf, tmp_path):
    said = on_small_disk(
        tmp_path,
        """
fills = ["sh", "-c", "head -c 4000000 /dev/zero > filler 2>/dev/null; sleep 0.05; :"]
told(make, Path("recordings"), command=fills)
told(make, Path("recordings"))
print(left())
""",
    )
    first, second, rest = said.splitlines()
    for line in (first, second):
        assert line.startswith("RecordError could not write to recordings/sleepy/soft-p0-00")
        assert "No space left on device. Runs recorded before are kept" in line
    assert rest == "[]"


def test_import_compression_and_the_store_say_so(tmp_path):
    said = on_small_disk(
        tmp_path,
        """
for number in range(20):
    add_run(Path("recordings"), "p", "ocoe", number, 0, [("x", 1.0)])
before = left()
fill(8192)
told(record.import_files, "app", [GOLDEN], folder="recordings")
print(os.listdir("recordings"))
told(store_lines, STREAM, "lines")
told(store.rebuild, "recordings", "sqlite:///store.sqlite")
print(left() == before)
""",
    )
    imported, programs, compressed, rebuilt, rest = said.splitlines()
    assert imported.startswith("RecordError could not write to ") and "No space left on device" in imported
    assert programs == "['p']"
    assert (
        compressed.startswith("SampleError could not write to ") and "No space left on device" in compressed
    )
    assert rebuilt.startswith("StoreError") and "disk is full" in rebuilt.replace("disk I/O", "")
    assert rest == "True"


@pytest.mark.needs("perf")
def test_sampling_says_so(tmp_path):
    said = on_small_disk(
        tmp_path,
        """
fill(8192)
busy = [sys.executable, "-S", "-c", "for _ in range(60): sum(range(30_000))"]
for sample in (sample_streams.record_samples, sample_streams.record_lines):
    told(sample, busy, ["task-clock", "page-faults"], 20_000, "run")
print(left())
""",
    )
    sampled, lines, rest = said.splitlines()
    for line in (sampled, lines):
        assert line.startswith("SampleError could not write to ") and "No space left on device" in line
    assert rest == "[]"


@pytest.mark.needs("valgrind")
def test_a_simulation_says_so(tmp_path):
    """Valgrind goes on without a word, and leaves counts that are cut off."""
    said = on_small_disk(
        tmp_path,
        """
from cmlib.experiments.simulated_runs import simulate_once
from cmlib.collect.simulate import record_simulated
fill(8192)
told(record_simulated, "app", ["true"], every_blocks=50_000, folder="recordings", notify=lambda text: None)
os.environ["TMPDIR"] = os.getcwd()
told(simulate_once, ["true"])
print(left())
""",
    )
    recorded, once, rest = said.splitlines()
    for line in (recorded, once):
        assert line.startswith("RecordError could not write") and "No space left on device" in line
    assert rest == "[]"
