"""Sample a program by perf, and store its samples, or the lines that are found in them while it runs."""

import contextlib
import csv
import functools
import itertools
import os
import select
import shlex
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.collect import machine
from cmlib.collect.record.execute import as_program, failure, resolve, run_supervised
from cmlib.collect.schedule import needs_counter
from cmlib.compress import OnlineRegression
from cmlib.errors import last_lines
from cmlib.io import events
from cmlib.io.archive import errors_as, make_folder, now, read_file, unpack
from cmlib.io.archive.programs import check_names
from cmlib.io.samples.files import LINES, SAMPLES, SampleError, draft, read_metadata, samples_dir
from cmlib.io.samples.perf_data import SampleReader
from cmlib.io.samples.perf_script import FIELDS, read_text
from cmlib.shell import command_line

_PIECE = 1 << 18  # bytes that are waited for: handling a piece costs more than what is in it
_AT_LEAST_EVERY_MS = 500  # signals are looked at
_PRINT = ["perf", "script", "-F", FIELDS, "--ns", "--show-lost-events", "-i"]
_BUFFER_PAGES = 32
_WITHOUT_COUNTERS = (
    "`cmlib doctor` tells why and what to do; software events can be sampled: "
    "--events task-clock,page-faults,context-switches --period 1000000 (ns)."
)
DRIFT = 20.0  # ends lines that samples leave slowly
HARDWARE_GROUP = ("cycles", "cache-misses", "instructions")


@contextlib.contextmanager
def sampled(command, encodings, period, folder):
    """Run a program, and read perf's stream of its samples, while it runs."""
    program_stderr, recorder_stderr = folder / "program.stderr", folder / "perf.stderr"
    quiet = f'exec "$@" >/dev/null 2>{shlex.quote(str(program_stderr))}'
    group = f"{{{','.join(encodings)}}}:S"
    options = ["-B", "--no-inherit", "-m", str(_BUFFER_PAGES), "-e", group, "-c", str(period), "-o", "-"]
    with recorder_stderr.open("xb") as errors:
        recording = ["perf", "record", *options, "--", "/bin/sh", "-c", quiet, "cmlib", *command]
        with run_supervised(recording, stdout=subprocess.PIPE, stderr=errors) as recorder:
            yield _pieces(recorder)
            recorder.wait()
    if recorder.returncode and program_stderr.exists():
        reason = failure(shlex.join(command), recorder.returncode, _end_of(program_stderr))
        raise SampleError(f"{reason}\nSamples are kept only of a program that succeeds.")
    if recorder.returncode:
        raise SampleError(
            f"perf could not sample {group} under `{shlex.join(command)}`:\n{_end_of(recorder_stderr)}"
        )


def _pieces(process):
    """What a process writes, in large pieces."""
    stream, parts, size = process.stdout.fileno(), [], 0
    ready = select.poll()
    ready.register(stream)
    while True:
        # A signal that comes just before a read would be handled no sooner than something is there to read.
        while not ready.poll(_AT_LEAST_EVERY_MS):
            pass
        part = os.read(stream, _PIECE)
        parts.append(part)
        size += len(part)
        if size >= _PIECE or not part:
            yield b"".join(parts)
            parts, size = [], 0
        if not part:
            return


def _end_of(file):
    return last_lines(file.read_text(encoding="utf-8", errors="replace"))


def read_samples(source, events=None):
    """Read all samples of a file that perf has printed, plain or gzipped."""
    source = Path(source)
    if not source.exists():
        raise SampleError(f"no file of samples at {source}.")
    events = list(events or (read_metadata(source) or {}).get("events", ()))
    if not events:
        raise SampleError(f"name the events of {source}, the one that times the sampling first.")
    with errors_as(SampleError, source):
        content = read_file(source)
        counts = read_text(unpack(content, source) if source.suffix == ".gz" else content, events)
    if not len(counts):
        raise SampleError(f"{source} holds no sample of {', '.join(events)}.")
    return pd.DataFrame(counts.cumsum(axis=0), columns=events)


def parsed(pieces, parser):
    """Counts of all samples in pieces of text, or of perf's stream, block by block."""
    for piece in pieces:
        yield parser.feed(piece)
    yield parser.finish()


def record_lines(command, events, period, out, *, label=None, drift=DRIFT):
    """Sample a program, and while it runs store piecewise-linear segments instead of its samples."""
    encodings = _encodings(events)
    regression = OnlineRegression(list(encodings)[1:], drift=drift)
    # The compiler does its work before the program runs: samples would be lost meanwhile.
    regression.extend(np.arange(4.0), np.zeros((4, len(encodings) - 1)))
    regression.finish()
    with draft(out, LINES) as (file, metadata, folder):
        store = functools.partial(_store_lines, regression, file, metadata)
        metadata |= _sample(command, encodings, period, folder, label, store)
        metadata |= {"kind": "lines", "method": {"alpha": 0.01, "n_sigma": 3.0, "drift": drift}}
    return metadata


