"""Read published streams of cumulative counts: a sample each so many instructions, a file for each run.

:func:`find_runs` finds a set's files, :func:`read_stream` makes a DataFrame of one. PublicError for a file of another
form, ArchiveError for one that can't be read.
"""

import io
import re
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.io.absent import note_absent
from cmlib.io.archive import decompress, read_file
from cmlib.io.public import PublicError, cache_dir

# Patterns of the paths of each set's files, and names of events in them.
_PATHS, _NAMES = map(places.yaml_beside(__file__).get, ("paths", "names"))
_PACKED = (".xz", ".gz")


def find_runs(name, folder=""):
    """Find the files of a published set of streams.

    Parameters
    ----------
    name : {"spec-llc", "spec2000"}
        Name of the set.
    folder : path, optional
        Folder that is searched; by default the set's folders in ``$CMLIB_PUBLIC`` and in the cache of ``cmlib fetch``.

    Returns
    -------
    DataFrame
        Columns ``case`` (the program with its input), ``run`` and ``path``, sorted; no row if no file was found.
    """
    known_folders = filter(None, (places.external_data_dir(), cache_dir()))
    roots, rows = [Path(folder)] if folder else [place / name for place in known_folders], {}
    for path in (path for root in roots for path in sorted(root.rglob("*")) if path.is_file()):
        unpacked = path.as_posix().removesuffix(path.suffix if path.suffix in _PACKED else "")
        if match := re.search(f"(?:^|/){_PATHS[name]}$", unpacked):
            rows.setdefault((match["case"].replace(".static", ""), match["run"]), path)
    if not rows:
        note_absent(name)
    return pd.DataFrame([(*key, path) for key, path in sorted(rows.items())], columns=["case", "run", "path"])


def read_stream(path):
    """Read the cumulative counts of one published file.

    Parameters
    ----------
    path : path
        A table below a header of ``#PERF_COUNT_HW_…`` names, or perfmon2's ``task_smpl``; plain, gzipped or as xz.

    Returns
    -------
    DataFrame
        Counts since the start of the run: a row per sample, a column per event, under perf's name, such as ``cycles``.
        The first event times the samples; samples in which its count has not grown, or a count is missing, are left
        out.

    Raises
    ------
    PublicError
        If the file is of neither form.
    ArchiveError
        If it can't be read or unpacked.
    """
    return parse_stream(decompress(read_file(Path(path)), Path(path)).decode("latin-1"), path)


def parse_stream(text: str, path: str | Path) -> pd.DataFrame:
    """Parse a stream of cumulative counts.

    Samples in which the count of the first event has not grown are left out.

    Parameters
    ----------
    text : str
    path : path
        For the message.

    Returns
    -------
    DataFrame
        One row per sample, one column per event.

    Raises
    ------
    PublicError
        If the text has neither a header of ``#PERF_COUNT_HW_…`` names nor the form of perfmon2's ``task_smpl``.
    """
    if text.startswith("#PERF_COUNT_HW_"):
        header, _, rows = text.partition("\n")
        names = [name.lstrip("#") for name in header.split()]
        counts = pd.read_csv(io.StringIO(rows), sep=r"\s+", names=names, header=None)
    elif "PERF_COUNT_HW_" in text[:1000]:
        lines = re.findall(r"^\t(\d+) (\S+) \(", text, flags=re.MULTILINE)
        columns = pd.DataFrame(lines, columns=["count", "event"]).groupby("event", sort=False)["count"]
        counts = pd.DataFrame({name: column.reset_index(drop=True) for name, column in columns})
    else:
        raise PublicError(f"{path} is no stream of counts: it begins with {text[:40]!r}, no names of events.")
    counts = counts.rename(columns=_event).apply(pd.to_numeric, errors="coerce").dropna()
    return counts[counts.iloc[:, 0].diff().fillna(1) > 0].reset_index(drop=True) if len(counts) else counts


def _event(name):
    """Return the name that perf has for an event of these files, such as ``LLC-load-misses``; others in lower case."""
    short = name.partition(":")[0].lower().removeprefix("perf_count_hw_")
    return _NAMES.get(short, short)
