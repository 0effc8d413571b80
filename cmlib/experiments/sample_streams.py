"""Load streams of cumulative counts, sampled by cmlib or published.

A stream is a DataFrame of one case: a program with its input, such as "gcc-1". It has one row per sample, which was
taken whenever the timing event (the first column) had happened a fixed number of times, and one column per event: how
often it had happened since the start. :func:`load_streams` returns a dict from case to stream. NothingRecordedError if
nothing is recorded, UnfitRecordingError if there are fewer than ten samples, ValueError for an unknown case.
"""

import pandas as pd

from cmlib.collect.sampling import read_samples
from cmlib.errors import InputError, UnfitRecordingError
from cmlib.experiments.requested import resolve_names, split_names
from cmlib.io import streams
from cmlib.io.provenance import (
    OTHERS_HARDWARE,
    OWN_HARDWARE,
    SOFTWARE_EVENTS,
    Provenance,
    note_read,
)
from cmlib.io.samples import find_streams
from cmlib.shell import command_code

__all__ = ["EVENTS", "SOURCES", "load_samples", "load_streams", "load_suite", "provenance_of_samples"]

# Event that is compressed of each published suite.
EVENTS = {"spec-llc": "LLC-load-misses", "spec2000": "retired_mispredicted_branch_instructions"}
SOURCES = {"hardware": "hardware events", "software": "software events and tracepoints, not hardware events"}
_FEWEST = 10  # samples that the longest stream must have


def load_samples(wanted: str = "all", *, program: str = "all", kind: str = "auto") -> dict[str, pd.DataFrame]:
    """Load the streams that cmlib sampled.

    Parameters
    ----------
    wanted : str, default "all"
        Cases separated by commas, or ``"all"`` for all cases of `program`.
    program : str, default "all"
        Names of programs separated by commas, or ``"all"``.
    kind : {"auto", "hardware", "software"}, default "auto"
        Kind of events; "auto" takes hardware events if there are any, else software events.

    Returns
    -------
    dict of str to DataFrame
        Cumulative counts by case, the timing event first; ``attrs["kind"]`` of each frame is the kind of its events.

    Raises
    ------
    ValueError
        If a case is unknown.
    NothingRecordedError
        If a program is unknown, or nothing is recorded.
    """
    recorded = find_streams(None, kind).drop_duplicates("name").set_index("name", drop=False)
    names = _list_cases(program, recorded.index) if wanted == "all" else split_names(wanted)
    for name in names:
        if name not in recorded.index:
            raise InputError(f"there is no sample stream {name!r}; there are {', '.join(recorded.index)}.")
    streams_by_case = {
        row.name: read_samples(row.path) for row in recorded.loc[names].itertuples(index=False)
    }
    kind = recorded["kind"].iloc[0]
    for totals in streams_by_case.values():
        totals.attrs["kind"] = kind
    note_read(provenance_of_samples(streams_by_case))
    return streams_by_case


def provenance_of_samples(counted: dict[str, pd.DataFrame]) -> Provenance:
    """Return the provenance of streams that cmlib sampled.

    Parameters
    ----------
    counted : dict of str to DataFrame
        Result of :func:`load_samples`, not empty.

    Returns
    -------
    cmlib.io.provenance.Provenance
        It has the kind and the names of the events; its programs are the cases.
    """
    kinds = {"hardware": OWN_HARDWARE, "software": SOFTWARE_EVENTS}
    kind = next(iter(counted.values())).attrs["kind"]
    return Provenance(kinds[kind], tuple(counted), _events_of(counted))


def _events_of(counted):
    """Return the names (tuple of str) of the events in streams, a dict from case to DataFrame."""
    return tuple(dict.fromkeys(event for totals in counted.values() for event in totals))


