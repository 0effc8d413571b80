"""Read the binary output of ``perf record -o -`` as counts per sample.

:class:`SampleReader` takes the bytes while perf writes them. Names with capital letters in the comments are constants
of perf's file format.
"""

import functools
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cmlib.errors import InputError
from cmlib.io.samples.counting import column_of, count_samples
from cmlib.io.samples.files import SampleError

_TID, _TIME = 1 << 1, 1 << 2
# Fields of a sample before its counts, as bits of PERF_SAMPLE_: IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU,
# PERIOD. Each has 8 bytes.
_FIELDS_BEFORE_COUNTS = (1 << 16, 1 << 0, _TID, _TIME, 1 << 3, 1 << 6, 1 << 9, 1 << 7, 1 << 8)
# Bits of PERF_FORMAT_: the times enabled and running, and the number of lost samples.
_TIMES, _LOST_COUNTS = 0b11, 1 << 4
# All bits of PERF_SAMPLE_ and PERF_FORMAT_ that this module knows.
_KNOWN_SAMPLE_BITS, _KNOWN_READ_BITS = (1 << 25) - 1, (1 << 5) - 1
# PERF_TYPE_SOFTWARE and PERF_COUNT_SW_DUMMY: an event that perf adds and never samples.
_DUMMY = 1, 9
_BEGINNING = struct.pack("<8sQ", b"PERFILE2", 16)
_HEADER = struct.Struct("<IHH")  # type, misc and size of a record
# Types of records, PERF_RECORD_.
_LOST, _SAMPLE, _LOST_SAMPLES = 2, 9, 13
_ATTR, _TRACING_DATA, _FINISHED_ROUND, _EVENT_UPDATE = 64, 66, 68, 78
_NAME_UPDATE = 2  # type of an event update, PERF_EVENT_UPDATE__NAME
_MOST_ROWS = 4096  # samples that are parsed as one array
# Fewest readings that are converted in one call. A call takes as long as some hundred readings.
_FEWEST_READINGS = 4096
_LATEST = np.uint64(2**64 - 1)


class _Layout(NamedTuple):
    """Positions of the fields in a sample's record.

    Attributes
    ----------
    task, time, n_counts, counts : int
        Offset of the field [bytes].
    width : int
        Number of 8-byte words per counter: its value, its id, and perhaps its lost samples.
    """

    task: int
    time: int
    n_counts: int
    counts: int
    width: int


class _Readings(NamedTuple):
    """Values of counters in several samples, one row per sample."""

    time: np.ndarray
    task: np.ndarray
    values: np.ndarray
    ids: np.ndarray


