"""Damaged and hostile files: each is read or refused with a reason, in bounded time and memory. By hand: make fuzz

python benchmarks/fuzz.py [--mutants 20000] [--seed 0] [--seconds 20] [--megabytes 700] [--keep FOLDER] [SEED_FILE…]

Mutants are made of each format's sample, of the real files under tests/golden and in CMLIB_PUBLIC (../shared/public if
not set), or of files that are named; as many of each dialect. A worker process reads each as `cmlib import` and the
stored recording's reader do, with limits that the kernel holds. What ends otherwise than read or refused, or exceeds a
limit, is kept in FOLDER (a new temporary one), and the exit code is 1.
"""

import argparse
import collections
import contextlib
import gzip
import lzma
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import zlib
from pathlib import Path

import numpy as np
from mutants import LONGEST_SEED, mutant

from cmlib.compare import histories
from cmlib.errors import CmlibError
from cmlib.io import callgrind, regions
from cmlib.io.archive import in_recording
from cmlib.io.formats import registry
from cmlib.io.marks import read_marks
from cmlib.io.meaning.stored import read_stored
from cmlib.io.samples import SampleReader
from cmlib.io.samples.perf_script import read_text
from cmlib.io.sources import read_recordings

_PER_DIALECT = 25  # files


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="SEED_FILE")
    parser.add_argument("--mutants", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0, help="of processor time a mutant")
    parser.add_argument("--megabytes", type=int, default=700, help="of memory a mutant")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    seeds = _seeds(options.files or _found())
    if not seeds:
        sys.exit("no file to make mutants of: set CMLIB_PUBLIC, or name files.")
    keep = options.keep or Path(tempfile.mkdtemp(prefix="cmlib-fuzz-"))
    keep.mkdir(parents=True, exist_ok=True)
    sys.exit(_fuzz(seeds, options, keep))


def _fuzz(seeds, options, keep):
    chance = random.Random(options.seed)
    dialects = sorted(seeds)
    outcomes, longest, largest = collections.defaultdict(collections.Counter), {}, {}
    began, total = time.perf_counter(), 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        _Worker(options) as worker,
        contextlib.suppress(KeyboardInterrupt),  # what was read until then is told
    ):
        target = Path(folder) / "mutant"
        for number in range(options.mutants):
            dialect = dialects[number % len(dialects)]
            content = mutant(chance, chance.choice(seeds[dialect]), seeds)
            target.write_bytes(content)
            outcome, seconds, megabytes, told = worker.read(dialect, target)
            outcomes[dialect][outcome] += 1
            if number and number % 500 == 0:
                print(f"{number} mutants, {time.perf_counter() - began:.0f} s", file=sys.stderr)
            total += seconds
            longest[dialect] = max(seconds, longest.get(dialect, 0.0))
            largest[dialect] = max(megabytes, largest.get(dialect, 0.0))
            if outcome not in ("read", "refused"):
                kept = keep / f"{options.seed}-{number}-{zlib.crc32(content):08x}"
                kept.write_bytes(content)
                kept.with_suffix(".txt").write_text(f"{dialect}: {outcome}\n{told}", encoding="utf-8")
                print(f"{kept}: {dialect}: {outcome}: {told.strip().splitlines()[-1:]}", flush=True)
    print(f"{'dialect':40} {'read':>6} {'refused':>8} {'failed':>7} {'s at most':>10} {'MB at most':>11}")
    for dialect in dialects:
        n = outcomes[dialect]
        failed = n.total() - n["read"] - n["refused"]
        print(
            f"{dialect:40} {n['read']:6} {n['refused']:8} {failed:7} {longest.get(dialect, 0):10.2f} "
            f"{largest.get(dialect, 0):11.0f}"
        )
    n = sum(outcomes.values(), collections.Counter())
    failed = n.total() - n["read"] - n["refused"]
    print(
        f"{n.total()} mutants, seed {options.seed}: {n['read']} read, {n['refused']} refused, {failed} failed"
        + (f" and are kept in {keep}" if failed else "")
        + f"; {n.total() / (time.perf_counter() - began):.0f} a second, of processor time {n.total() / total:.0f}"
    )
    return int(failed > 0)


class _Worker:
    """Process that reads mutants. It is restarted after a limit has ended it."""

    def __init__(self, options):
        self._options, self._process = options, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end()

    def read(self, dialect, file):
        """Return the outcome, the processor time [s], the additional memory [MB] and the message."""
        if self._process is None:
            self._connection, theirs = multiprocessing.Pipe()
            limits = self._options.seconds, self._options.megabytes
            self._process = multiprocessing.get_context("fork").Process(target=_work, args=(theirs, *limits))
            self._process.start()
            theirs.close()
        self._connection.send((dialect, str(file)))
        with contextlib.suppress(EOFError):
            # The kernel limits the processor time. This limit ends only a process that sleeps.
            if self._connection.poll(60 * self._options.seconds):
                return self._connection.recv()
        code = self._end()
        if code == -signal.SIGXCPU:
            return "too long", self._options.seconds, 0.0, f"more than {self._options.seconds} s"
        return "ended", 0.0, 0.0, f"the process ended with {code}"

    def _end(self):
        if self._process is None:
            return None
        self._connection.close()
        self._process.join(1)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        code, self._process = self._process.exitcode, None
        return code