def record_samples(command, events, period, out, *, label=None):
    """Sample a program, and store what perf prints of it, as it is, compressed: ``<out>.txt.gz``."""
    encodings = _encodings(events)
    with draft(out, SAMPLES) as (file, metadata, folder):
        data, errors = folder / "perf.data", folder / "script.stderr"
        with data.open("xb") as stream:
            settings = {"store": lambda blocks: sum(map(len, blocks)), "copy": stream}
            metadata |= _sample(command, encodings, period, folder, label, **settings)
        metadata |= {"kind": "samples"}
        with (
            errors.open("xb") as stderr,
            run_supervised([*_PRINT, data], stdout=subprocess.PIPE, stderr=stderr) as printer,
        ):
            file.writelines(_pieces(printer))
            printer.wait()
        if printer.returncode:
            raise SampleError(f"perf can't read what it recorded:\n{_end_of(errors)}")
    return metadata


def _store_lines(regression, file, metadata, blocks):
    """Write the lines of blocks of counts, each as soon as it is finished; how many samples these were."""
    table = csv.writer(file, lineterminator="\n")
    table.writerow(regression.finish())
    metadata["n_lines"], n_samples, so_far = 0, 0, 0

    def write(rows):
        table.writerows([start, end, *fitted, int(n)] for start, end, n, *fitted in rows.tolist())
        file.flush()
        metadata["n_lines"] += len(rows)

    for counts in filter(len, blocks):
        totals = so_far + counts.cumsum(axis=0)
        so_far = totals[-1]
        write(regression.feed(totals[:, 0], totals[:, 1:]))
        n_samples += len(counts)
    write(regression.end())
    return n_samples


def _sample(command, encodings, period, folder, label, store, copy=None):
    """Run the program, let its samples be stored, and tell what happened; `copy` gets perf's stream."""
    first = next(iter(encodings))
    if period != int(period) or period < 1:
        raise SampleError(f"period must be a whole number of {first}, at least 1; got {period}.")
    command = resolve(command)
    reader = SampleReader(encodings)
    date, began, own_s = now(), time.monotonic(), time.process_time()
    with sampled(command, list(encodings.values()), int(period), folder) as pieces:
        n_samples = store(parsed(pieces if copy is None else _copied(pieces, copy), reader))
    duration, own_s = time.monotonic() - began, time.process_time() - own_s
    if not n_samples and reader.n_unreadable:
        raise SampleError(
            f"perf told {reader.n_unreadable} counts, but no sample of {', '.join(encodings)}: does it have other "
            "names for them?"
        )
    if not n_samples:
        raise SampleError(
            f"`{shlex.join(command)}` ended before the first sample: give it more work, or take a shorter period "
            f"than {period} {first}."
        )
    return {
        "command": label or shlex.join(command),
        "events": encodings,
        "period": int(period),
        "n_samples": n_samples,
        **{kind: getattr(reader, kind) for kind in ("n_lost", "n_backwards", "n_unreadable")},
        "machine": machine.describe(),
        "date": date,
        "duration_s": duration,
        "own_s": own_s,
    }


def _copied(pieces, file):
    for piece in pieces:
        file.write(piece)
        yield piece


def _encodings(events):
    encodings = dict(events) if isinstance(events, Mapping) else {event: event for event in events}
    if len(encodings) < 2:
        raise SampleError(
            f"at least two events are needed, one to time the sampling; got {', '.join(encodings) or 'none'}."
        )
    return encodings


def record_stream(
    name, command, group=HARDWARE_GROUP, *, period=1_000_000, compress=False, modifier="u", wait=False
):
    """Sample a program once, and keep perf's sample stream, or only its lines, under its name."""
    check_names(name, "samples")
    table = machine.known_events(machine.describe())
    encodings = {events.base_name(event): events.encode(event, table, modifier) for event in group}
    program = as_program(command)
    target = samples_dir() / name
    with (
        machine.counters_lock(command_line("cmlib", "record", name, "--samples"), wait=wait),
        program.prepare() as counted,
    ):
        if counted.pids:
            raise SampleError(
                f"{name} is a server, and a sampled group of counters follows one process only."
            )
        settings = [f"{key}={value}" for key, value in counted.environment.items()]
        command = ["env", *settings, *counted.command] if settings else counted.command
        kind = "hardware" if any(map(needs_counter, encodings)) else "software"
        with errors_as(SampleError, target):
            make_folder(target)
        stem = f"{kind}-lines" if compress else kind
        names = (target / f"{stem}-{number:02d}" for number in itertools.count())
        out = next(name for name in names if not Path(f"{name}.json").exists())
        try:
            store = record_lines if compress else record_samples
            return out, store(command, encodings, period, out, label=program.command)
        except SampleError:
            if kind == "hardware":
                machine.census().checked(_WITHOUT_COUNTERS)
            raise