def load_suite(name: str, event: str, wanted: str = "all", *, folder: str = "") -> dict[str, pd.DataFrame]:
    """Load the streams of a published suite: for each case, its first run in which an event was counted.

    Parameters
    ----------
    name : str
        Name of the suite, such as ``"spec-llc"``.
    event : str
        Name of the event that is required.
    wanted : str, default "all"
        Cases separated by commas, or ``"all"``.
    folder : str, optional
        Folder with the files. Default: that of ``cmlib fetch``.

    Returns
    -------
    dict of str to DataFrame
        Cumulative counts by case. Cases without a run of three samples or more that counted the event are left out.

    Raises
    ------
    NothingRecordedError
        If a case is unknown.
    """
    runs = streams.find_runs(name, folder)
    todo = f"{command_code('cmlib', 'fetch', name)} has the set, or CMLIB_PUBLIC names a folder with it."
    names = resolve_names(wanted, runs["case"].unique(), about=f"the cases of {name}", todo=todo)
    counted = {}
    for run in runs[runs["case"].isin(names)].itertuples():
        totals = streams.read_stream(run.path)
        if event in totals and len(totals) > 2:
            counted.setdefault(run.case, totals)
    if counted:
        note_read(_provenance_of_suite(counted, name))
    return counted


def _provenance_of_suite(counted, name):
    """Return the provenance of streams (dict from case to DataFrame) of the published suite `name`."""
    return Provenance(OTHERS_HARDWARE, tuple(counted), _events_of(counted), name)


def load_streams(
    suite: str, event: str = "", cases: str = "all", *, folder: str = "", program: str = "all"
) -> tuple[dict[str, pd.DataFrame], Provenance]:
    """Load the streams of a published suite, or, if it is not here or `program` is given, those that cmlib sampled.

    Parameters
    ----------
    suite : str
        Name of the suite, or ``"samples"`` for the streams that cmlib sampled.
    event : str, optional
        Name of the event that is compressed. Default: that of the suite in `EVENTS`.
    cases : str, default "all"
        Cases separated by commas, or ``"all"``.
    folder : str, optional
        Folder with the suite's files. Default: that of ``cmlib fetch``.
    program : str, default "all"
        Names of sampled programs separated by commas, or ``"all"``.

    Returns
    -------
    streams : dict of str to DataFrame
        Cumulative counts by case; the first columns are the timing event and `event`.
    provenance : cmlib.io.provenance.Provenance
        Provenance of the counts.

    Raises
    ------
    UnfitRecordingError
        If no stream has ten samples.
    ValueError
        If a case of cmlib's streams is unknown.
    NothingRecordedError
        If a case of the suite or a program is unknown, or nothing is recorded.
    """
    event = event or EVENTS.get(suite, "")
    wants_suite = suite != "samples" and program == "all"
    totals = load_suite(suite, event, cases, folder=folder) if wants_suite else {}
    if totals:
        provenance = _provenance_of_suite(totals, suite)
    else:
        if wants_suite:
            fetch = command_code("cmlib", "fetch", suite)
            print(f"Not shown: {suite}; {fetch} has it. Here are kernel events instead.")
        totals = load_samples("all" if wants_suite else cases, program=program)
        provenance = provenance_of_samples(totals)
    longest = max(map(len, totals.values()))
    if longest < _FEWEST:
        raise UnfitRecordingError(
            f"{', '.join(totals)}: at most {longest} samples, and lines take {_FEWEST}. Record a longer run, or with a "
            "shorter --period; only the command's own process is sampled, not its children."
        )
    return {name: _put_first(counts, event) for name, counts in totals.items()}, provenance


def _put_first(counts, event):
    """Return a stream with an event right after the timing event, or unchanged if it has no such event."""
    timing = counts.columns[0]
    return counts[sorted(counts, key=lambda column: (column != timing, column != event))]


def _list_cases(wanted, cases):
    """List the cases of some programs: ``gcc`` has ``gcc-1``, ``gcc-2`` and so on."""
    programs = cases.str.replace(r"-\d+$", "", regex=True)
    todo = "Its samples: `cmlib record NAME --samples -- COMMAND`"
    chosen = resolve_names(wanted, programs.unique(), about="the programs that were sampled", todo=todo)
    return list(cases[programs.isin(chosen)])
