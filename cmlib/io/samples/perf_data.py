"""Where perf's records keep their numbers: the layouts of linux/perf_event.h and of perf's pipe."""

import functools
import struct
from typing import NamedTuple

import numpy as np

from cmlib.io.samples.files import SampleError
from cmlib.io.samples.perf_script import Counting, column_of

_GROUP, _ID, _LOST = 1 << 3, 1 << 2, 1 << 4
_READ, _TID, _TIME = 1 << 4, 1 << 1, 1 << 2
# PERF_SAMPLE_ bits and their bytes, in the order in which a sample holds them, up to the counts.
_BEFORE_COUNTS = {
    1 << 16: 8,  # IDENTIFIER
    1 << 0: 8,  # IP
    _TID: 8,
    _TIME: 8,
    1 << 3: 8,  # ADDR
    1 << 6: 8,  # ID
    1 << 9: 8,  # STREAM_ID
    1 << 7: 8,  # CPU
    1 << 8: 8,  # PERIOD
}
_KNOWN_SAMPLE, _KNOWN_READ = (1 << 25) - 1, (1 << 5) - 1
_INHERIT = 1 << 1
_DUMMY = 1, 9  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY: an event of perf's own that is never sampled


class Layout(NamedTuple):
    """Where a sample of a group of counters keeps what is read of it [bytes from the record's start]."""

    task: int
    time: int
    n_counts: int
    counts: int
    width: int  # u64 of each counter: its count, its id, perhaps its losses


def read_attribute(body):
    """Read the description of an event, the body of a PERF_RECORD_HEADER_ATTR."""
    kind, size, config, _, sample, read, flags = _numbers(body, "IIQQQQQ")
    size = size or 64
    if not 48 <= size <= len(body) or (len(body) - size) % 8:
        raise SampleError(
            f"the description of an event says that it has {size} bytes, of {len(body)}: the stream is damaged."
        )
    ids = np.frombuffer(body, "<u8", offset=size)
    return ids, None if (kind, config) == _DUMMY else _layout(sample, read, flags)


@functools.lru_cache(maxsize=64)
def records_of(layout, n_counts, size):
    """Type of an array of samples of equal size."""
    return np.dtype(
        {
            "names": ["kind", "size", "task", "time", "n_counts", "counts"],
            "formats": ["<u4", "<u2", "<u8", "<u8", "<u8", ("<u8", (n_counts, layout.width))],
            "offsets": [0, 6, layout.task, layout.time, layout.n_counts, layout.counts],
            "itemsize": size,
        }
    )


def _layout(sample, read, flags):
    if unknown := sample & ~_KNOWN_SAMPLE or read & ~_KNOWN_READ:
        raise SampleError(
            f"this perf puts things into samples that are not known here (sample_type {sample:#x}, read_format "
            f"{read:#x}, unknown {unknown:#x}): let `perf script` read what it recorded, or use an older perf."
        )
    if sample & (_READ | _TID | _TIME) != _READ | _TID | _TIME or read & (_GROUP | _ID) != _GROUP | _ID:
        raise SampleError(
            f"samples without task, time or counts of a group (sample_type {sample:#x}, read_format {read:#x}): "
            "record them with perf record -e '{A,B}:S'."
        )
    if flags & _INHERIT:
        raise SampleError(
            "samples of inherited counters, whose counts are each task's own: record with --no-inherit."
        )
    offsets, end = {}, 8
    for bit, width in _BEFORE_COUNTS.items():
        if sample & bit:
            offsets[bit], end = end, end + width
    times = 8 * (read & 0b11).bit_count()  # TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING
    return Layout(offsets[_TID], offsets[_TIME], end, end + 8 + times, 3 if read & _LOST else 2)


_HEADER = struct.Struct("<IHH")
_BEGINNING = struct.pack("<8sQ", b"PERFILE2", 16)
_LOST_binary, _SAMPLE, _LOST_SAMPLES = 2, 9, 13
_ATTR, _TRACING_DATA, _FINISHED_ROUND, _AUXTRACE, _EVENT_UPDATE = 64, 66, 68, 71, 78
_REFUSED = {
    81: "it is compressed: record without -z.",
    83: "it is compressed: record without -z.",
    _AUXTRACE: "it holds a trace of the processor: record without such events.",
}
_NAME = 2  # of PERF_EVENT_UPDATE__
_RUN = 4096  # samples looked at together


