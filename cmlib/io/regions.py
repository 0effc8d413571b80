"""Read the counts of a program's regions, and normalize them to samples per instruction (AutoPerf, §3.2 and §4.1).

A region is a part of a program, such as a function, between two marks at which counters are read; a sample is the
counts of one passage. A recording of regions is a JSON file of metadata beside a packed CSV of samples, of many
executions; :func:`load_recording` reads both. CmlibError for a recording that can't be read; ValueError for text that
is damaged, or counts that are not whole.
"""

import functools
import io
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError, InputError
from cmlib.io import archive
from cmlib.io.archive.runs import LARGEST_COUNT
from cmlib.locations import LOCATION_COLUMNS

# Columns of a sample that are no counts of events.
ABOUT = ("function", "location", "thread", "threads", "work", "seconds", "running", "instructions")
_MOST_COLUMNS = 600  # 480 events at most, and the columns above
_MOST_EXECUTIONS, _MOST_HEADERS = 5000, 100


def read_regions(path: str | Path | IO[str]) -> pd.DataFrame:
    """Read the samples in a CSV of regions.

    Parameters
    ----------
    path : path or file object
        File, or its text.

    Returns
    -------
    DataFrame
        One row per passage of a region. Columns: function and location (str, ``?`` if empty), thread (its number),
        threads (how many the sample is the sum of), work (units of work done), seconds, running (share of the time on
        counters, 0 to 1), instructions, and the events' counts (float, NaN where not counted).

    Raises
    ------
    ValueError
        If it is no such file, lacks threads, work or seconds in a row, or holds what no counter does.
    ArchiveError
        If it can't be read.
    """
    content = path.read().encode() if hasattr(path, "read") else archive.read_file(path)
    frame = archive.parse_csv(content, most_columns=_MOST_COLUMNS, dtype={"function": str, "location": str})
    if missing := [column for column in ABOUT if column not in frame]:
        raise InputError(f"{path}: not a file of regions, columns {missing} are missing")
    repeated = frame["thread"].astype(str) == "thread"
    if (frame.loc[repeated].to_numpy(str) != np.array(frame.columns, str)).any():
        raise InputError(
            f"{path}: processes that counted different events wrote to it; give each its own file"
        )
    numbers = [column for column in frame if column not in LOCATION_COLUMNS]
    truths = frame[numbers].select_dtypes(bool)
    frame = frame[~repeated].reset_index(drop=True).astype(dict.fromkeys(numbers, float))
    if bad := [column for column in numbers if column in truths or not _are_counts(frame[column])]:
        raise InputError(
            f"{path}: {bad[0]} holds what no counter holds, such as values below zero, or true and false"
        )
    if frame[["threads", "work", "seconds"]].isna().any(axis=None):
        raise InputError(f"{path}: a sample lacks threads, work or seconds")
    return frame.fillna({column: "?" for column in LOCATION_COLUMNS})


def _are_counts(values):
    """Return whether all values of a Series are missing, or such as a counter can hold."""
    return (values.isna() | values.between(0, LARGEST_COUNT)).all()


def normalize(regions: pd.DataFrame, *, per: str = "instructions") -> pd.DataFrame:
    """Divide the counts of each sample by its instructions times threads, or by its work.

    Parameters
    ----------
    regions : DataFrame
        From :func:`read_regions`.
    per : {"instructions", "work"}, default "instructions"

    Returns
    -------
    DataFrame
        One row per sample; columns: function, location and the events.

    Raises
    ------
    ValueError
        If something was not counted in every sample, or not all the time (running below 1).
    """
    divisor = {"instructions": regions["instructions"] * regions["threads"], "work": regions["work"]}[per]
    counters = [column for column in regions if column not in ABOUT]
    uncounted = [c for c in (per, *counters) if not np.isfinite(regions[c]).all()]
    if uncounted or not (divisor > 0).all():
        names = ", ".join(uncounted) or per
        raise InputError(
            f"{names} were not counted in every sample: record on a machine whose `cmlib doctor` finds good "
            "counters, with fewer events at a time"
        )
    n_partial = (regions["running"] < 1).sum()
    if n_partial:
        raise InputError(
            f"{n_partial} of {len(regions)} samples were not counted all the time (running < 1): another perf "
            "took counters away; record this run again"
        )
    return pd.concat([regions[list(LOCATION_COLUMNS)], regions[counters].div(divisor, axis=0)], axis=1)


