"""From the files regions write to samples that can be compared (AutoPerf, §3.2 and §4.1)."""

import io

import numpy as np
import pandas as pd

ABOUT = ("function", "location", "thread", "threads", "seconds", "running", "instructions")
PLACE = ("function", "location")


def read_regions(path):
    """Read a file that regions wrote.

    Parameters
    ----------
    path : path-like or text buffer
        Plain or compressed CSV; a file appended to by several processes holds several headers.

    Returns
    -------
    DataFrame
        A row a dynamic invocation, in the order of their ends: function, location, thread, threads, seconds,
        running (0-1), instructions, and a column a counter [events]. NaN where nothing was counted.

    Raises
    ------
    ValueError
        If a column is missing, or processes counted different events.
    """
    frame = pd.read_csv(path, dtype={"function": str, "location": str})
    missing = [column for column in ABOUT if column not in frame]
    if missing:
        raise ValueError(f"{path}: not a file of regions, columns {missing} are missing")
    repeated = frame["thread"].astype(str) == "thread"
    if (frame.loc[repeated].to_numpy(str) != np.array(frame.columns, str)).any():
        raise ValueError(
            f"{path}: processes that counted different events wrote to it; give each its own file"
        )
    numbers = [column for column in frame if column not in PLACE]
    return frame[~repeated].reset_index(drop=True).astype(dict.fromkeys(numbers, float))


def normalize(regions, *, per="instructions"):
    """Counts per instruction and thread.

    Parameters
    ----------
    regions : DataFrame
        As from `read_regions`.
    per : str, default "instructions"
        Counter by which the others are divided. Where there is no PMU, ``task-clock`` [ns] stands in.

    Returns
    -------
    DataFrame
        Columns function, location, and a counter each [events per instruction of this sample, divided by the
        number of threads].

    Raises
    ------
    ValueError
        If `per` or a counter weren't counted, or a row's group was off the counters for a while.
    """
    counters = [column for column in regions if column not in (*ABOUT, per)]
    uncounted = [c for c in (per, *counters) if c not in regions or not np.isfinite(regions[c]).all()]
    if uncounted or not (regions[per] > 0).all():
        raise ValueError(
            f"{', '.join(uncounted) or per} were not counted in every sample: record on a machine whose "
            "`cmlib doctor` finds good counters, with fewer events at a time"
        )
    if (regions["running"] < 1).any():
        raise ValueError(
            f"{(regions['running'] < 1).sum()} of {len(regions)} samples were not counted all the time "
            "(running < 1): another perf took counters away; record this run again"
        )
    rates = regions[counters].div(regions[per] * regions["threads"], axis=0)
    return pd.concat([regions[list(PLACE)], rates], axis=1)


def merge_runs(parts):
    """One run out of several with the same input that counted different events.

    The k-th invocation of a function in one is the k-th in the others; a counter in several is averaged.
    Where they were invoked unequally often, the last invocations are left out.

    Parameters
    ----------
    parts : sequence of DataFrame
        Normalized, each by its own instructions.

    Returns
    -------
    DataFrame
        Columns function, location, then all counters.

    Raises
    ------
    ValueError
        If there is no part, or the parts have no invocation in common.
    """
    if not parts:
        raise ValueError("no parts to merge: give at least one normalized run")
    keyed = [part.assign(invocation=part.groupby(list(PLACE)).cumcount()) for part in parts]
    keyed = [part.set_index([*PLACE, "invocation"]) for part in keyed]
    common = keyed[0].index
    for part in keyed[1:]:
        common = common.intersection(part.index, sort=False)
    if not len(common):
        raise ValueError(
            f"{len(parts)} parts have no invocation of the same function in common: not the same program"
        )
    counters = pd.concat([part.loc[common] for part in keyed], axis=1)
    merged = counters.T.groupby(level=0, sort=False).mean().T
    return merged.reset_index().drop(columns="invocation")


def read_runs(text, *, per="instructions"):
    """Split a recording of many processes into its merged runs.

    Parameters
    ----------
    text : str
        Files of regions, one after the other, each headed by ``# run=NAME key=value …``; those of the same name
        are parts of one run.
    per : str, default "instructions"
        As for `normalize`.

    Returns
    -------
    dict of str to DataFrame
        Run to its normalized, merged samples, in the order of recording.
    """
    parts = {}
    for piece in text.split("# run=")[1:]:
        heading, _, rows = piece.partition("\n")
        parts.setdefault(heading.split()[0], []).append(normalize(read_regions(io.StringIO(rows)), per=per))
    return {run: merge_runs(pieces) for run, pieces in parts.items()}