class SampleReader:
    """Turns the bytes of ``perf record -o -`` into counts, block by block.

    The same counts as :class:`SampleParser` makes of what ``perf script``
    prints of these bytes, without it.

    Parameters
    ----------
    events : sequence of str
        Names as perf has them, without modifiers; the first one times the sampling.

    Attributes
    ----------
    n_samples, n_lost, n_backwards : int
        As of :class:`SampleParser`.
    n_unreadable : int
        Counts of other events, and a last record that was cut off. They are passed over.
    """

    def __init__(self, events):
        self.events = tuple(events)
        self.n_samples = 0
        self._lost = {_LOST_binary: 0, _LOST_SAMPLES: 0}
        self._counting = Counting(len(self.events))
        self._described = []
        self._layout = self._n_counts = None
        self._rest, self._at, self._to_skip, self._cut = b"", 0, 0, 0

    @property
    def n_lost(self):
        """Samples that perf lost. Newer ones tell it twice: as it happens, and all at the end."""
        return max(self._lost.values())

    @property
    def n_backwards(self):
        """Counts that were smaller than at the sample before, as after a reset; they are taken as 0."""
        return self._counting.n_backwards

    @property
    def n_unreadable(self):
        """Counts of other events, and a last record that was cut off."""
        return self._counting.n_unknown + self._cut

    def feed(self, piece):
        """Take the next piece of the stream, cut anywhere."""
        data, blocks = self._rest + piece, []
        if self._at == 0:
            _check_beginning(data)
            if len(data) < len(_BEGINNING):
                self._rest = data
                return self._told(blocks)
        at = self._to_skip if self._at else len(_BEGINNING)
        while len(data) - at >= _HEADER.size:
            kind, _, size = _HEADER.unpack_from(data, at)
            if len(data) - at < size:
                break
            try:
                if size < _HEADER.size:
                    raise SampleError(f"it says that it has {size} bytes: the stream is damaged.")
                if kind == _SAMPLE:
                    at += self._take_samples(data, at, size)
                    continue
                if kind == _FINISHED_ROUND:
                    blocks.append(self._counting.end_round())
                at += size + self._take_other(kind, data[at + _HEADER.size : at + size])
            except SampleError as error:
                raise SampleError(
                    f"perf's stream can't be read: record of type {kind} at byte {self._at + at}: {error}"
                ) from None
        self._to_skip = max(0, at - len(data))
        self._rest = data[at:]
        self._at += min(at, len(data))
        return self._told(blocks)

    def finish(self):
        """End the stream."""
        self._cut += bool(self._rest or self._to_skip)
        self._rest, self._to_skip = b"", 0
        return self._told([self._counting.finish()])

    def _told(self, blocks):
        counts = np.concatenate([np.empty((0, len(self.events)), np.int64), *blocks])
        self.n_samples += len(counts)
        return counts

    def _take_samples(self, data, at, size):
        """Take all samples of one size that lie one after the other; returns their bytes."""
        layout = self._layout
        if layout is None:
            raise SampleError("a sample before perf has described its events: record them all anew.")
        if size < layout.counts:
            raise SampleError(f"a sample of {size} bytes, and its layout needs {layout.counts}.")
        n_counts = int.from_bytes(data[at + layout.n_counts : at + layout.n_counts + 8], "little")
        if n_counts != (self._n_counts or n_counts) or not 1 <= n_counts <= (size - layout.counts) // (
            8 * layout.width
        ):
            raise SampleError(
                f"a sample of {size} bytes with {n_counts} counts, after samples with {self._n_counts}: "
                "are there several groups? Sample one."
            )
        self._n_counts = n_counts
        n = min(_RUN, (len(data) - at) // size)
        rows = np.frombuffer(data, records_of(layout, n_counts, size), n, at)
        alike = (rows["kind"] == _SAMPLE) & (rows["size"] == size) & (rows["n_counts"] == n_counts)
        rows = rows[: n if alike.all() else alike.argmin()]
        counts = rows["counts"]
        self._counting.add(rows["time"], rows["task"], counts[:, :, 0], counts[:, :, 1])
        return size * len(rows)

    def _take_other(self, kind, body):
        """Take any other record; returns how many bytes follow it that its size does not count."""
        if kind == _ATTR:
            self._describe(*read_attribute(body))
        elif kind == _EVENT_UPDATE:
            what, counter = _numbers(body, "QQ")
            if what == _NAME:
                self._name(counter, body[16:].partition(b"\0")[0])
        elif kind in self._lost:
            self._lost[kind] += _numbers(body, "QQ" if kind == _LOST_binary else "Q")[-1]
        elif kind == _TRACING_DATA:
            return _numbers(body, "I")[0]
        elif kind in _REFUSED:
            raise SampleError(_REFUSED[kind])
        return 0

    def _describe(self, ids, layout):
        if layout and self._layout not in (None, layout):
            raise SampleError(
                "it describes samples of another layout than the event before: sample one group of events."
            )
        self._layout = self._layout or layout
        self._described.append(ids)
        self._counting.know(ids)

    def _name(self, counter, name):
        column = column_of(name, self.events)
        for ids in self._described:
            if column is not None and counter in ids:
                self._counting.name(ids, column)


def _check_beginning(data):
    if data[:8] == _BEGINNING[7::-1]:
        raise SampleError("perf's stream is of a machine with the other byte order: read it on such a one.")
    if not _BEGINNING.startswith(data[:16]):
        what = "is a perf.data file" if data[:8] == _BEGINNING[:8] else f"begins with {data[:8]!r}"
        raise SampleError(
            f"this is not what `perf record -o -` writes, which begins with {_BEGINNING!r}: it {what}. "
            "`cmlib compress` reads perf.data files."
        )


def _numbers(body, form):
    form = struct.Struct(f"<{form}")
    if len(body) < form.size:
        raise SampleError(f"it holds {len(body)} bytes, and needs {form.size}: the stream is damaged.")
    return form.unpack_from(body)
