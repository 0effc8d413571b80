"""What ``perf script`` prints of samples, line by line."""

import functools
import re

import numpy as np

from cmlib.io.samples import SampleError
from cmlib.io.samples.counting import column_of

_LONGEST_LINE = 1 << 20
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
        self._column = functools.cache(lambda name: column_of(name.removesuffix(b":"), self.events))
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
            if match := re.search(rb"PERF_RECORD_(LOST|LOST_SAMPLES) lost (\d+)", line):
                self._lost[match[1]] += int(match[2])
            elif line.strip():
                self.n_unreadable += 1
            return ()
        if not 0 <= count < _NEGATIVE:
            self.n_backwards += 1
            count = 0
        finished = ()
        if column == 0 or self._open_since not in (None, (task, time)):
            finished = self._close()
        if column == 0:
            self._open_since = task, time
        self._open[column] = min(self._open[column] + count, _NEGATIVE - 1)
        return finished

    def _close(self):
        """The open sample, if the first event moved; otherwise its counts wait for the next one."""
        if self._open[0] == 0:
            return ()
        sample, self._open, self._open_since = self._open, [0] * len(self.events), None
        self.n_samples += 1
        return (sample,)

    def _table(self, samples):
        return np.array(samples, dtype=np.int64).reshape(-1, len(self.events))
