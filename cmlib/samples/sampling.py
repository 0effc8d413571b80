"""Sample a program with a group of counters, and keep the samples, or only their lines."""

import csv
import shlex
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cmlib import machine
from cmlib.archive import now
from cmlib.compress import BoundedRegression, OnlineRegression
from cmlib.record.execute import resolve
from cmlib.samples.binary import SampleReader
from cmlib.samples.files import LINES, SAMPLES, SampleError, draft, read_metadata
from cmlib.samples.process import printed, sampled
from cmlib.samples.reading import parsed, stored_counts

_OF_THE_RUN = ("command", "period", "machine", "date", "duration_s")


def record_lines(
    command,
    events,
    period,
    out,
    *,
    alpha=0.01,
    n_sigma=3.0,
    drift=None,
    bound=None,
    label=None,
    buffer_pages=32,
    progress=None,
):
    """Sample a program, and while it runs store piecewise-linear segments instead of its samples.

    Memory does not grow with the run. Counted is the process itself, from its
    start to its end: perf (6.1) does not follow a sampled group into the
    processes and threads that it starts. Counters are not shared with another
    perf; hold :func:`cmlib.machine.counters_lock` meanwhile.

    Parameters
    ----------
    command : sequence of str
        Program and arguments. Its input is empty and its output discarded.
    events : sequence of str, or mapping of str to str
        At least two: the one that times the sampling, x of the lines, and those
        counted along. A mapping gives, by the name that perf prints, what perf is told.
    period : int > 0
        Counts of the first event from sample to sample.
    out : path
        Without a suffix: the lines become ``<out>.csv``, the metadata ``<out>.json``.
    alpha, n_sigma, drift, bound
        As of :func:`cmlib.compress.compress`.
    label : str, optional
        What stands for the command in the metadata.
    buffer_pages : int, default 32
        Size of perf's buffer for each processor, a power of two [pages]. A small
        one hands samples on sooner, a large one loses fewer on a busy machine.
    progress : callable, optional
        Called with the numbers of samples and of lines so far.

    Returns
    -------
    dict
        The metadata: kind, command, events, period, method, n_samples, n_lines,
        n_lost, n_backwards, n_unreadable (see :class:`SampleReader`), machine,
        date, duration_s, and own_s, the processor time of this process meanwhile.

    Raises
    ------
    SampleError
        If perf refuses, the program fails, there is no sample, or `out` exists;
        nothing is left at `out` then.
    RecordError
        If there is no such program, or no perf.
    """
    encodings = _encodings(events)
    regression, method = _regression(list(encodings)[1:], alpha, n_sigma, drift, bound)
    _compile(regression, len(encodings) - 1)
    with draft(out, LINES) as (file, metadata, folder):
        sink = _LineWriter(regression, file)
        metadata |= _sample(command, encodings, period, sink, label, buffer_pages, progress, folder)
        metadata |= {"kind": "lines", "method": method, "n_lines": sink.n_rows}
    return metadata


def record_samples(command, events, period, out, *, label=None, buffer_pages=32, progress=None):
    """Sample a program, and store what perf prints of it, as it is, compressed: ``<out>.txt.gz``.

    perf prints when the program has ended; until then its stream is in a file in a folder beside `out`.
    Parameters, metadata and errors are those of :func:`record_lines`, but for the method.
    """
    encodings = _encodings(events)
    with draft(out, SAMPLES) as (file, metadata, folder):
        with open(folder / "perf.data", "xb") as stream:
            sink = _Tally()
            metadata |= _sample(
                command, encodings, period, sink, label, buffer_pages, progress, folder, copy=stream
            )
        metadata |= {"kind": "samples"}
        with printed(folder / "perf.data") as pieces:
            file.writelines(pieces)
    return metadata


def compress_samples(source, out, events=None, *, alpha=0.01, n_sigma=3.0, drift=None, bound=None):
    """Store the lines of a file of samples, as if they had been found while it was recorded.

    Parameters
    ----------
    source, events
        As of :func:`read_samples`; the file is read in blocks and may be of any length.
    out, alpha, n_sigma, drift, bound
        As of :func:`record_lines`.

    Returns
    -------
    dict
        The metadata: kind, source (the file's name), events, method, n_samples,
        n_lines, n_lost, n_backwards, n_unreadable; and what the source's tell of the run: command,
        period, machine, date, duration_s.
    """
    with draft(out, LINES) as (file, metadata, _):
        with stored_counts(source, events) as (names, blocks, parser):
            regression, method = _regression(names[1:], alpha, n_sigma, drift, bound)
            sink = _LineWriter(regression, file)
            n_samples = _store(blocks, sink)
        if not n_samples:
            raise SampleError(f"{source} holds no sample of {', '.join(names)}.")
        known = read_metadata(source) or {}
        metadata |= {key: known[key] for key in _OF_THE_RUN if key in known}
        metadata |= {"kind": "lines", "source": Path(source).name, "events": names, "method": method}
        metadata |= {"n_samples": n_samples, "n_lines": sink.n_rows, **_losses(parser)}
    return metadata


