"""Sample a program by `perf record`, and store its samples, or piecewise-linear segments fitted to them as it runs.

A sample is taken whenever the first event has happened `period` times, and holds the counts of a whole group of
events. :func:`record_stream` takes a name and a command, and stores a recording; :func:`read_samples` returns the
samples of one as a DataFrame of cumulative counts. Raises a SampleError if the program or perf fails, or no sample
was taken.
"""

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
from cmlib.collect.record.execute import as_program, failure, find_program, run_supervised
from cmlib.compress import OnlineRegression
from cmlib.errors import last_lines, text_of
from cmlib.io import events
from cmlib.io.archive import errors_as, now, program_folder, read_file, unpack
from cmlib.io.archive.programs import check_names
from cmlib.io.samples.files import LINES, SAMPLES, SampleError, open_draft, read_metadata, samples_dir
from cmlib.io.samples.perf_data import SampleReader
from cmlib.io.samples.perf_script import FIELDS, read_text
from cmlib.shell import command_line

_PIECE = 1 << 18  # bytes read from perf before they are handed on: each hand-over has a cost of its own
_AT_LEAST_EVERY_MS = 500  # a read is interrupted this often, so that Ctrl-C is handled
_PRINT = ["perf", "script", "-F", FIELDS, "--ns", "--show-lost-events", "-i"]
_BUFFER_PAGES = 32
_WITHOUT_COUNTERS = (
    "`cmlib doctor` explains why, and what to do; software events can be sampled: "
    "--events task-clock,page-faults,context-switches --period 1000000 (ns)."
)
DRIFT = 20.0  # threshold of OnlineRegression's drift test
HARDWARE_GROUP = ("cycles", "cache-misses", "instructions")


@contextlib.contextmanager
def sampled(command, encodings, period, folder):
    """Run a program under ``perf record``, a sample each `period` counts of the first event: a context manager.

    `command` is a list of str. Yields an iterator of bytes, perf's stream as it is written. `encodings` are
    perf's encodings of the events (str); all are counted as one group. The standard error of perf and of the program
    is written to `folder`. Raises a SampleError at the end of the block if the program or perf failed.
    """
    program_stderr, recorder_stderr = folder / "program.stderr", folder / "perf.stderr"
    quiet = f'exec "$@" >/dev/null 2>{shlex.quote(str(program_stderr))}'
    group = f"{{{','.join(encodings)}}}:S"
    options = ["-B", "--no-inherit", "-m", str(_BUFFER_PAGES), "-e", group, "-c", str(period), "-o", "-"]
    with recorder_stderr.open("xb") as errors:
        recording = ["perf", "record", *options, "--", "/bin/sh", "-c", quiet, "cmlib", *command]
        with run_supervised(recording, stdout=subprocess.PIPE, stderr=errors) as recorder:
            yield _yield_pieces(recorder)
            recorder.wait()
    if recorder.returncode and program_stderr.exists():
        reason = failure(shlex.join(command), recorder.returncode, text_of(program_stderr))
        raise SampleError(f"{reason}\nSamples are kept only of a program that succeeds.")
    if recorder.returncode:
        perf_message = last_lines(text_of(recorder_stderr))
        raise SampleError(f"perf could not sample {group} under `{shlex.join(command)}`:\n{perf_message}")


def _yield_pieces(process):
    """Yield what a process writes to its standard output, as bytes objects of at least 256 KiB but for the last."""
    stream, parts, size = process.stdout.fileno(), [], 0
    ready = select.poll()
    ready.register(stream)
    while True:
        # os.read() would block, and a signal that came just before it wait, until there is something to read.
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


def read_samples(source, events=None):
    """Read the cumulative counts of the samples in a file that ``perf script`` printed, plain or gzipped.

    Parameters
    ----------
    source : path-like
        The file.
    events : sequence of str, optional
        Names of the events, the one that times the sampling first. Default: those in the metadata beside the file.

    Returns
    -------
    DataFrame of int, shape (n_samples, n_events)
        How often each event has happened since the start.

    Raises
    ------
    SampleError
        If there is no such file, no event is known, or no sample is in it.
    """
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
    """Yield an int64 array of shape (n_samples, n_events) for each piece of perf's output, and one for its end.

    `pieces` are bytes, as of :func:`sampled`; `parser` is a SampleReader (which reads perf's stream); the arrays
    hold counts since the sample before, and may have no rows.
    """
    for piece in pieces:
        yield parser.feed(piece)
    yield parser.finish()


def record_lines(command, events, period, out, *, label=None, drift=DRIFT):
    """Sample a program, and store piecewise-linear segments in place of its samples, as soon as they end.

    Writes ``<out>.csv``, a row per segment (x_start, x_end, slope and intercept of each y, n), and ``<out>.json``,
    the metadata.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    events : sequence of str or dict of str to str
        At least two names, or a mapping of names to perf's encodings. The first event is x, sampled each `period`
        counts; each other one is a y with its own slope and intercept.
    period : int
        Counts of x between two samples.
    out : path-like
        Path of the files without their suffix.
    label : str, optional
        Noted as the command in place of `command`.
    drift : float
        Threshold of :class:`cmlib.compress.OnlineRegression`.

    Returns
    -------
    dict
        The metadata: command, events, period, n_samples, n_lines and more.

    Raises
    ------
    SampleError
        If there are fewer than two events, the program or perf fails, or no sample was taken.
    """
    encodings = _to_encodings(events)
    regression = OnlineRegression(list(encodings)[1:], drift=drift)
    # Let numba compile before the program runs: perf would lose samples meanwhile.
    regression.extend(np.arange(4.0), np.zeros((4, len(encodings) - 1)))
    regression.finish()
    with open_draft(out, LINES) as (file, metadata, folder):
        store = functools.partial(_store_lines, regression, file, metadata)
        metadata |= _sample(command, encodings, period, folder, label, store)
        metadata |= {"kind": "lines", "method": {"alpha": 0.01, "n_sigma": 3.0, "drift": drift}}
    return metadata


