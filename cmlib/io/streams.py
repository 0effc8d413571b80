"""Read published sample streams.

A sample stream contains the cumulative counts of one run, sampled at a fixed number of instructions.
:func:`find_runs` finds the files of a published set, and :func:`read_stream` reads a file.
"""

import io
import re
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.io.absent import note_absent
from cmlib.io.archive import decompress, read_file
from cmlib.io.public import PublicError, cache_dir

_SETTINGS = places.yaml_beside(__file__)
# Pattern of the paths of a set's files, keyed by the name of the set. It has the groups `case` and `run`.
_PATH_PATTERNS = _SETTINGS["paths"]
_PERF_NAMES = _SETTINGS["names"]  # perf's name of an event, keyed by its name in a file
# A count in the output of perfmon2's task_smpl, as parse_stream shows it.
_TASK_SMPL_COUNT = re.compile(r"^\t(?P<count>\d+) (?P<event>\S+) \(", re.MULTILINE)
_PACKED = (".xz", ".gz")


def find_runs(name: str, folder: str | Path = "") -> pd.DataFrame:
    """Find the files of a published set.

    Parameters
    ----------
    name : {"spec-llc", "spec2000"}
        Name of the set.
    folder : path, optional
        Folder to search. Default: the set's folders in ``$CMLIB_PUBLIC`` and in the cache of ``cmlib fetch``.

    Returns
    -------
    DataFrame
        One row per run, sorted. Empty if no file was found. Columns:

        - ``case`` : name of the program and its input.
        - ``run`` : name or number of the run.
        - ``path`` : file of the run. If both folders contain it, the path in the first folder.
    """
    if folder:
        set_folders = [Path(folder)]
    else:
        set_folders = [parent / name for parent in (places.external_data_dir(), cache_dir()) if parent]
    path_pattern = re.compile(f"(?:^|/){_PATH_PATTERNS[name]}$")
    path_by_run: dict[tuple[str, str], Path] = {}
    for set_folder in set_folders:
        for path in sorted(set_folder.rglob("*")):
            suffix = path.suffix if path.suffix in _PACKED else ""
            match = path_pattern.search(path.as_posix().removesuffix(suffix))
            if match and path.is_file():
                case = match["case"].replace(
                    ".static", ""
                )  # statically linked programs are not distinguished
                path_by_run.setdefault((case, match["run"]), path)
    if not path_by_run:
        note_absent(name)
    rows = [(case, run, path) for (case, run), path in sorted(path_by_run.items())]
    return pd.DataFrame(rows, columns=["case", "run", "path"])


def read_stream(path: str | Path) -> pd.DataFrame:
    """Read the cumulative counts in a published file.

    Parameters
    ----------
    path : path
        File in a format of :func:`parse_stream`. It can be compressed.

    Returns
    -------
    DataFrame
        Cumulative counts, as in :func:`parse_stream`.

    Raises
    ------
    PublicError
        If the format is unknown.
    ArchiveError
        If the file cannot be read or decompressed.
    """
    path = Path(path)
    text = decompress(read_file(path), path).decode("latin-1")
    return parse_stream(text, path)


def parse_stream(text: str, path: str | Path) -> pd.DataFrame:
    """Parse a text with cumulative counts.

    There are two formats. The first is a table with a header::

        #PERF_COUNT_HW_INSTRUCTIONS PERF_COUNT_HW_CPU_CYCLES
        100000031 61214012

    The second is the output of perfmon2's ``task_smpl``, with one block per sample::

        IIP:0x53a12b PID:3594 TID:3594 TIME:3132343004057662 STREAM_ID:399770 PERIOD:100000000
                100000260 PERF_COUNT_HW_INSTRUCTIONS:u:period=100000000 (399770)
                22062233 RETIRED_BRANCH_INSTRUCTIONS:u (399771)

    Parameters
    ----------
    text : str
    path : path
        Path of the file, for error messages.

    Returns
    -------
    DataFrame
        Counts since the start of the run, one row per sample. Columns: perf's names of the events. For example,
        ``cycles``. A sample was taken each time the first event had counted a period. Samples are omitted if a count is
        missing, or if the count of the first event has not increased.

    Raises
    ------
    PublicError
        If the format is unknown.
    """
    if text.startswith("#PERF_COUNT_HW_"):
        header, _, rows = text.partition("\n")
        names = [name.lstrip("#") for name in header.split()]
        counts = pd.read_csv(io.StringIO(rows), sep=r"\s+", names=names, header=None)
    elif "PERF_COUNT_HW_" in text[:1000]:
        counts_by_event: dict[str, list[str]] = {}
        for match in _TASK_SMPL_COUNT.finditer(text):
            counts_by_event.setdefault(match["event"], []).append(match["count"])
        # The last block can be cut off: its missing counts are NaN.
        counts = pd.DataFrame({event: pd.Series(values) for event, values in counts_by_event.items()})
    else:
        raise PublicError(
            f"{path} is not a stream of counts: it begins with {text[:40]!r}, not with names of events."
        )
    counts = counts.rename(columns=_translate_event).apply(pd.to_numeric, errors="coerce").dropna()
    if counts.empty:
        return counts
    has_grown = counts.iloc[:, 0].diff().fillna(1) > 0
    return counts[has_grown].reset_index(drop=True)


def _translate_event(name: str) -> str:
    """Return perf's name of an event.

    For example, ``LLC-load-misses``. Unknown names are written in lower case.
    """
    short_name = name.partition(":")[0].lower().removeprefix("perf_count_hw_")
    return _PERF_NAMES.get(short_name, short_name)
