"""From what counters showed at each sample to what was counted since the sample before."""

import re

import numpy as np
from numba import njit

from cmlib.io.samples.files import SampleError

# Samples that are counted together, 2 s of them at the paper's rate: each time costs as much as some hundred more.
_TOGETHER = 4096
_LATEST = np.uint64(2**64 - 1)


class Counting:
    """Puts samples of a group of counters in order of time, and takes differences, block by block.

    Several processors are read in turn, in rounds: a round's samples may be
    older than those of the round before, not older than those of the one before
    that. Each counter of each processor counts by itself. Samples in which the
    first event has not moved wait for the next one in which it has.

    Parameters
    ----------
    n_events : int
        The first one times the sampling.

    Attributes
    ----------
    n_backwards : int
        Counts that were smaller than at the sample before. They are taken as 0.
    n_unknown : int
        Counts of counters that belong to none of the events.
    """

    def __init__(self, n_events):
        self.n_backwards = self.n_unknown = 0
        self._ids, self._columns, self._last = (np.empty(0, np.int64) for _ in range(3))
        self._waiting, self._n_waiting = [], 0
        self._newest = self._limit = np.uint64(0)
        self._open, self._opened = np.zeros(n_events, np.int64), np.zeros(2, np.int64)
        nothing = np.empty(0, np.int64)
        # Compiled here and now: samples would be lost meanwhile.
        self._count(nothing, nothing, np.empty((0, 1), np.int64), np.empty((0, 1), np.int64))

    def know(self, ids):
        """Take note of counters, of no event as yet."""
        new = np.setdiff1d(ids.view(np.int64), self._ids)
        at = np.searchsorted(self._ids, new)
        self._ids, self._columns = np.insert(self._ids, at, new), np.insert(self._columns, at, -1)
        self._last = np.insert(self._last, at, 0)

    def name(self, ids, column):
        """Say which event counters belong to."""
        self._columns[np.searchsorted(self._ids, ids.view(np.int64))] = column

    def add(self, time, task, shown, ids):
        """Take samples as they come: time and task, shape (n,), counts and their counters, shape (n, k); all uint64."""
        self._newest = max(self._newest, time.max())
        self._waiting.append((time, task, shown, ids))
        self._n_waiting += len(time)

    def end_round(self):
        """Counts of all samples that no earlier one can follow any more, shape (n, n_events); none if they are few."""
        limit, self._limit = self._limit, self._newest
        return self._go_on(limit) if self._n_waiting >= _TOGETHER else self._open[np.newaxis][:0]

    def finish(self):
        """Counts of the samples that are left, shape (n, n_events)."""
        counts = self._go_on(_LATEST)
        return np.vstack([counts, self._open]) if self._open[0] else counts

    def _go_on(self, limit):
        """Count the samples up to a time, the earliest first."""
        if not self._waiting:
            return self._open[np.newaxis][:0]
        columns = [np.concatenate(parts) for parts in zip(*self._waiting, strict=True)]
        late = columns[0] > limit
        self._waiting = [tuple(column[late] for column in columns)] if late.any() else []
        self._n_waiting = np.count_nonzero(late)
        order = np.flatnonzero(~late)
        order = order[np.argsort(columns[0][order], kind="stable")]
        return self._count(*(column[order].view(np.int64) for column in columns))

    def _count(self, time, task, shown, ids):
        counts = np.empty((len(time), len(self._open)), np.int64)
        n, n_backwards, n_unknown = _count(
            time, task, shown, ids, self._ids, self._columns, self._last, self._open, self._opened, counts
        )
        self.n_backwards += n_backwards
        self.n_unknown += n_unknown
        return counts[:n]


@njit(cache=True)
def _count(time, task, shown, ids, known, columns, last, open_, opened, counts):
    """Close the open sample when the first event moves, or another task or time comes; all modulo 2^64."""
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


FIELDS = "tid,time,period,event"

_LONGEST_LINE = 1 << 20
_MODIFIERS = re.compile(r":[ukhGHIpPSDWeb]+$")
# A count that fell since the last sample: perf prints the difference as unsigned.
_NEGATIVE = 1 << 63


class SampleParser:
    """Turns the text of ``perf script -F tid,time,period,event`` into counts, block by block.

    perf prints a line an event: the count since the event's sample before.
    The first event's line opens a sample; an event that did not happen has none.

    Parameters
    ----------
    events : sequence of str
        Names as perf prints them, without modifiers; the first one times the sampling.

    Attributes
    ----------
    n_samples : int
    n_lost : int
        Samples that perf says it lost, its buffer being full. Their counts are
        not: they are part of the next sample's.
    n_backwards : int
        Counts that were smaller than at the sample before, as after a reset.
        They are taken as 0, and counting goes on from there.
    n_unreadable : int
        Lines that are neither a sample of these events nor a loss, and a last
        line that was cut off. They are passed over.
    """

    def __init__(self, events):
        self.events = tuple(events)
        self.n_samples = self.n_backwards = self.n_unreadable = 0
        self._lost = {b"LOST": 0, b"LOST_SAMPLES": 0}
        self._columns = {}
        self._open = [0] * len(self.events)
        self._open_since = None
        self._rest = b""

    @property
    def n_lost(self):
        """Samples that perf lost. Newer ones tell it twice: as it happens, and all at the end."""
        return max(self._lost.values())

    def feed(self, text):
        """Take the next piece of text, cut anywhere."""
        *lines, self._rest = (self._rest + text).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            raise SampleError(
                f"this is not what `perf script` prints: a line has more than {_LONGEST_LINE:,} bytes."
            )
        return self._table([sample for line in lines for sample in self._read(line)])

    def finish(self):
        """End the stream."""
        self.n_unreadable += bool(self._rest.strip())
        self._rest = b""
        return self._table(self._close())

    def _read(self, line):
        try:
            task, time, count, name = line.split()
            count, column = int(count), self._column(name)
        except ValueError:
            column = None
        if column is None:
            self._read_other(line)
            return ()
        if count >= _NEGATIVE:
            self.n_backwards += 1
            count = 0
        finished = ()
        if column == 0 or self._open_since not in (None, (task, time)):
            finished = self._close()
        if column == 0:
            self._open_since = task, time
        self._open[column] += count
        return finished

    def _close(self):
        """The open sample, if the first event moved; otherwise its counts wait for the next one."""
        if self._open[0] == 0:
            return ()
        sample, self._open, self._open_since = self._open, [0] * len(self.events), None
        self.n_samples += 1
        return (sample,)

    def _column(self, name):
        if name not in self._columns:
            self._columns[name] = column_of(name.removesuffix(b":"), self.events)
        return self._columns[name]

    def _read_other(self, line):
        if match := re.search(rb"PERF_RECORD_(LOST|LOST_SAMPLES) lost (\d+)", line):
            self._lost[match[1]] += int(match[2])
        elif line.strip():
            self.n_unreadable += 1

    def _table(self, samples):
        return np.array(samples, dtype=np.int64).reshape(-1, len(self.events))


def column_of(name, events):
    """Which of the events perf means by a name (bytes), with or without modifiers; None if none of them."""
    printed = name.decode(errors="replace")
    bare = _MODIFIERS.sub("", printed)
    return next((events.index(each) for each in (printed, bare) if each in events), None)