def record_samples(command, events, period, out, *, label=None):
    """Sample a program, and store what ``perf script`` prints of its samples, compressed.

    Writes ``<out>.txt.gz`` and its metadata ``<out>.json``.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    events : sequence of str or dict of str to str
        At least two names, or a mapping of names to perf's encodings; the first one is sampled each `period`
        counts.
    period : int
        Counts of the first event between two samples.
    out : path-like
        Path of the files without their suffix.
    label : str, optional
        Noted as the command in place of `command`.

    Returns
    -------
    dict
        The metadata: command, events, period, n_samples and more.

    Raises
    ------
    SampleError
        If there are fewer than two events, the program or perf fails, or no sample was taken.
    """
    encodings = _to_encodings(events)
    with open_draft(out, SAMPLES) as (file, metadata, folder):
        data, errors = folder / "perf.data", folder / "script.stderr"
        with data.open("xb") as stream:
            settings = {"store": lambda blocks: sum(map(len, blocks)), "copy": stream}
            metadata |= _sample(command, encodings, period, folder, label, **settings) | {"kind": "samples"}
        with (
            errors.open("xb") as stderr,
            run_supervised([*_PRINT, data], stdout=subprocess.PIPE, stderr=stderr) as printer,
        ):
            file.writelines(_yield_pieces(printer))
            printer.wait()
        if printer.returncode:
            raise SampleError(f"perf can't read what it recorded:\n{last_lines(text_of(errors))}")
    return metadata


def _store_lines(regression, file, metadata, blocks):
    """Fit lines to blocks of counts (arrays), and write each to the CSV `file` when it ends.

    Returns the number of samples.
    """
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
    """Run the program, pass its samples to `store`, and return the metadata (dict) of what was recorded.

    `store` takes an iterator of arrays of counts and returns the number of samples; `copy` is a file that gets perf's
    stream as it is.
    """
    first = next(iter(encodings))
    if period != int(period) or period < 1:
        raise SampleError(f"period must be a whole number of {first}, at least 1; got {period}.")
    command = find_program(command)
    reader = SampleReader(encodings)
    date, began, processor_s = now(), time.monotonic(), time.process_time()
    with sampled(command, list(encodings.values()), int(period), folder) as pieces:
        n_samples = store(parsed(pieces if copy is None else _copied(pieces, copy), reader))
    duration, processor_s = time.monotonic() - began, time.process_time() - processor_s
    if not n_samples and reader.n_unreadable:
        names = ", ".join(encodings)
        raise SampleError(
            f"perf wrote {reader.n_unreadable} counts, but no sample of {names}: does it have other names "
            "for them?"
        )
    if not n_samples:
        raise SampleError(
            f"`{shlex.join(command)}` ended before the first sample: give it more work, or take a shorter "
            f"period than {period} {first}."
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
        "own_s": processor_s,
    }


def _copied(pieces, file):
    """Yield the pieces (bytes), each once it has been written to a file."""
    for piece in pieces:
        file.write(piece)
        yield piece


def _to_encodings(events):
    """Return the events as a dict of name to perf's encoding; raise a SampleError if there are fewer than two."""
    encodings = dict(events) if isinstance(events, Mapping) else {event: event for event in events}
    if len(encodings) < 2:
        raise SampleError(f"at least two events are needed, one for the time; got {[*encodings]}.")
    return encodings


def record_stream(
    name, command, group=HARDWARE_GROUP, *, period=1_000_000, compress=False, modifier="u", wait=False
):
    """Sample a program once, and store its samples, or with `compress` only their lines, under `name`.

    Parameters
    ----------
    name : str
        Name of the recorded program.
    command : list of str or Program
        A command, or a command with its preparation.
    group : sequence of str
        The events of one counter group, the first one sampled each `period` counts.
    period : int, default 1000000
        Counts of the first event between two samples.
    compress : bool, default False
        True to store lines in place of samples.
    modifier : str, default "u"
        Perf's modifier; "u" is user mode.
    wait : bool, default False
        True to wait while another process uses the counters.

    Returns
    -------
    path : Path
        The new recording without its suffix, such as ``…/NAME/hardware-00``.
    metadata : dict

    Raises
    ------
    SampleError
        If the program fails, is a server or ends before the first sample.
    CountersBusy
        If another process uses the counters, and `wait` is False.
    CmlibError
        If no hardware event can be counted.
    RecordError
        If perf or the program is missing.
    """
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
            raise SampleError(f"{name} is a server, and a sampled group of counters is of one process only.")
        settings = [f"{key}={value}" for key, value in counted.environment.items()]
        command = ["env", *settings, *counted.command] if settings else counted.command
        kind = "hardware" if any(map(events.needs_counter, encodings)) else "software"
        stem = f"{kind}-lines" if compress else kind
        names = (target / f"{stem}-{number:02d}" for number in itertools.count())
        out = next(name for name in names if not Path(f"{name}.json").exists())
        try:
            store = record_lines if compress else record_samples
            with errors_as(SampleError, target), program_folder(target):
                return out, store(command, encodings, period, out, label=program.command)
        except SampleError:
            if kind == "hardware":
                machine.census().checked(_WITHOUT_COUNTERS)
            raise
