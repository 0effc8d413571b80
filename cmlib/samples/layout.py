"""Where perf's records keep their numbers: the layouts of linux/perf_event.h and of perf's pipe."""

import functools
import struct
from typing import NamedTuple

import numpy as np

from cmlib.samples.files import SampleError

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
    """Read the description of an event, the body of a PERF_RECORD_HEADER_ATTR.

    Parameters
    ----------
    body : bytes

    Returns
    -------
    ids : ndarray of uint64, shape (n_processors,)
        Of the event's counters.
    layout : Layout or None
        Of its samples; None for perf's dummy event.

    Raises
    ------
    SampleError
        If it is cut short, or its samples are not those of a group, without inheritance.
    """
    if len(body) < 48:
        raise SampleError(
            f"the description of an event has {len(body)} bytes, and needs 48: the stream is damaged."
        )
    kind, size, config, _, sample, read, flags = struct.unpack_from("<IIQQQQQ", body)
    size = size or 64
    if not 48 <= size <= len(body) or (len(body) - size) % 8:
        raise SampleError(
            f"the description of an event says that it has {size} bytes, of {len(body)}: the stream is damaged."
        )
    ids = np.frombuffer(body, "<u8", offset=size)
    return ids, None if (kind, config) == _DUMMY else _layout(sample, read, flags)


@functools.lru_cache(maxsize=64)
def records_of(layout, n_counts, size):
    """Type of an array of samples of equal size.

    Returns
    -------
    dtype
        With fields kind, size, task (process and thread), time, n_counts and counts, shape (n_counts, width).
    """
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
