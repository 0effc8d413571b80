"""The stream that `perf record -o -` writes: records, as described in perf.data-file-format.txt."""

import struct

import numpy as np

from cmlib.samples.counting import Counting
from cmlib.samples.files import SampleError
from cmlib.samples.layout import read_attribute, records_of
from cmlib.samples.parser import column_of

_HEADER = struct.Struct("<IHH")
_BEGINNING = struct.pack("<8sQ", b"PERFILE2", 16)
_LOST, _SAMPLE, _LOST_SAMPLES = 2, 9, 13
_ATTR, _TRACING_DATA, _FINISHED_ROUND, _AUXTRACE, _EVENT_UPDATE = 64, 66, 68, 71, 78
_COMPRESSED = 81, 83
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
        self._lost = {_LOST: 0, _LOST_SAMPLES: 0}
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
        """Take the next piece of the stream, cut anywhere.

        Parameters
        ----------
        piece : bytes

        Returns
        -------
        ndarray of int64, shape (n, n_events)
            Counts of the samples that it completed, each since the sample before.

        Raises
        ------
        SampleError
            If this is no such stream, or one that can't be read, with the place in it.
        """
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
        """End the stream.

        Returns
        -------
        ndarray of int64, shape (n, n_events)
            The last samples. Counts without a sample of the first event are lost.
        """
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
            self._lost[kind] += _numbers(body, "QQ" if kind == _LOST else "Q")[-1]
        elif kind == _TRACING_DATA:
            return _numbers(body, "I")[0]
        elif kind in _COMPRESSED:
            raise SampleError("it is compressed: record without -z.")
        elif kind == _AUXTRACE:
            raise SampleError("it holds a trace of the processor: record without such events.")
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
