"""Read what ``perf record -o -`` writes (pipe-mode perf.data) as counts of the events of each sample.

:class:`SampleReader` takes the bytes as they come, and gives arrays with a row per sample, a column per event.
SampleError for bytes that perf did not write, or that are damaged.
"""

import functools
import re
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from cmlib.errors import InputError
from cmlib.io.samples.files import SampleError

_TID, _TIME = 1 << 1, 1 << 2
# PERF_SAMPLE_ bits in the order in which a sample holds them, 8 bytes each, up to the counts: IDENTIFIER, IP, TID,
# TIME, ADDR, ID, STREAM_ID, CPU, PERIOD.
_BEFORE_COUNTS = (1 << 16, 1 << 0, _TID, _TIME, 1 << 3, 1 << 6, 1 << 9, 1 << 7, 1 << 8)
_TIMES, _LOST_COUNTS = 0b11, 1 << 4  # PERF_FORMAT_ bits: times enabled and running, lost samples
_KNOWN_SAMPLE, _KNOWN_READ = (1 << 25) - 1, (1 << 5) - 1  # all bits of both that are known here
_DUMMY = 1, 9  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY: an event of perf's own that is never sampled
_BEGINNING = struct.pack("<8sQ", b"PERFILE2", 16)
_HEADER = struct.Struct("<IHH")
# PERF_RECORD_ types of records.
_LOST, _SAMPLE, _LOST_SAMPLES = 2, 9, 13
_ATTR, _TRACING_DATA, _FINISHED_ROUND, _EVENT_UPDATE = 64, 66, 68, 78
_NAME = 2  # of PERF_EVENT_UPDATE__
_RUN = 4096  # samples of equal size that are parsed as one array, at most
# Fewest samples that are counted in one call, which costs as much as some hundred samples; 2 s at the paper's rate.
_TOGETHER = 4096
_LATEST = np.uint64(2**64 - 1)
_MODIFIERS = re.compile(r":[ukhGHIpPSDWeb]+$")


class _Layout(NamedTuple):
    """Where the fields that are read stand in a sample's record: offsets [bytes], and u64 words per counter."""

    task: int
    time: int
    n_counts: int
    counts: int
    width: int  # u64 of each counter: its count, its id, perhaps its losses


@functools.lru_cache(maxsize=64)
def _records(layout, n_counts, size):
    """Return the NumPy dtype of samples of equal size."""
    return np.dtype(
        {
            "names": ["kind", "size", "task", "time", "n_counts", "counts"],
            "formats": ["<u4", "<u2", "<u8", "<u8", "<u8", ("<u8", (n_counts, layout.width))],
            "offsets": [0, 6, layout.task, layout.time, layout.n_counts, layout.counts],
            "itemsize": size,
        }
    )


def _layout(sample, read):
    """Find the layout of an event's samples by its sample_type and read_format; ValueError for an unknown bit."""
    if unknown := sample & ~_KNOWN_SAMPLE or read & ~_KNOWN_READ:
        raise InputError(
            f"this perf puts things into samples that are not known here ({unknown:#x}): let `perf script` read what "
            "it recorded, or use an older perf"
        )
    before = [bit for bit in _BEFORE_COUNTS if sample & bit]
    end = 8 + 8 * len(before)
    task, time = (8 + 8 * before.index(bit) for bit in (_TID, _TIME))
    counts = end + 8 + 8 * (read & _TIMES).bit_count()
    return _Layout(task, time, end, counts, 3 if read & _LOST_COUNTS else 2)


