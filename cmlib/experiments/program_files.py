"""Read the programs in a file or in the folder of recordings, with their metadata, counts and running shares.

Both functions return one tuple per program: its name, a list of metadata (one dict per run), and a list of (counts,
running shares), two DataFrames per run with one row per interval (index time_s [s]) and one column per event.
CmlibError if something can't be read.
"""

from pathlib import Path

from cmlib import places
from cmlib.errors import CmlibError
from cmlib.io.archive import readable
from cmlib.io.archive.programs import readable_runs
from cmlib.io.archive.runs import PERF, source_of
from cmlib.io.sources import read_recordings
from cmlib.io.store.raw import read_run
from cmlib.shell import command_of_report


def read_file(file, machine, options=None, format=None, place=""):
    """Read the programs in a file; each kind of core is a separate program.

    Parameters
    ----------
    file : str or path
        Any file that `cmlib import` reads.
    machine : dict
        Description of the machine; may be empty.
    options : ReadOptions, optional
        Facts on the file that the user states.
    format : str, optional
        Name of the file's format. Default: the only one that recognizes it.
    place : str, default ""
        CPU, core, socket, node or kind of core to which the counts are restricted.

    Returns
    -------
    list of tuple
        One per program, as the module describes it.
    """
    sources_by_name = {}
    for source in read_recordings([str(file)], machine, format=format, options=options, place=place):
        sources_by_name.setdefault(source.name, []).append(source)
    programs = []
    for program_name, sources in sources_by_name.items():
        metas = [source.facts | {"note": source.note, "imported": True} for source in sources]
        name = " ".join(filter(None, [Path(file).name, program_name]))
        programs.append((name, metas, [(source.counts, source.running) for source in sources]))
    return programs


def read_recorded(name):
    """Read a recorded program.

    Parameters
    ----------
    name : str
        Name of the program.

    Returns
    -------
    list of tuple
        One tuple, as the module describes it.

    Raises
    ------
    CmlibError
        If the program is simulated, or has no run that can be read.
    """
    folder = places.recordings_dir() / name
    metas = {folder / f"{run}.json": meta for run, meta in readable_runs(folder).items()}
    if any(source_of(meta) != PERF for meta in metas.values()):
        report = command_of_report(name)
        raise CmlibError(f"{name} is simulated: no cycles were counted. Its report: {report}")
    runs = readable(lambda file: read_run(file, metas[file]), metas)
    if not runs:
        raise CmlibError(f"{name} has no run that can be read.")
    metas = [metas[file] | {"cpus": run.cpus} for file, run in runs.items()]
    return [(name, metas, [(run.counts, run.running) for run in runs.values()])]
