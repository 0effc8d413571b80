"""Read the counts of a program's regions, and normalize them (AutoPerf, §3.2 and §4.1).

:func:`load_recording` reads a recording of regions. A region is a part of a program, for example a function. Counters
are read when the program enters and leaves it. A sample has the counts of one execution of a region. A recording
contains the samples of several executions of the program: a compressed CSV, and a JSON file with metadata.
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

SCHEMA = 1
_ADVICE = "Recordings of regions are made by `cmlib compare --keep FOLDER` and `cmlib record-kernels`."
# Columns that describe a sample. The other columns are counts of events.
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
_MOST_COLUMNS = 600  # at most 480 events, and the columns above
_MOST_EXECUTIONS = 5000
_MOST_HEADERS = 100


def load_recording(file: str | Path) -> tuple[dict, dict[str, pd.DataFrame]]:
    """Read a recording of regions, and normalize its counts.

    Parameters
    ----------
    file : path
        JSON file with the metadata.

    Returns
    -------
    about : dict
        Metadata.
    runs : dict of str to DataFrame
        Normalized samples, keyed by the name of the run. Columns: function, location and events.

    Raises
    ------
    CmlibError
        If the recording cannot be read, or its counts cannot be normalized.
    """
    about, text = read_recording(file)
    per = about.get("per", "instructions")
    return about, archive.in_recording(file, read_runs, text, per=per)


def read_recording(file: str | Path) -> tuple[dict, str]:
    """Read the metadata and the text of a recording of regions.

    Parameters
    ----------
    file : path
        JSON file with the metadata.

    Returns
    -------
    about : dict
        Metadata.
    text : str
        Samples of all executions, as :func:`read_executions` takes them.

    Raises
    ------
    CmlibError
        If the recording cannot be read, or its text was changed.
    """
    about = read_about(file)
    with archive.errors_as(CmlibError, file):
        return about, archive.read_content(file, about["sha256"]).decode(errors="replace")


def read_about(file: str | Path) -> dict:
    """Read the metadata of a recording of regions.

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
        If the metadata cannot be read or are not valid.
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
        Consecutive pieces of the text. They are joined.
    about : mapping
        Metadata. The date and the checksum are added.

    Returns
    -------
    Path
        `target`.

    Raises
    ------
    CmlibError
        If the recording cannot be written.
    """
    target = Path(target)
    with archive.errors_as(CmlibError, target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        packed = archive.pack("".join(pieces).encode())
        archive.write_recording(target, packed, {**about, "date": archive.now()}, schema=SCHEMA)
    return target


def read_runs(text: str, *, per: str = "instructions") -> dict[str, pd.DataFrame]:
    """Read and normalize the samples of each run in a recording's text.

    A run can consist of several executions with the same input, which counted different events.

    Parameters
    ----------
    text : str
        Text of the recording, as :func:`read_executions` takes it.
    per : {"instructions", "work"}, default "instructions"
        Divisor of the counts, as in :func:`normalize`.

    Returns
    -------
    dict of str to DataFrame
        Samples, keyed by the name of the run. Columns: function, location and events.

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
    """Read the samples of each execution in a recording's text.

    Parameters
    ----------
    text : str
        For each execution, a line ``# run=HEADING``, a line with the names of the columns, and one line per sample.
    transform : callable, optional
        Function that is applied to the samples. For example, :func:`normalize`. It must not change the number of rows.
        It is called once for all executions with the same columns.

    Returns
    -------
    list of (str, DataFrame)
        Heading and samples of each execution. A heading is, for example, ``bad-000 part=0 threads=3``.

    Raises
    ------
    InputError
        If the text is damaged or too large.
    """
    headings, lines_by_header = _split_executions(text)
    # Parsing a CSV has a fixed cost. All executions with the same header are parsed at once, and then separated.
    samples_by_number: dict[int, pd.DataFrame] = {}
    for header, lines_by_number in lines_by_header.items():
        all_lines = list(itertools.chain.from_iterable(lines_by_number.values()))
        samples = transform(read_regions(io.StringIO("\n".join([header, *all_lines]))))
        if len(all_lines) != len(samples):
            raise InputError(f"{len(all_lines)} lines contain {len(samples)} samples")
        start = 0
        for number, lines in lines_by_number.items():
            end = start + len(lines)
            samples_by_number[number] = samples.iloc[start:end].reset_index(drop=True)
            start = end
    return [(heading, samples_by_number[number]) for number, heading in enumerate(headings)]


def _split_executions(text: str) -> tuple[list[str], dict[str, dict[int, list[str]]]]:
    """Split a recording's text into executions.

    Returns the heading of each execution. The second result has the lines of samples, keyed by the header with the
    names of the columns, and then by the number of the execution.
    """
    headings = []
    lines_by_header: dict[str, dict[int, list[str]]] = {}
    for number, execution in enumerate(text.split("# run=")[1:]):
        heading, header, *lines = filter(None, execution.split("\n"))
        headings.append(heading)
        # Each process of the execution writes the header again.
        sample_lines = [line for line in lines if line != header]
        lines_by_header.setdefault(header, {})[number] = sample_lines
    if not headings:
        raise InputError("the text has no line that begins with `# run=`")
    if len(headings) > _MOST_EXECUTIONS or len(lines_by_header) > _MOST_HEADERS:
        raise InputError(
            f"the text has {len(headings):,} executions that counted {len(lines_by_header):,} lists of events; "
            f"{_MOST_EXECUTIONS:,} executions and {_MOST_HEADERS} lists are the most"
        )
    return headings, lines_by_header


