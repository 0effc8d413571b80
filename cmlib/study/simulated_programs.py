"""What simulated the counts of a program, what that leaves open, and what to run next."""

import pandas as pd

from cmlib import store
from cmlib.archive.runs import VALGRIND, source_of
from cmlib.errors import UnfitRecordingError
from cmlib.simulate.caches import PREFETCHING
from cmlib.study.commands import command_to_compare, command_to_diagnose
from cmlib.study.data import interval_runs

# Why nothing is cleaned.
EXACT = "every event was counted in every interval, so that nothing was extrapolated, and there is nothing to clean."


def simulator(url, program):
    """What simulated a program's runs, as their metadata have it; None where they were measured."""
    meta = _first(url, [program])
    return meta["simulator"] if source_of(meta) == VALGRIND else None


def simulators(url, programs):
    """The simulators behind the recordings of simulated programs.

    Parameters
    ----------
    url : str
    programs : list of str

    Returns
    -------
    DataFrame
        A row a simulator with its caches, which are those of the machine unless others were given: ``simulator``,
        a column a cache, and the number of ``runs``.
    """
    rows = []
    for run_id in interval_runs(url, programs)["run_id"]:
        about = store.load(url, run_id).meta["simulator"]
        rows.append({"simulator": f"{about['tool']} {about['version']}"} | about["caches"])
    frame = pd.DataFrame(rows)
    return frame.groupby(list(frame), dropna=False, sort=False).size().rename("runs").reset_index()


def say_source(url, programs):
    """Say that the counts of some programs are simulated, and by what, for captions.

    Parameters
    ----------
    url : str
    programs : list of str
        From :func:`cmlib.study.programs`, which mixes no simulated programs with measured ones.

    Returns
    -------
    str
        Empty where counts were measured.
    """
    if not (about := simulator(url, programs[0])):
        return ""
    return f"**Simulated** by Valgrind's Callgrind {about['version']}, not measured."


def say_simulated(url, program):
    """How sure simulated counts are, and what else can be asked without a processor's counters.

    Parameters
    ----------
    url, program : str

    Returns
    -------
    dict of str to str
        ``sure`` and ``lacking``, as :meth:`cmlib.report.Results.overview` takes them.
    """
    meta = _first(url, [program])
    caches = {name: int(shape.split()[0]) / 1024 for name, shape in meta["simulator"]["caches"].items()}
    sizes = ", ".join(f"{size:,.0f} KiB ({name})" for name, size in sorted(caches.items(), key=_by_size))
    asked = [f"``{command_to_compare(meta)}`` tells whether another version executes more"]
    if not is_prefetched(meta):
        asked.insert(0, f"``{command_to_diagnose(meta)}`` names the class of each phase")
    return {
        "sure": "counts are **simulated** by Valgrind, not measured: instructions, loads, stores and branches are "
        f"exact, misses and mispredictions are modelled, without speculation, with caches of {sizes}",
        "lacking": f"IPC, and where cycles go, take a processor's counters. Without any, {', and '.join(asked)}",
    }


def is_prefetched(meta):
    """Whether streams were prefetched in a simulated run, as where the tree of the micro-benchmarks was trained."""
    return PREFETCHING in meta["simulator"]["options"]


def refuse_simulated(url, programs, why):
    """Raise an UnfitRecordingError that says why a question is none for simulated programs; of others do nothing."""
    if simulator(url, programs[0]):
        raise UnfitRecordingError(f"{', '.join(programs)} is simulated, not measured: {why}")


def _by_size(cache):
    return cache[1]


def _first(url, programs):
    return store.load(url, interval_runs(url, programs)["run_id"].iloc[0]).meta
