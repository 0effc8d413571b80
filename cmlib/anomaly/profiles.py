"""From the files regions write to samples that can be compared (AutoPerf, §3.2 and §4.1)."""

import io

import numpy as np
import pandas as pd

ABOUT = ("function", "location", "thread", "threads", "work", "seconds", "running", "instructions")
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
        A row a dynamic invocation, in the order of their ends: function, location, thread, threads, work,
        seconds, running (0-1), instructions, and a column a counter [events]. NaN where nothing was counted.

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
    """Counts per instruction and thread, or per unit of work.

    Parameters
    ----------
    regions : DataFrame
        As from `read_regions`.
    per : {"instructions", "work"}, default "instructions"
        What counts are divided by. Where there is no PMU, and so no instructions, the work that the program
        says it does stands in.

    Returns
    -------
    DataFrame
        Columns function, location, and a counter each [events per instruction of this sample, divided by the
        number of threads; or events per unit of work].

    Raises
    ------
    ValueError
        If the instructions or a counter weren't counted, or a row's group was off the counters for a while.
    """
    divisor = {"instructions": regions["instructions"] * regions["threads"], "work": regions["work"]}[per]
    counters = [column for column in regions if column not in ABOUT]
    uncounted = [c for c in (per, *counters) if not np.isfinite(regions[c]).all()]
    if uncounted or not (divisor > 0).all():
        raise ValueError(
            f"{', '.join(uncounted) or per} were not counted in every sample: record on a machine whose "
            "`cmlib doctor` finds good counters, with fewer events at a time"
        )
    if (regions["running"] < 1).any():
        raise ValueError(
            f"{(regions['running'] < 1).sum()} of {len(regions)} samples were not counted all the time "
            "(running < 1): another perf took counters away; record this run again"
        )
    return pd.concat([regions[list(PLACE)], regions[counters].div(divisor, axis=0)], axis=1)


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
    places = [part[list(PLACE)].to_numpy() for part in parts]
    if all(np.array_equal(place, places[0]) for place in places[1:]):
        return pd.concat([parts[0][list(PLACE)], _averaged(parts)], axis=1)
    keyed = [part.assign(invocation=part.groupby(list(PLACE)).cumcount()) for part in parts]
    keyed = [part.set_index([*PLACE, "invocation"]) for part in keyed]
    common = keyed[0].index
    for part in keyed[1:]:
        common = common.intersection(part.index, sort=False)
    if not len(common):
        raise ValueError(
            f"{len(parts)} parts have no invocation of the same function in common: not the same program"
        )
    merged = _averaged([part.loc[common] for part in keyed])
    return merged.reset_index().drop(columns="invocation")


def read_runs(text, *, per="instructions"):
    """Split a recording of many processes into its merged runs.

    Parameters
    ----------
    text : str
        Files of regions, one after the other, each headed by ``# run=NAME key=value …``; those of the same
        name are parts of one run.
    per : {"instructions", "work"}, default "instructions"
        As for `normalize`.

    Returns
    -------
    dict of str to DataFrame
        Run to its normalized, merged samples, in the order of recording.
    """
    of_run = {}
    for piece in text.split("# run=")[1:]:
        heading, _, rows = piece.partition("\n")
        of_run.setdefault(heading.split()[0], []).append(rows)
    return _read_at_once(of_run, per) or {
        run: merge_runs([normalize(read_regions(io.StringIO(rows)), per=per) for rows in parts])
        for run, parts in of_run.items()
    }


def _read_at_once(of_run, per):
    """Read runs whose parts have the same invocations in one go, or tell that they don't by None.

    Piece by piece, nearly all of the time goes into starting.
    """
    wholes, lengths = [], []
    if len({len(parts) for parts in of_run.values()}) != 1:
        return None
    for part in zip(*of_run.values(), strict=True):
        header = part[0].partition("\n")[0]
        bodies = [rows.strip("\n").split("\n") for rows in part]
        if any(body[0] != header or header in body[1:] for body in bodies):
            return None
        lengths.append([len(body) - 1 for body in bodies])
        text = "\n".join([header, *(line for body in bodies for line in body[1:])])
        wholes.append(normalize(read_regions(io.StringIO(text)), per=per))
    place = wholes[0][list(PLACE)]
    if any(other != lengths[0] for other in lengths) or not all(
        whole[list(PLACE)].equals(place) for whole in wholes
    ):
        return None
    merged = pd.concat([place, _averaged(wholes)], axis=1)
    ends = np.cumsum(lengths[0])
    cut = zip(of_run, ends - lengths[0], ends, strict=True)
    return {run: merged.iloc[first:last].reset_index(drop=True) for run, first, last in cut}


def _averaged(parts):
    """Counters of all parts side by side; the mean of those that are in several."""
    counters = [part.drop(columns=list(PLACE), errors="ignore") for part in parts]
    columns = {}
    for part in counters:
        for name, values in part.items():
            columns.setdefault(name, []).append(values.to_numpy())
    means = {name: np.mean(values, axis=0) for name, values in columns.items()}
    return pd.DataFrame(means, index=counters[0].index)