def merge_runs(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Merge normalized samples of runs with the same input that counted different events.

    Samples are matched by function, location and order; those without a match are left out. Events that several runs
    counted are averaged.

    Parameters
    ----------
    parts : sequence of DataFrame
        Columns: function, location and events, as :func:`normalize` returns them.

    Returns
    -------
    DataFrame

    Raises
    ------
    ValueError
        If nothing matches, or there is no part.
    """
    if not parts:
        raise InputError("no parts to merge: give at least one normalized run")
    if len(parts) == 1:
        return parts[0]
    places = [part[list(LOCATION_COLUMNS)].to_numpy() for part in parts]
    if all(np.array_equal(place, places[0]) for place in places[1:]):
        return pd.concat([parts[0][list(LOCATION_COLUMNS)], _averaged(parts)], axis=1)
    keyed = [part.assign(invocation=part.groupby(list(LOCATION_COLUMNS)).cumcount()) for part in parts]
    keyed = [part.set_index([*LOCATION_COLUMNS, "invocation"]) for part in keyed]
    common = pd.concat([part[[]] for part in keyed], axis=1, join="inner").index
    if not len(common):
        raise InputError(
            f"{len(parts)} parts have no invocation of the same function in common: not the same program"
        )
    merged = _averaged([part.loc[common] for part in keyed])
    return merged.reset_index().drop(columns="invocation")


def read_runs(text: str, *, per: str = "instructions") -> dict[str, pd.DataFrame]:
    """Read and normalize the samples of each run in a recording's text.

    Executions of the same run count different events, and are merged.

    Parameters
    ----------
    text : str
    per : {"instructions", "work"}, default "instructions"
        What counts are divided by.

    Returns
    -------
    dict of str to DataFrame
        By the run's name: one row per passage of a region; columns: function, location and events.

    Raises
    ------
    ValueError
        If the text is damaged, or something was not counted.
    """
    of_run = {}
    for heading, part in read_executions(text, functools.partial(normalize, per=per)):
        of_run.setdefault(heading.split()[0], []).append(part)
    return {run: merge_runs(parts) for run, parts in of_run.items()}


def read_executions(
    text: str, transform: Callable[[pd.DataFrame], pd.DataFrame] = lambda samples: samples
) -> list[tuple[str, pd.DataFrame]]:
    """Read the samples of each execution in a recording's text, in order.

    Parameters
    ----------
    text : str
    transform : callable, optional
        Applied to the samples; called once for all executions that counted the same events. It must keep the rows.

    Returns
    -------
    list of (str, DataFrame)
        Heading, which is what follows ``# run=``, such as ``bad-000 part=0 threads=3``; and samples, as
        :func:`read_regions` or `transform` returns them.

    Raises
    ------
    ValueError
        If the text is damaged or too large.
    """
    headings, by_header = [], {}
    for number, piece in enumerate(text.split("# run=")[1:]):
        heading, header, *lines = filter(None, piece.split("\n"))
        headings.append(heading)
        by_header.setdefault(header, {})[number] = [line for line in lines if line != header]
    if not headings:
        raise InputError("no line of it begins with `# run=`")
    if len(headings) > _MOST_EXECUTIONS or len(by_header) > _MOST_HEADERS:
        raise InputError(
            f"it holds {len(headings):,} executions that counted {len(by_header):,} lists of events; "
            f"{_MOST_EXECUTIONS:,} executions and {_MOST_HEADERS} lists are the most"
        )
    parts = {}
    for header, pieces in by_header.items():
        rows = "\n".join([header, *itertools.chain.from_iterable(pieces.values())])
        whole = transform(read_regions(io.StringIO(rows)))
        ends = np.cumsum([len(lines) for lines in pieces.values()])
        if ends[-1] != len(whole):
            raise InputError(f"{ends[-1]} lines hold {len(whole)} samples")
        for number, end in zip(pieces, ends, strict=True):
            parts[number] = whole.iloc[end - len(pieces[number]) : end].reset_index(drop=True)
    return [(heading, parts[number]) for number, heading in enumerate(headings)]


def _averaged(parts):
    """Join the events' columns of all parts; take the mean where several parts have one."""
    counters = [part.drop(columns=list(LOCATION_COLUMNS), errors="ignore") for part in parts]
    beside = np.hstack(counters)
    columns = pd.Index([name for part in counters for name in part])
    means = {name: beside[:, columns == name].mean(axis=1) for name in columns.unique()}
    return pd.DataFrame(means, index=counters[0].index)


SCHEMA = 1
_HOW = "Recordings of regions are made by `cmlib compare --keep FOLDER` and `cmlib record-kernels`."


def load_recording(file: str | Path) -> tuple[dict, dict[str, pd.DataFrame]]:
    """Load a recording of regions.

    Parameters
    ----------
    file : path
        Its JSON.

    Returns
    -------
    about : dict
        Metadata.
    runs : dict of str to DataFrame
        Normalized samples by run, as of :func:`read_runs`.

    Raises
    ------
    CmlibError
        If it can't be read, or its counts can't be normalized.
    """
    about, text = read_recording(file)
    return about, archive.in_recording(file, read_runs, text, per=about.get("per", "instructions"))


def read_recording(file: str | Path) -> tuple[dict, str]:
    """Read the metadata and the text of a recording of regions.

    Parameters
    ----------
    file : path
        Its JSON.

    Returns
    -------
    about : dict
    text : str

    Raises
    ------
    CmlibError
        If it can't be read, or the text was changed since.
    """
    about = read_about(file)
    with archive.errors_as(CmlibError, file):
        return about, archive.read_content(file, about["sha256"]).decode(errors="replace")


def read_about(file: str | Path) -> dict:
    """Read the metadata of a recording of regions, without its samples.

    Parameters
    ----------
    file : path
        Its JSON.

    Returns
    -------
    dict

    Raises
    ------
    CmlibError
        If they are not valid.
    """
    with archive.errors_as(CmlibError, file):
        return archive.read_object(file, "a recording of regions", _HOW, "stored", "regions")


def save_recording(target: str | Path, pieces: Iterable[str], about: Mapping) -> Path:
    """Write a recording of regions.

    Parameters
    ----------
    target : path
        Its JSON.
    pieces : iterable of str
        Joined to the content beside it.
    about : mapping
        Metadata; date and checksum are added.

    Returns
    -------
    Path
        The JSON.

    Raises
    ------
    CmlibError
        If it can't be written.
    """
    target = Path(target)
    with archive.errors_as(CmlibError, target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        packed = archive.pack("".join(pieces).encode())
        archive.write_recording(target, packed, {**about, "date": archive.now()}, schema=SCHEMA)
    return target