def read_regions(path: str | Path | IO[str]) -> pd.DataFrame:
    """Read a CSV file with the samples of regions.

    Parameters
    ----------
    path : path or file object
        The file, or an object with its text.

    Returns
    -------
    DataFrame
        One row per sample. The columns that are not in this list are counts of events (float, NaN if not counted).

        - ``function``, ``location`` : name of the region and its place in the source. ``?`` if unknown.
        - ``thread`` : number of the thread.
        - ``threads`` : number of threads whose counts are added up in the sample.
        - ``work`` : units of work done.
        - ``seconds`` : duration [s].
        - ``running`` : running share: the fraction of the time in which the events were counted, 0 to 1.
        - ``instructions`` : count of instructions.

    Raises
    ------
    InputError
        If a column is missing, or a value is missing or impossible.
    ArchiveError
        If the file cannot be read.
    """
    content = path.read().encode() if hasattr(path, "read") else archive.read_file(path)
    frame = archive.parse_csv(content, most_columns=_MOST_COLUMNS, dtype={"function": str, "location": str})
    missing_columns = [column for column in _DESCRIPTIVE_COLUMNS if column not in frame]
    if missing_columns:
        raise InputError(f"{path}: not a file of regions, columns {missing_columns} are missing")
    # Each process of a program appends a header and its samples to the same file.
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
                f"{path}: column {column} has values that are not counts: negative, too large, or true and false"
            )
    if frame[["threads", "work", "seconds"]].isna().any(axis=None):
        raise InputError(f"{path}: threads, work or seconds of a sample are missing")
    return frame.fillna({column: "?" for column in LOCATION_COLUMNS})


def _are_counts(values: pd.Series) -> bool:
    """Return True if all values are missing or possible counts."""
    return (values.isna() | values.between(0, LARGEST_COUNT)).all()


def normalize(regions: pd.DataFrame, *, per: str = "instructions") -> pd.DataFrame:
    """Divide the counts of each sample by its instructions or its work.

    Afterwards, samples of different lengths and numbers of threads can be compared.

    Parameters
    ----------
    regions : DataFrame
        Result of :func:`read_regions`.
    per : {"instructions", "work"}, default "instructions"
        ``instructions`` divides by the number of instructions and by the number of threads (AutoPerf, §3.2). ``work``
        divides by the units of work. Use it for versions of a program that need different numbers of instructions for
        the same work.

    Returns
    -------
    DataFrame
        One row per sample. Columns: function, location and events.

    Raises
    ------
    InputError
        If a count is missing, or events were counted only for a part of the time.
    """
    if per == "instructions":
        divisor = regions["instructions"] * regions["threads"]
    elif per == "work":
        divisor = regions["work"]
    else:
        raise InputError(f"per is 'instructions' or 'work'; got {per!r}.")
    events = [column for column in regions if column not in _DESCRIPTIVE_COLUMNS]
    uncounted = [column for column in (per, *events) if not np.isfinite(regions[column]).all()]
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
    return pd.concat([regions[list(LOCATION_COLUMNS)], regions[events].div(divisor, axis=0)], axis=1)


def merge_executions(executions: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Merge the normalized samples of executions that counted different events.

    The first samples of a region in all executions are merged, then the second samples, and so on. Samples that are
    missing in an execution are dropped. An event that several executions counted is averaged.

    Parameters
    ----------
    executions : sequence of DataFrame
        Normalized samples of executions with the same input. Columns: function, location and events.

    Returns
    -------
    DataFrame
        Columns: function, location and all events.

    Raises
    ------
    InputError
        If `executions` is empty, or the executions have no region in common.
    """
    if not executions:
        raise InputError("no executions to merge: give at least one with normalized samples")
    if len(executions) == 1:
        return executions[0]
    location_columns = list(LOCATION_COLUMNS)
    first_locations, *other_locations = [samples[location_columns].to_numpy() for samples in executions]
    if all(np.array_equal(locations, first_locations) for locations in other_locations):
        return pd.concat([executions[0][location_columns], _average_events(executions)], axis=1)
    numbered = []
    for samples in executions:
        invocation = samples.groupby(location_columns).cumcount()
        samples = samples.assign(invocation=invocation)
        numbered.append(samples.set_index([*location_columns, "invocation"]))
    common_index = pd.concat([samples[[]] for samples in numbered], axis=1, join="inner").index
    if not len(common_index):
        raise InputError(
            f"{len(executions)} parts have no invocation of the same function in common: not the same program"
        )
    merged = _average_events([samples.loc[common_index] for samples in numbered])
    return merged.reset_index().drop(columns="invocation")


def _average_events(executions: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return one column of counts per event.

    An event that several executions counted is averaged.
    """
    counts = [samples.drop(columns=list(LOCATION_COLUMNS), errors="ignore") for samples in executions]
    all_columns = np.hstack(counts)
    events = pd.Index([event for frame in counts for event in frame])
    means = {event: all_columns[:, events == event].mean(axis=1) for event in events.unique()}
    return pd.DataFrame(means, index=counts[0].index)