class _LineWriter:
    """Writes the lines of the samples that it is given, each as soon as it is finished."""

    def __init__(self, regression, file):
        self._regression, self._file = regression, file
        self._table = csv.writer(file, lineterminator="\n")
        self._table.writerow(regression.finish())
        self._so_far = 0
        self.n_rows = 0

    def take(self, counts):
        totals = self._so_far + counts.cumsum(axis=0)
        self._so_far = totals[-1]
        self._write(self._regression.feed(totals[:, 0], totals[:, 1:]))

    def finish(self):
        self._write(self._regression.end())

    def _write(self, rows):
        self._table.writerows([start, end, *fitted, int(n)] for start, end, n, *fitted in rows.tolist())
        self._file.flush()
        self.n_rows += len(rows)


class _Tally:
    """Counts the samples that it is given; perf's stream of them is kept elsewhere."""

    def __init__(self):
        self.n_rows = 0

    def take(self, counts):
        self.n_rows += len(counts)

    def finish(self):
        """Nothing is held back."""


def _sample(command, encodings, period, sink, label, buffer_pages, progress, folder, copy=None):
    """Run the program, let the sink take its samples, and tell what happened; `copy` gets perf's stream."""
    if period != int(period) or period < 1:
        raise SampleError(
            f"period must be a whole number of {next(iter(encodings))}, at least 1; got {period}."
        )
    command = resolve(command)
    reader = SampleReader(encodings)
    date, began, own = now(), time.monotonic(), time.process_time()
    group = list(encodings.values())
    with sampled(command, group, int(period), folder, buffer_pages=buffer_pages) as pieces:
        stream = pieces if copy is None else _copied(pieces, copy)
        n_samples = _store(parsed(stream, reader), sink, progress)
    duration, own = time.monotonic() - began, time.process_time() - own
    if not n_samples:
        names = ", ".join(encodings)
        raise SampleError(
            f"perf told {reader.n_unreadable} counts, but no sample of {names}: does it have other names for them?"
            if reader.n_unreadable
            else f"`{shlex.join(command)}` ended before the first sample: give it more work, or take a shorter period "
            f"than {period} {next(iter(encodings))}."
        )
    return {
        "command": label or shlex.join(command),
        "events": encodings,
        "period": int(period),
        "n_samples": n_samples,
        **_losses(reader),
        "machine": machine.describe(),
        "date": date,
        "duration_s": duration,
        "own_s": own,
    }


def _store(blocks, sink, progress=None):
    n_samples = 0
    for counts in blocks:
        if len(counts):
            sink.take(counts)
            n_samples += len(counts)
            if progress:
                progress(n_samples, sink.n_rows)
    sink.finish()
    return n_samples


def _copied(pieces, file):
    for piece in pieces:
        file.write(piece)
        yield piece


def _compile(regression, n_events):
    """Make the compiler do its work before the program runs: samples would be lost meanwhile."""
    regression.extend(np.arange(4.0), np.zeros((4, n_events)))
    regression.finish()


def _losses(parser):
    return {kind: getattr(parser, kind) for kind in ("n_lost", "n_backwards", "n_unreadable")}


def _encodings(events):
    encodings = dict(events) if isinstance(events, Mapping) else {event: event for event in events}
    if len(encodings) < 2:
        raise SampleError(
            f"at least two events are needed, one to time the sampling; got {', '.join(encodings) or 'none'}."
        )
    return encodings


def _regression(events, alpha, n_sigma, drift, bound):
    """The regression that is asked for, and how the metadata tell of it."""
    if bound is None:
        method = {"alpha": alpha, "n_sigma": n_sigma, "drift": drift}
        return OnlineRegression(events, **method), method
    return BoundedRegression(bound, events), {"bound": np.asarray(bound).tolist()}