def _work(connection, seconds, megabytes):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _read_all(b"1.000000000,5,,cycles,9,100.00,,\n")  # what is imported late, is now
    with contextlib.suppress(EOFError):
        while True:
            dialect, file = connection.recv()
            before = _status("VmSize")
            Path("/proc/self/clear_refs").write_text("5")  # the highest memory from now on
            resident = _status("VmHWM")
            used = time.process_time()
            most = int(used + seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_AS, ((before + megabytes) << 20, resource.RLIM_INFINITY))
            outcome, told = _outcome(dialect, Path(file))
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            spent = time.process_time() - used
            if outcome in ("read", "refused") and spent > seconds:
                outcome = "too long"
            connection.send((outcome, spent, _status("VmHWM") - resident, told))


def _status(key):
    """Return an entry of /proc/self/status [MB]."""
    found = re.search(rf"^{key}:\s*([0-9]+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) // 1000


def _outcome(dialect, file):
    try:
        _READERS.get(dialect, _read_perf)(file)
    except CmlibError as error:
        cause = error.__cause__
        is_told = (
            cause is None
            or isinstance(cause, CmlibError)
            or _is_told(cause)
            or "content cannot be read" in str(error)
        )
        if str(error).strip() and is_told:
            return "refused", str(error)
        return "unclear", traceback.format_exc()
    except MemoryError:
        return "too large", traceback.format_exc()
    except Exception:  # whatever a reader raises is what is looked for
        return "traceback", traceback.format_exc()
    return "read", ""


def _is_told(cause):
    """Return True if an error was raised by cmlib, or by a parser that it calls."""
    last = traceback.extract_tb(cause.__traceback__)[-1].filename
    readers = ("/json/", "/gzip.py", "/lzma.py", "/bz2.py", "/pandas/io/", "/pandas/core/dtypes/")
    return "/cmlib/" in last or last.endswith("parsers.pyx") or any(name in last for name in readers)


def _read_perf(file):
    for recording in read_recordings([file], {}):
        read_stored(recording.raw, recording.facts | {"imported": True})


def _read_all(content):
    with tempfile.NamedTemporaryFile() as file, contextlib.suppress(CmlibError):
        file.write(content)
        file.flush()
        _read_perf(Path(file.name))


def _read_callgrind(file):
    text = file.read_bytes().decode(errors="replace")
    callgrind.read_series(text)
    callgrind.read_intervals(text)


def _read_samples(file):
    read_text(file.read_bytes(), ["cycles", "instructions", "task-clock", "page-faults"])


def _read_stream(file):
    _feed(SampleReader(["task-clock", "page-faults"]), file)


def _feed(reader, file):
    content = file.read_bytes()
    for start in range(0, len(content), 4096):
        reader.feed(content[start : start + 4096])
    reader.finish()


def _read_regions(file):
    in_recording(file, regions.read_runs, file.read_bytes().decode(errors="replace"))


_READERS = {
    "history": histories.read_history,
    "Callgrind": _read_callgrind,
    "perf script": _read_samples,
    "perf record -o -": _read_stream,
    "regions": _read_regions,
    "marks": read_marks,
}


def _found():
    public = Path(os.environ.get("CMLIB_PUBLIC", "../shared/public"))
    roots = [Path("tests/golden"), public, Path("data/regions"), Path("data/recordings/simulated-bzip2")]
    return [file for root in roots for file in sorted(root.rglob("*")) if file.is_file()]


def _seeds(files):
    """Return the beginnings of files, keyed by dialect. Each dialect has at most `_PER_DIALECT` files."""
    found = collections.defaultdict(list)
    for file in files:
        content = _content(file)
        dialect = _dialect(file, content)
        if dialect and len(content) > 1:
            found[dialect].append(content)
        if dialect == "history":  # with a row per value; also with a row per commit
            found[dialect].append(histories.read_history(file)[0].iloc[:50, :20].to_csv().encode())
    seeds = {
        dialect: [contents[k] for k in np.unique(np.linspace(0, len(contents) - 1, _PER_DIALECT).astype(int))]
        for dialect, contents in found.items()
    }
    for name, known in registry.formats().items():
        seeds.setdefault(name, []).append(_content(Path(known.sample)))
    return seeds


def _content(file):
    openers = {".gz": gzip.open, ".xz": lzma.open}
    with openers.get(file.suffix, open)(file, "rb") as opened:
        content = opened.read(LONGEST_SEED)
    return content[: content.rfind(b"\n") + 1] if len(content) == LONGEST_SEED else content


def _dialect(file, content):
    if content.startswith(b"PERFILE2"):
        return "perf record -o -"
    if content.startswith(b"# run="):
        return "regions"
    if {b"commit", b"value"} <= set(content.partition(b"\n")[0].split(b",")):
        return "history"
    if "perf_script" in file.name:
        return "perf script"
    if "benchmarks.data" in file.name:
        return "marks"
    if b"# callgrind format" in content[:1000]:
        return "Callgrind"
    if file.suffix in (".md", ".py", ".c", ".h", ".xlsx", ".msgpack"):
        return None
    text = content.decode("utf-8", "replace")
    return next((name for name, known in registry.formats().items() if known.sniff(text)), "no format")


if __name__ == "__main__":
    main()