class SampleReader:
    """Turns the bytes of ``perf record -o -`` into counts, block by block.

    The same counts as :func:`cmlib.io.samples.perf_script.read_text` makes of what ``perf script``
    prints of these bytes, without it. Several processors are read in turn, in
    rounds: a round's samples may be older than those of the round before, not older
    than those of the one before that. Each counter of each processor counts by itself.
    Samples in which the first event has not moved wait for the next one in which it has.

    Parameters
    ----------
    events : sequence of str
        Names as perf has them, without modifiers; the first one times the sampling: a sample is taken whenever it has
        counted a period.

    Attributes
    ----------
    n_samples : int
        Samples counted so far.
    n_lost : int
        Samples that perf says it lost, its buffer being full. Their counts are not: they are part of the next
        sample's.
    n_backwards : int
        Counts that were smaller than at the sample before, as after a reset. They are taken as 0, and counting goes
        on from there.
    n_unreadable : int
        Counts of other events, and a last record that was cut off. They are passed over.
    """

    def __init__(self, events):
        self.events = tuple(events)
        self.n_samples = self.n_backwards = self.n_unreadable = 0
        self._lost = {_LOST: 0, _LOST_SAMPLES: 0}
        self._described = []
        self._layout = self._n_counts = None
        self._rest, self._to_skip, self._begun = b"", 0, False
        self._ids, self._columns, self._last = (np.empty(0, np.int64) for _ in range(3))
        self._waiting, self._newest, self._limit = [], np.uint64(0), np.uint64(0)
        self._open, self._opened = np.zeros(len(self.events), np.int64), np.zeros(2, np.int64)
        # Let numba compile before there are samples: perf would lose some meanwhile.
        self._count(*np.empty((2, 0), np.int64), *np.empty((2, 0, 1), np.int64))

    @property
    def n_lost(self):
        """Number of samples that perf lost. If perf reported a loss twice, it is counted once."""
        return max(self._lost.values())

    def feed(self, piece: bytes) -> np.ndarray:
        """Take the next bytes of the stream, and return the counts of the samples that are complete.

        Parameters
        ----------
        piece : bytes
            Cut anywhere.

        Returns
        -------
        ndarray of int64, shape (n_samples, n_events)
            Counts since the previous sample; may have no rows.

        Raises
        ------
        SampleError
            If the stream was not written by perf, or a record is damaged.
        """
        data, blocks = self._rest + piece, []
        if not self._begun:
            if not _BEGINNING.startswith(data[:16]):
                raise SampleError(
                    f"this is not what `perf record -o -` writes, which begins with {_BEGINNING!r}: it begins with "
                    f"{data[:16]!r}."
                )
            self._begun = len(data) >= len(_BEGINNING)
            self._to_skip = len(_BEGINNING) if self._begun else 0
        at = self._to_skip
        while self._begun and len(data) - at >= _HEADER.size:
            kind, _, size = _HEADER.unpack_from(data, at)
            if size >= _HEADER.size and len(data) - at < size:
                break
            try:
                at += self._take(kind, data, at, size)
            except (struct.error, ValueError, IndexError) as error:
                record = f"a record of type {kind} with {size} bytes"
                raise SampleError(f"perf's stream can't be read, {record}: {error}.") from None
            if kind == _FINISHED_ROUND:
                blocks.append(self._end_round())
        self._to_skip = max(0, at - len(data))
        self._rest = data[at:]
        return self._joined(blocks)

    def finish(self) -> np.ndarray:
        """End the stream, and return the counts of the remaining samples.

        Returns
        -------
        ndarray of int64, shape (n_samples, n_events)
        """
        self.n_unreadable += bool(self._rest or self._to_skip)
        self._rest, self._to_skip = b"", 0
        counts = self._go_on(_LATEST)
        return self._joined([counts, self._open[np.newaxis]] if self._open[0] else [counts])

    def _joined(self, blocks):
        """Join arrays of counts, and add their rows to the number of samples."""
        counts = np.concatenate([np.empty((0, len(self.events)), np.int64), *blocks])
        self.n_samples += len(counts)
        return counts

    def _take(self, kind, data, at, size):
        """Take the record at a position, or a run of equal samples from there on; returns the number of bytes taken."""
        if size < _HEADER.size:
            raise InputError("it is damaged")
        if kind == _SAMPLE:
            return self._take_samples(data, at, size)
        body = data[at + _HEADER.size : at + size]
        if kind == _ATTR:
            self._describe(body)
        elif kind == _EVENT_UPDATE:
            update_kind, counter = struct.unpack_from("<QQ", body)
            if update_kind == _NAME:
                self._name(counter, body[16:].partition(b"\0")[0])
        elif kind in self._lost:
            self._lost[kind] += struct.unpack_from("<QQ" if kind == _LOST else "<Q", body)[-1]
        elif kind == _TRACING_DATA:  # is followed by bytes that its size does not count
            size += struct.unpack_from("<I", body)[0]
        return size

    def _take_samples(self, data, at, size):
        """Take the samples of equal size from a position on; returns the number of bytes taken."""
        layout = self._layout
        if layout is None:
            raise InputError("perf has not described its events before")
        (n_counts,) = struct.unpack_from("<Q", data[at : at + size], layout.n_counts)
        self._n_counts = self._n_counts or n_counts
        if n_counts != self._n_counts or not 1 <= n_counts <= (size - layout.counts) // (8 * layout.width):
            raise InputError(f"it has no room for {n_counts} counts, or samples before had {self._n_counts}")
        n = min(_RUN, (len(data) - at) // size)
        rows = np.frombuffer(data, _records(layout, n_counts, size), n, at)
        is_alike = (rows["kind"] == _SAMPLE) & (rows["size"] == size) & (rows["n_counts"] == n_counts)
        rows = rows[: n if is_alike.all() else is_alike.argmin()]
        self._newest = max(self._newest, rows["time"].max())
        self._waiting.append((rows["time"], rows["task"], *np.moveaxis(rows["counts"][:, :, :2], 2, 0)))
        return size * len(rows)

    def _describe(self, body):
        """Take the description of an event: its samples' layout, and the ids of its counters."""
        kind, size, config, _, sample, read, _ = struct.unpack_from("<IIQQQQQ", body)
        self._described.append(np.frombuffer(body, "<i8", offset=size or 64))
        if (kind, config) != _DUMMY:
            self._layout = _layout(sample, read)

    def _name(self, counter, name):
        """Read an event's name, which determines the column of each of its counters."""
        column = column_of(name, self.events)
        for ids in self._described:
            if counter in ids:
                self._ids, first_positions = np.unique(np.append(self._ids, ids), return_index=True)
                new = np.full(len(ids), -1 if column is None else column)
                self._columns = np.append(self._columns, new)[first_positions]
                self._last = np.append(self._last, np.zeros_like(ids))[first_positions]

    def _end_round(self):
        """Count the samples that no earlier sample can precede any more, if there are enough; return their counts."""
        limit, self._limit = self._limit, self._newest
        enough = sum(len(times) for times, *_ in self._waiting) >= _TOGETHER
        return self._go_on(limit if enough else np.uint64(0))

    def _go_on(self, limit):
        """Count the waiting samples up to a time, the earliest first; returns their counts (array)."""
        if not self._waiting or limit == 0:
            return self._open[np.newaxis][:0]
        columns = [np.concatenate(parts) for parts in zip(*self._waiting, strict=True)]
        late = columns[0] > limit
        self._waiting = [tuple(column[late] for column in columns)] if late.any() else []
        order = np.flatnonzero(~late)
        order = order[np.argsort(columns[0][order], kind="stable")]
        return self._count(*(column[order].view(np.int64) for column in columns))

    def _count(self, time, task, shown, ids):
        """Count samples, given their times, tasks, counters' values and ids (arrays); returns their counts (array)."""
        counts = np.empty((len(time), len(self._open)), np.int64)
        n, n_backwards, n_unknown = count_samples(
            time, task, shown, ids, self._ids, self._columns, self._last, self._open, self._opened, counts
        )
        self.n_backwards += n_backwards
        self.n_unreadable += n_unknown
        return counts[:n]


def column_of(name: bytes, events: Sequence[str]) -> int | None:
    """Find an event by perf's name, with or without modifiers; return its index in `events`, or None."""
    printed = name.decode(errors="replace")
    bare = _MODIFIERS.sub("", printed)
    return next((events.index(spelled) for spelled in (printed, bare) if spelled in events), None)


@njit(cache=True)
def count_samples(time, task, shown, ids, known, columns, last, open_, opened, counts):
    """Fill `counts` with the counts of each sample, a row per sample.

    A sample begins with a reading in which the first event (column 0) has moved, and takes what other events of the
    same time and task have counted. The next reading with a count that is not of these closes it; counts until the
    first event moves again are part of the next sample. All arrays are of int64. `time`, `task` (n,), `shown` and
    `ids` (n, n_counters) are readings: the counters' values, and which counters these are; `known` (sorted ids),
    `columns` (of `counts`, -1 for other events) and `last` (values) describe the counters; `open_` (counts) and
    `opened` (time, task) are the sample that is not closed yet. `counts` has at least n rows. Changed in place are
    `counts`, `last`, `open_` and `opened`. Differences are modulo 2^64, and 0 for a count that fell. Returns three
    numbers: rows filled, counts that fell, and counts of unknown counters, or of other events that moved.
    """
    n = n_backwards = n_unknown = 0
    grown = np.zeros_like(open_)
    for i in range(time.size):
        grown[:] = 0
        moved = timer_moved = False
        for k in range(ids.shape[1]):
            at = np.searchsorted(known, ids[i, k])
            if at == known.size or known[at] != ids[i, k]:
                n_unknown += 1
                continue
            since, last[at] = shown[i, k] - last[at], shown[i, k]
            column = columns[at]
            if since != 0 and column < 0:
                n_unknown += 1
            elif since != 0:
                n_backwards += since < 0
                grown[column] += max(since, 0)
                moved, timer_moved = True, timer_moved or column == 0
        if moved and open_[0] != 0 and (timer_moved or opened[0] != time[i] or opened[1] != task[i]):
            counts[n], open_[:] = open_, 0
            n += 1
        if timer_moved:
            opened[0], opened[1] = time[i], task[i]
        open_ += grown
    return n, n_backwards, n_unknown
