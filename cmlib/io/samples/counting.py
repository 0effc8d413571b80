"""Convert readings of counters to counts per sample.

:func:`count_samples` is the main function. It is compiled by numba, because a recording has millions of readings.
"""

import re
from collections.abc import Sequence

import numpy as np
from numba import njit

_MODIFIERS = re.compile(r":[ukhGHIpPSDWeb]+$")


def column_of(name: bytes, events: Sequence[str]) -> int | None:
    """Return the position of an event in a list.

    Parameters
    ----------
    name : bytes
        Name that perf wrote, with or without modifiers. For example, ``cycles:u``.
    events : sequence of str
        Names of events.

    Returns
    -------
    int or None
        None if the list does not contain the event.
    """
    full_name = name.decode(errors="replace")
    for candidate in (full_name, _MODIFIERS.sub("", full_name)):
        if candidate in events:
            return events.index(candidate)
    return None


@njit(cache=True)
def count_samples(
    time, task, values, ids, known_ids, columns, last_values, open_counts, open_time_and_task, counts
):
    """Convert readings of counters to counts per sample.

    A reading has the values of several counters at one time in one task. The increase of a value since the previous
    reading is a count. These rules assign counts to samples:

    - A sample begins with a reading in which the first event has increased.
    - Later readings of the same time and task belong to the same sample, unless the first event has increased again.
    - Any other reading with an increase ends the sample.
    - Counts between the end of a sample and the beginning of the next belong to the next sample.

    A count is 0 if the value of a counter decreased. Values can overflow, so differences are modulo 2^64.

    Parameters
    ----------
    time, task : ndarray of int64, shape (n_readings,)
        Time and task of each reading.
    values, ids : ndarray of int64, shape (n_readings, n_counters)
        Values and ids of the counters.
    known_ids : ndarray of int64, shape (n_known,)
        Ids of the known counters, sorted.
    columns : ndarray of int64, shape (n_known,)
        Column of each known counter in `counts`. -1 for counters of other events. Column 0 is the first event.
    last_values : ndarray of int64, shape (n_known,)
        Last value of each known counter. Changed in place.
    open_counts : ndarray of int64, shape (n_events,)
        Counts of the sample that has not ended. Changed in place.
    open_time_and_task : ndarray of int64, shape (2,)
        Time and task of the sample that has not ended. Changed in place.
    counts : ndarray of int64, shape (n_rows, n_events)
        Output, at least one row per reading. Changed in place.

    Returns
    -------
    n_samples : int
        Number of rows of `counts` that were filled.
    n_backwards : int
        Number of values that decreased.
    n_unknown : int
        Number of values of unknown counters, and of increases of other events.
    """
    n_samples = n_backwards = n_unknown = 0
    increases = np.zeros_like(open_counts)
    for i in range(time.size):
        increases[:] = 0
        any_increase = first_event_increased = False
        for k in range(ids.shape[1]):
            position = np.searchsorted(known_ids, ids[i, k])
            if position == known_ids.size or known_ids[position] != ids[i, k]:
                n_unknown += 1
                continue
            change = values[i, k] - last_values[position]
            last_values[position] = values[i, k]
            column = columns[position]
            if change != 0 and column < 0:
                n_unknown += 1
            elif change != 0:
                n_backwards += change < 0
                increases[column] += max(change, 0)
                any_increase = True
                if column == 0:
                    first_event_increased = True
        is_same = open_time_and_task[0] == time[i] and open_time_and_task[1] == task[i]
        if any_increase and open_counts[0] != 0 and (first_event_increased or not is_same):
            counts[n_samples] = open_counts
            open_counts[:] = 0
            n_samples += 1
        if first_event_increased:
            open_time_and_task[0] = time[i]
            open_time_and_task[1] = task[i]
        open_counts += increases
    return n_samples, n_backwards, n_unknown
