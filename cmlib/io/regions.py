"""Read the counts of a program's regions, and normalize them to samples per instruction (AutoPerf, §3.2 and §4.1).

A region is a part of a program, such as a function, between two marks at which counters are read. A sample is the
counts of one passage through a region. A recording of regions holds the samples of several executions of the program:
a JSON file with metadata, and beside it a compressed CSV with the samples. :func:`load_recording` reads both.
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

# Columns that describe a sample; all others are counts of events.
_DESCRIPTIVE_COLUMNS = (
    "function",
    "location",
    "thread",
    "threads",
    "work",
    "seconds",
    "running",
    "instructions",
)
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
        One row per sample. Columns: function and location (str, ``?`` if empty), thread (its number), threads (number
        of threads; their counts are added up in the sample), work (units of work done), seconds, running (share of the
        time on counters, 0 to 1), instructions, and the events' counts (float, NaN where not counted).

    Raises
    ------
    InputError
        If a column is missing, a sample lacks threads, work or seconds, or a value is not a possible count.
    ArchiveError
        If the file can't be read.
    """
    content = path.read().encode() if hasattr(path, "read") else archive.read_file(path)
    frame = archive.parse_csv(content, most_columns=_MOST_COLUMNS, dtype={"function": str, "location": str})
    if missing := [column for column in _DESCRIPTIVE_COLUMNS if column not in frame]:
        raise InputError(f"{path}: not a file of regions, columns {missing} are missing")
    # Each process of a program appends its header and samples to the same file.
    is_header = frame["thread"].astype(str) == "thread"
    if (frame.loc[is_header].to_numpy(str) != np.array(frame.columns, str)).any():
        raise InputError(
            f"{path}: processes that counted different events wrote to this file; give each process its own file"
        )
    number_columns = [column for column in frame if column not in LOCATION_COLUMNS]
    boolean_columns = frame[number_columns].select_dtypes(bool)
    frame = frame[~is_header].reset_index(drop=True).astype(dict.fromkeys(number_columns, float))
    for column in number_columns:
        if column in boolean_columns or not _are_counts(frame[column]):
            raise InputError(
                f"{path}: column {column} has values that no counter has: negative, too large, or true and false"
            )
    if frame[["threads", "work", "seconds"]].isna().any(axis=None):
        raise InputError(f"{path}: a sample lacks threads, work or seconds")
    return frame.fillna({column: "?" for column in LOCATION_COLUMNS})


def _are_counts(values: pd.Series) -> bool:
    """Return whether all values are missing or possible counts."""
    return (values.isna() | values.between(0, LARGEST_COUNT)).all()


def normalize(regions: pd.DataFrame, *, per: str = "instructions") -> pd.DataFrame:
    """Divide the counts of each sample, so that samples of different lengths and numbers of threads are comparable.

    Parameters
    ----------
    regions : DataFrame
        From :func:`read_regions`.
    per : {"instructions", "work"}, default "instructions"
        ``instructions`` divides by instructions and by the number of threads (AutoPerf, §3.2). ``work`` divides by the
        units of work, for versions of a program that need different numbers of instructions for the same work.

    Returns
    -------
    DataFrame
        One row per sample. Columns: function, location and the events.

    Raises
    ------
    InputError
        If a count is missing in a sample, or events were counted only a part of the time (running below 1).
    """
    if per == "instructions":
        divisor = regions["instructions"] * regions["threads"]
    elif per == "work":
        divisor = regions["work"]
    else:
        raise InputError(f"per is 'instructions' or 'work'; got {per!r}.")
    counters = [column for column in regions if column not in _DESCRIPTIVE_COLUMNS]
    uncounted = [column for column in (per, *counters) if not np.isfinite(regions[column]).all()]
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


