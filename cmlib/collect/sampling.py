"""Sample a program by `perf record` and store its samples.

A sample contains the counts of a group of events. It is taken whenever the first event has happened `period` times.
:func:`record_stream` runs a command and stores its samples, or lines in place of the samples. Lines are
piecewise-linear segments that are fitted while the program runs. :func:`read_samples` reads stored samples.
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

_PIECE = 1 << 18  # bytes read from perf at a time; smaller pieces cost more processor time
_AT_LEAST_EVERY_MS = 500  # waiting for perf is interrupted this often to handle Ctrl-C
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
    """Run a program under ``perf record`` during a ``with`` block.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    encodings : list of str
        Perf's encodings of the events, which are counted as one group.
    period : int
        Counts of the first event between two samples.
    folder : Path
        Folder for the standard error of perf and of the program.

    Yields
    ------
    iterator of bytes
        The output of perf, while it is written.

    Raises
    ------
    SampleError
        If the program or perf failed. It is raised at the end of the block.
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
    """Yield the standard output of a process in pieces (bytes) of at least 256 KiB, except for the last piece."""
    stream, parts, size = process.stdout.fileno(), [], 0
    ready = select.poll()
    ready.register(stream)
    while True:
        # A signal that comes just before os.read() would not be handled until perf writes something.
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
    """Read the samples that ``perf script`` printed to a file.

    Parameters
    ----------
    source : path-like
        The file, plain or gzipped.
    events : sequence of str, optional
        Names of the events. The first is the event that triggered the samples. The default is read from the metadata
        file next to `source`.

    Returns
    -------
    DataFrame of int, shape (n_samples, n_events)
        Cumulative counts since the start of the program.

    Raises
    ------
    SampleError
        If the file does not exist, contains no sample, or if the events are not known.
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
    """Parse pieces of perf's output (bytes) by a SampleReader.

    Yields
    ------
    ndarray of int64, shape (n_samples, n_events)
        Counts of the samples in a piece, since the previous sample. An array may have no rows.
    """
    for piece in pieces:
        yield parser.feed(piece)
    yield parser.finish()


def record_lines(command, events, period, out, *, label=None, drift=DRIFT):
    """Sample a program and store lines in place of its samples.

    A line is a piecewise-linear segment. It is written to ``<out>.csv`` as soon as it ends. The metadata are written
    to ``<out>.json``.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    events : sequence of str or dict of str to str
        At least two events: names, or perf's encodings keyed by name. The first event is the x of the lines. Each
        other event is a y with its own slope and intercept.
    period : int
        Counts of the first event between two samples.
    out : path-like
        Path of the files without suffix.
    label : str, optional
        Text for the metadata in place of `command`.
    drift : float, default 20
        Threshold of the drift test of :class:`cmlib.compress.OnlineRegression`.

    Returns
    -------
    dict
        The metadata: command, events, period, n_samples, n_lines and more.

    Raises
    ------
    SampleError
        If fewer than two events are given, if the program or perf fails, or if no sample was taken.
    """
    encodings = _to_encodings(events)
    regression = OnlineRegression(list(encodings)[1:], drift=drift)
    # Numba compiles here. Perf would lose samples if it compiled while the program runs.
    regression.extend(np.arange(4.0), np.zeros((4, len(encodings) - 1)))
    regression.finish()
    with open_draft(out, LINES) as (file, metadata, folder):
        store = functools.partial(_store_lines, regression, file, metadata)
        metadata |= _sample(command, encodings, period, folder, label, store)
        metadata |= {"kind": "lines", "method": {"alpha": 0.01, "n_sigma": 3.0, "drift": drift}}
    return metadata


def record_samples(command, events, period, out, *, label=None):
    """Sample a program and store all its samples.

    The output of ``perf script`` is written to ``<out>.txt.gz``, the metadata to ``<out>.json``.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    events : sequence of str or dict of str to str
        At least two events: names, or perf's encodings keyed by name. The first event triggers the samples.
    period : int
        Counts of the first event between two samples.
    out : path-like
        Path of the files without suffix.
    label : str, optional
        Text for the metadata in place of `command`.

    Returns
    -------
    dict
        The metadata: command, events, period, n_samples and more.

    Raises
    ------
    SampleError
        If fewer than two events are given, if the program or perf fails, or if no sample was taken.
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
    """Fit lines to blocks of counts (arrays) and write each line to a CSV file when it ends.

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
    """Run the program, pass its samples to `store`, and return the metadata (dict).

    `store` takes an iterator of arrays of counts and returns the number of samples. The output of perf is also
    written to the file `copy`, if it is given.
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
    """Write pieces (bytes) to a file and yield them."""
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
    """Sample a program once and store the recording.

    Parameters
    ----------
    name : str
        Name of the program among the recordings.
    command : list of str or Program
        A command, or a command with its preparation.
    group : sequence of str
        Events that are counted as one group. The first event triggers the samples.
    period : int, default 1000000
        Counts of the first event between two samples.
    compress : bool, default False
        Whether to store lines (piecewise-linear segments) in place of samples.
    modifier : str, default "u"
        Perf's modifier. For example, "u" counts in user mode only.
    wait : bool, default False
        Whether to wait while another process uses the counters.

    Returns
    -------
    path : Path
        Path of the new recording without suffix. For example, ``…/NAME/hardware-00``.
    metadata : dict

    Raises
    ------
    SampleError
        If the program fails, is a server, or ends before the first sample.
    CountersBusy
        If another process uses the counters and `wait` is False.
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
        kind = "hardware" if any(map(events.needs_counter, encodings)) else "software"
        out = _next_path(target, f"{kind}-lines" if compress else kind)
        try:
            store = record_lines if compress else record_samples
            with errors_as(SampleError, target), program_folder(target):
                return out, store(_with_variables(counted), encodings, period, out, label=program.command)
        except SampleError:
            if kind == "hardware":
                machine.census().checked(_WITHOUT_COUNTERS)
            raise


def _with_variables(counted):
    """Return the command of a LaunchSpec, started by ``env`` if it needs environment variables."""
    settings = [f"{key}={value}" for key, value in counted.environment.items()]
    return ["env", *settings, *counted.command] if settings else counted.command


def _next_path(folder, stem):
    """Return the first path ``STEM-00``, ``STEM-01``, … in a folder without a recording."""
    paths = (folder / f"{stem}-{number:02d}" for number in itertools.count())
    return next(path for path in paths if not Path(f"{path}.json").exists())