class SampleReader:
    """Convert the output of ``perf record -o -`` to counts per sample.

    Call `feed` with each piece of the output, and `finish` at the end.

    Parameters
    ----------
    events : sequence of str
        Names of the events in perf's output, without modifiers. perf takes a sample each time the first event has
        counted a period.

    Attributes
    ----------
    events : tuple of str
        Names of the events.
    n_samples : int
        Number of samples so far.
    n_lost : int
        Number of samples that perf lost. Their counts are added to the next sample.
    n_backwards : int
        Number of values that were smaller than in the previous sample. They count as 0.
    n_unreadable : int
        Number of values of other events, and of incomplete records at the end. They are ignored.
    """

    def __init__(self, events: Sequence[str]):
        self.events = tuple(events)
        self.n_samples = 0
        self.n_backwards = 0
        self.n_unreadable = 0
        self._lost = {_LOST: 0, _LOST_SAMPLES: 0}
        # State of the stream: unread bytes, bytes to skip, and whether the beginning was read.
        self._rest = b""
        self._n_to_skip = 0
        self._has_begun = False
        # Descriptions of the events, and of all their counters, sorted by id.
        self._ids_by_event: list[np.ndarray] = []
        self._layout: _Layout | None = None
        self._n_counts = 0
        self._ids = np.empty(0, np.int64)
        self._columns = np.empty(0, np.int64)
        self._last_values = np.empty(0, np.int64)
        # Readings that wait for older readings, the newest time so far, and the newest time of the previous round.
        self._waiting: list[_Readings] = []
        self._newest = np.uint64(0)
        self._newest_of_previous_round = np.uint64(0)
        # The sample that has not ended.
        self._open_counts = np.zeros(len(self.events), np.int64)
        self._open_time_and_task = np.zeros(2, np.int64)
        # Compile count_samples before the first sample. perf would lose samples during the compilation.
        no_rows = np.empty(0, np.int64)
        no_values = np.empty((0, 1), np.int64)
        self._count(_Readings(no_rows, no_rows, no_values, no_values))

    @property
    def n_lost(self) -> int:
        """Number of samples that perf lost.

        perf reports losses in two kinds of records. The larger number is used.
        """
        return max(self._lost.values())

    def feed(self, piece: bytes) -> np.ndarray:
        """Read the next piece of the output.

        Parameters
        ----------
        piece : bytes
            The output can be cut at any byte.

        Returns
        -------
        ndarray of int64, shape (n_samples, n_events)
            Counts of the samples that are complete. Can be empty.

        Raises
        ------
        SampleError
            If the output is damaged or was not written by ``perf record -o -``.
        """
        data = self._rest + piece
        if not self._has_begun:
            self._read_beginning(data)
        blocks = []
        position = self._n_to_skip
        while self._has_begun and len(data) - position >= _HEADER.size:
            kind, _, size = _HEADER.unpack_from(data, position)
            if size >= _HEADER.size and len(data) - position < size:
                break
            try:
                position += self._read_record(kind, data, position, size)
            except (struct.error, ValueError, IndexError) as error:
                record = f"a record of type {kind} with {size} bytes"
                raise SampleError(f"perf's stream cannot be read, {record}: {error}.") from None
            if kind == _FINISHED_ROUND:
                blocks.append(self._end_round())
        self._n_to_skip = max(0, position - len(data))
        self._rest = data[position:]
        return self._join(blocks)

    def finish(self) -> np.ndarray:
        """End the output.

        Returns
        -------
        ndarray of int64, shape (n_samples, n_events)
            Counts of the remaining samples.
        """
        if self._rest or self._n_to_skip:
            self.n_unreadable += 1
        self._rest = b""
        self._n_to_skip = 0
        blocks = [self._count_until(_LATEST)]
        if self._open_counts[0]:
            blocks.append(self._open_counts[np.newaxis])
        return self._join(blocks)

    def _join(self, blocks: list[np.ndarray]) -> np.ndarray:
        """Join arrays of counts, and add their rows to the number of samples."""
        counts = np.concatenate([np.empty((0, len(self.events)), np.int64), *blocks])
        self.n_samples += len(counts)
        return counts

    def _read_beginning(self, data: bytes) -> None:
        """Check the first bytes of the output."""
        if not _BEGINNING.startswith(data[:16]):
            raise SampleError(
                f"this is not what `perf record -o -` writes, which begins with {_BEGINNING!r}: it begins with "
                f"{data[:16]!r}."
            )
        self._has_begun = len(data) >= len(_BEGINNING)
        self._n_to_skip = len(_BEGINNING) if self._has_begun else 0

    def _read_record(self, kind: int, data: bytes, position: int, size: int) -> int:
        """Read the record at a position.

        Samples of equal size after a sample are read with it. Returns the number of bytes that were read.
        """
        if size < _HEADER.size:
            raise InputError("it is damaged")
        if kind == _SAMPLE:
            return self._read_samples(data, position, size)
        body = data[position + _HEADER.size : position + size]
        if kind == _ATTR:
            self._read_description(body)
        elif kind == _EVENT_UPDATE:
            update_kind, counter_id = struct.unpack_from("<QQ", body)
            if update_kind == _NAME_UPDATE:
                name = body[16:].partition(b"\0")[0]
                self._read_name(counter_id, name)
        elif kind in self._lost:
            numbers = struct.unpack_from("<QQ" if kind == _LOST else "<Q", body)
            self._lost[kind] += numbers[-1]
        elif kind == _TRACING_DATA:
            # The size of the record does not include the data after it.
            size += struct.unpack_from("<I", body)[0]
        return size

    def _read_samples(self, data: bytes, position: int, size: int) -> int:
        """Read consecutive samples of equal size.

        Returns the number of bytes that were read.
        """
        layout = self._layout
        if layout is None:
            raise InputError("perf has not described its events before")
        (n_counts,) = struct.unpack_from("<Q", data[position : position + size], layout.n_counts)
        self._n_counts = self._n_counts or n_counts
        most_counts = (size - layout.counts) // (8 * layout.width)
        if n_counts != self._n_counts or not 1 <= n_counts <= most_counts:
            raise InputError(f"it has no room for {n_counts} counts, or samples before had {self._n_counts}")
        n_rows = min(_MOST_ROWS, (len(data) - position) // size)
        rows = np.frombuffer(data, _make_record_dtype(layout, n_counts, size), n_rows, position)
        is_equal = (rows["kind"] == _SAMPLE) & (rows["size"] == size) & (rows["n_counts"] == n_counts)
        if not is_equal.all():
            rows = rows[: is_equal.argmin()]
        self._newest = max(self._newest, rows["time"].max())
        values = rows["counts"][:, :, 0]
        ids = rows["counts"][:, :, 1]
        self._waiting.append(_Readings(rows["time"], rows["task"], values, ids))
        return size * len(rows)

    def _read_description(self, body: bytes) -> None:
        """Read the description of an event.

        It contains the layout of its samples and the ids of its counters.
        """
        kind, size, config, _, sample_bits, read_bits, _ = struct.unpack_from("<IIQQQQQ", body)
        self._ids_by_event.append(np.frombuffer(body, "<i8", offset=size or 64))
        if (kind, config) != _DUMMY:
            self._layout = _find_layout(sample_bits, read_bits)

    def _read_name(self, counter_id: int, name: bytes) -> None:
        """Assign a column to the counters of an event, found by its name."""
        column = column_of(name, self.events)
        for ids in self._ids_by_event:
            if counter_id not in ids:
                continue
            self._ids, first_positions = np.unique(np.append(self._ids, ids), return_index=True)
            new_columns = np.full(len(ids), -1 if column is None else column)
            self._columns = np.append(self._columns, new_columns)[first_positions]
            self._last_values = np.append(self._last_values, np.zeros_like(ids))[first_positions]

    def _end_round(self) -> np.ndarray:
        """Count the waiting samples that are complete, unless there are few.

        perf reads the processors one after the other, in rounds. A sample can be older than the samples of the previous
        round, but not older than those of the round before.
        """
        limit = self._newest_of_previous_round
        self._newest_of_previous_round = self._newest
        n_waiting = sum(len(readings.time) for readings in self._waiting)
        if n_waiting < _FEWEST_READINGS:
            limit = np.uint64(0)
        return self._count_until(limit)

    def _count_until(self, limit: np.uint64) -> np.ndarray:
        """Count the waiting samples up to a time, sorted by time."""
        if not self._waiting or limit == 0:
            return np.empty((0, len(self.events)), np.int64)
        readings = _Readings(*(np.concatenate(arrays) for arrays in zip(*self._waiting, strict=True)))
        is_late = readings.time > limit
        self._waiting = []
        if is_late.any():
            self._waiting = [_Readings(*(array[is_late] for array in readings))]
        order = np.flatnonzero(~is_late)
        order = order[np.argsort(readings.time[order], kind="stable")]
        return self._count(_Readings(*(array[order].view(np.int64) for array in readings)))

    def _count(self, readings: _Readings) -> np.ndarray:
        """Convert readings to counts of complete samples."""
        counts = np.empty((len(readings.time), len(self.events)), np.int64)
        n_samples, n_backwards, n_unknown = count_samples(
            *readings,
            self._ids,
            self._columns,
            self._last_values,
            self._open_counts,
            self._open_time_and_task,
            counts,
        )
        self.n_backwards += n_backwards
        self.n_unreadable += n_unknown
        return counts[:n_samples]


def _find_layout(sample_bits: int, read_bits: int) -> _Layout:
    """Return the layout of an event's samples.

    It depends on the event's settings sample_type and read_format.
    """
    unknown_bits = sample_bits & ~_KNOWN_SAMPLE_BITS or read_bits & ~_KNOWN_READ_BITS
    if unknown_bits:
        raise InputError(
            f"the samples of this perf have fields that are not known here ({unknown_bits:#x}): read them with "
            "`perf script`, or use an older perf"
        )
    fields = [bit for bit in _FIELDS_BEFORE_COUNTS if sample_bits & bit]
    n_counts = 8 + 8 * len(fields)
    n_times = (read_bits & _TIMES).bit_count()
    return _Layout(
        task=8 + 8 * fields.index(_TID),
        time=8 + 8 * fields.index(_TIME),
        n_counts=n_counts,
        counts=n_counts + 8 + 8 * n_times,
        width=3 if read_bits & _LOST_COUNTS else 2,
    )


@functools.lru_cache(maxsize=64)
def _make_record_dtype(layout: _Layout, n_counts: int, size: int) -> np.dtype:
    """Return the NumPy dtype of samples of equal size."""
    return np.dtype(
        {
            "names": ["kind", "size", "task", "time", "n_counts", "counts"],
            "formats": ["<u4", "<u2", "<u8", "<u8", "<u8", ("<u8", (n_counts, layout.width))],
            "offsets": [0, 6, layout.task, layout.time, layout.n_counts, layout.counts],
            "itemsize": size,
        }
    )