def merge_executions(executions: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Merge the normalized samples of executions with the same input that counted different events.

    Samples are matched by function, location and order. Samples without a match are left out. Events that several
    executions counted are averaged.

    Parameters
    ----------
    executions : sequence of DataFrame
        Columns: function, location and events, as :func:`normalize` returns them.

    Returns
    -------
    DataFrame

    Raises
    ------
    InputError
        If there is no execution, or no sample matches.
    """
    if not executions:
        raise InputError("no executions to merge: give at least one with normalized samples")
    if len(executions) == 1:
        return executions[0]
    location_columns = list(LOCATION_COLUMNS)
    locations = [samples[location_columns].to_numpy() for samples in executions]
    if all(np.array_equal(other, locations[0]) for other in locations[1:]):
        return pd.concat([executions[0][location_columns], _average_events(executions)], axis=1)
    indexed = []
    for samples in executions:
        invocation = samples.groupby(location_columns).cumcount()
        samples = samples.assign(invocation=invocation)
        indexed.append(samples.set_index([*location_columns, "invocation"]))
    common = pd.concat([samples[[]] for samples in indexed], axis=1, join="inner").index
    if not len(common):
        raise InputError(
            f"{len(executions)} parts have no invocation of the same function in common: not the same program"
        )
    merged = _average_events([samples.loc[common] for samples in indexed])
    return merged.reset_index().drop(columns="invocation")


def read_runs(text: str, *, per: str = "instructions") -> dict[str, pd.DataFrame]:
    """Read and normalize the samples of each run in a recording's text.

    A run is one or several executions with the same input, which count different events. They are merged.

    Parameters
    ----------
    text : str
    per : {"instructions", "work"}, default "instructions"
        Divisor of the counts, as :func:`normalize` takes it.

    Returns
    -------
    dict of str to DataFrame
        Samples by the run's name. Columns: function, location and events.

    Raises
    ------
    InputError
        If the text is damaged, or a count is missing.
    """
    executions_by_run: dict[str, list[pd.DataFrame]] = {}
    for heading, samples in read_executions(text, functools.partial(normalize, per=per)):
        run = heading.split()[0]
        executions_by_run.setdefault(run, []).append(samples)
    return {run: merge_executions(executions) for run, executions in executions_by_run.items()}


def read_executions(
    text: str, transform: Callable[[pd.DataFrame], pd.DataFrame] = lambda samples: samples
) -> list[tuple[str, pd.DataFrame]]:
    """Read the samples of each execution in a recording's text, in order.

    An execution is a line ``# run=HEADING``, a header with the names of columns, and a line for each sample.

    Parameters
    ----------
    text : str
    transform : callable, optional
        Function of samples (DataFrame) that keeps the rows, such as :func:`normalize`. It is called once for all
        executions with the same header.

    Returns
    -------
    list of (str, DataFrame)
        Heading, such as ``bad-000 part=0 threads=3``, and samples of each execution, as :func:`read_regions` or
        `transform` returns them.

    Raises
    ------
    InputError
        If the text is damaged or too large.
    """
    headings = []
    # Lines of samples by header, then by number of the execution.
    lines_by_header: dict[str, dict[int, list[str]]] = {}
    for number, execution in enumerate(text.split("# run=")[1:]):
        heading, header, *lines = filter(None, execution.split("\n"))
        headings.append(heading)
        # Each process of the execution writes the header.
        sample_lines = [line for line in lines if line != header]
        lines_by_header.setdefault(header, {})[number] = sample_lines
    if not headings:
        raise InputError("the text has no line that begins with `# run=`")
    if len(headings) > _MOST_EXECUTIONS or len(lines_by_header) > _MOST_HEADERS:
        raise InputError(
            f"the text has {len(headings):,} executions that counted {len(lines_by_header):,} lists of events; "
            f"{_MOST_EXECUTIONS:,} executions and {_MOST_HEADERS} lists are the most"
        )
    samples_by_number = {}
    for header, lines_by_number in lines_by_header.items():
        # Parsing a CSV has a fixed cost: all executions with the same header are parsed at once, and then separated.
        csv_text = "\n".join([header, *itertools.chain.from_iterable(lines_by_number.values())])
        samples = transform(read_regions(io.StringIO(csv_text)))
        n_lines = sum(len(lines) for lines in lines_by_number.values())
        if n_lines != len(samples):
            raise InputError(f"{n_lines} lines hold {len(samples)} samples")
        start = 0
        for number, lines in lines_by_number.items():
            end = start + len(lines)
            samples_by_number[number] = samples.iloc[start:end].reset_index(drop=True)
            start = end
    return [(heading, samples_by_number[number]) for number, heading in enumerate(headings)]


def _average_events(executions: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return a column for each event of any execution: its counts, or their mean if several executions have it."""
    counts = [samples.drop(columns=list(LOCATION_COLUMNS), errors="ignore") for samples in executions]
    all_columns = np.hstack(counts)
    events = pd.Index([event for frame in counts for event in frame])
    means = {event: all_columns[:, events == event].mean(axis=1) for event in events.unique()}
    return pd.DataFrame(means, index=counts[0].index)


SCHEMA = 1
_ADVICE = "Recordings of regions are made by `cmlib compare --keep FOLDER` and `cmlib record-kernels`."


def load_recording(file: str | Path) -> tuple[dict, dict[str, pd.DataFrame]]:
    """Load a recording of regions.

    Parameters
    ----------
    file : path
        JSON file with the metadata.

    Returns
    -------
    about : dict
        Metadata.
    runs : dict of str to DataFrame
        Normalized samples by run, as :func:`read_runs` returns them.

    Raises
    ------
    CmlibError
        If the recording can't be read, or its counts can't be normalized.
    """
    about, text = read_recording(file)
    return about, archive.in_recording(file, read_runs, text, per=about.get("per", "instructions"))


def read_recording(file: str | Path) -> tuple[dict, str]:
    """Read the metadata and the text of a recording of regions.

    Parameters
    ----------
    file : path
        JSON file with the metadata.

    Returns
    -------
    about : dict
    text : str

    Raises
    ------
    CmlibError
        If the recording can't be read, or the text was changed after recording.
    """
    about = read_about(file)
    with archive.errors_as(CmlibError, file):
        return about, archive.read_content(file, about["sha256"]).decode(errors="replace")


def read_about(file: str | Path) -> dict:
    """Read the metadata of a recording of regions, without its samples.

    Parameters
    ----------
    file : path
        JSON file with the metadata.

    Returns
    -------
    dict

    Raises
    ------
    CmlibError
        If the metadata can't be read or are not valid.
    """
    with archive.errors_as(CmlibError, file):
        return archive.read_object(file, "a recording of regions", _ADVICE, "stored", "regions")


def save_recording(target: str | Path, pieces: Iterable[str], about: Mapping) -> Path:
    """Write a recording of regions.

    Parameters
    ----------
    target : path
        JSON file for the metadata.
    pieces : iterable of str
        Pieces of the text, which are joined and written beside `target`.
    about : mapping
        Metadata, without the date and the checksum.

    Returns
    -------
    Path
        `target`.

    Raises
    ------
    CmlibError
        If the recording can't be written.
    """
    target = Path(target)
    with archive.errors_as(CmlibError, target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        packed = archive.pack("".join(pieces).encode())
        archive.write_recording(target, packed, {**about, "date": archive.now()}, schema=SCHEMA)
    return target
