"""Read programs for the command line, from a file or from the recordings.

:func:`read_file` reads the programs in a file of any format. :func:`read_recorded` reads a recorded program. Both
return a list of programs. Each is a tuple of three:

- the name of the program;
- the metadata of its runs (list of dict);
- the counts and running shares of its runs (list of pairs of DataFrames). The running share is the fraction of the
  time in which an event was counted. There is one row per interval (index: time [s]) and one column per event.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cmlib import places
from cmlib.errors import CmlibError
from cmlib.io.archive import readable
from cmlib.io.archive.programs import readable_runs
from cmlib.io.archive.runs import PERF, source_of
from cmlib.io.sources import read_recordings
from cmlib.io.store.raw import read_run
from cmlib.shell import command_of_report

if TYPE_CHECKING:
    import pandas as pd

    from cmlib.io.formats.readings import ReadOptions


def read_file(
    file: str | Path,
    machine: dict,
    options: ReadOptions | None = None,
    format: str | None = None,
    place: str = "",
) -> list[tuple[str, list[dict], list[tuple[pd.DataFrame, pd.DataFrame]]]]:
    """Read the programs in a file.

    If the file contains several kinds of cores, each kind becomes a separate program.

    Parameters
    ----------
    file : path
        A file in any format that ``cmlib import`` reads.
    machine : dict
        Description of the machine. Empty if it is unknown.
    options : ReadOptions, optional
        What the user knows about the file. For example, the unit of its times.
    format : str, optional
        Name of the file format. Default: the format is detected.
    place : str, default ""
        Read only the counts of this CPU, core, socket, node or kind of core. For example, ``"CPU3"``. Default: read the
        counts of all CPUs.

    Returns
    -------
    list of (str, list, list)
        Name, metadata and runs of each program. See the description of the module.

    Raises
    ------
    CmlibError
        If the file cannot be read.
    """
    sources_by_name = {}
    for source in read_recordings([Path(file)], machine, format=format, options=options, place=place):
        sources_by_name.setdefault(source.name, []).append(source)
    programs = []
    for program_name, sources in sources_by_name.items():
        metas = [source.facts | {"note": source.note, "imported": True} for source in sources]
        name = f"{Path(file).name} {program_name}" if program_name else Path(file).name
        programs.append((name, metas, [(source.counts, source.running) for source in sources]))
    return programs


def read_recorded(
    name: str,
) -> list[tuple[str, list[dict], list[tuple[pd.DataFrame, pd.DataFrame]]]]:
    """Read a recorded program.

    Unreadable runs are skipped with a warning.

    Parameters
    ----------
    name : str
        Name of the program.

    Returns
    -------
    list of (str, list, list)
        One tuple with the name, metadata and runs. See the description of the module.

    Raises
    ------
    CmlibError
        If the program is simulated, or no run is readable.
    """
    folder = places.recordings_dir() / name
    metas = {folder / f"{run}.json": meta for run, meta in readable_runs(folder).items()}
    if any(source_of(meta) != PERF for meta in metas.values()):
        report = command_of_report(name)
        raise CmlibError(f"{name} is simulated: no cycles were counted. See its report: {report}")
    runs = readable(lambda file: read_run(file, metas[file]), metas)
    if not runs:
        raise CmlibError(f"{name} has no run that can be read.")
    metas_with_cpus = [metas[file] | {"cpus": run.cpus} for file, run in runs.items()]
    return [(name, metas_with_cpus, [(run.counts, run.running) for run in runs.values()])]
