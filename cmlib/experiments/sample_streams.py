"""Load streams: counts that were sampled while a program ran.

:func:`load_streams` loads the streams of a published benchmark suite. If the suite is not on this machine, it loads
the streams that ``cmlib record --samples`` wrote.

A stream is a DataFrame with one row per sample and one column per event. Counts are cumulative: they start at 0
when the program starts. The first column is the timing event: a sample was taken whenever this event had happened a
fixed number of times. Streams are identified by their case, which is the name of a program and the number of its
input. For example, ``"gcc-1"``.
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

# The event of each published suite that the notebooks compress.
EVENTS = {"spec-llc": "LLC-load-misses", "spec2000": "retired_mispredicted_branch_instructions"}
SOURCES = {"hardware": "hardware events", "software": "software events and tracepoints, not hardware events"}
_FEWEST_SAMPLES = 10  # of the longest stream


def load_samples(wanted: str = "all", *, program: str = "all", kind: str = "auto") -> dict[str, pd.DataFrame]:
    """Load the streams that cmlib recorded.

    A stream is a DataFrame of cumulative counts. It has one row per sample and one column per event.

    Parameters
    ----------
    wanted : str, default "all"
        Cases separated by commas, or ``"all"`` for all cases of `program`. A case is a program with one of its inputs.
        For example, ``"gcc-1, gcc-2"``.
    program : str, default "all"
        Names of programs, separated by commas, or ``"all"``.
    kind : {"auto", "hardware", "software"}, default "auto"
        Kind of events. The value ``"auto"`` prefers hardware events.

    Returns
    -------
    dict of str to DataFrame
        Stream of each case. The kind of its events is in ``attrs["kind"]``.

    Raises
    ------
    ValueError
        If a case is unknown.
    NothingRecordedError
        If a program is unknown, or no stream is recorded.
    """
    recorded = find_streams(None, kind).drop_duplicates("name").set_index("name", drop=False)
    cases = _list_cases(program, recorded.index) if wanted == "all" else split_names(wanted)
    for case in cases:
        if case not in recorded.index:
            raise InputError(f"no sample stream is named {case!r}. Recorded: {', '.join(recorded.index)}.")
    kind = recorded["kind"].iloc[0]
    streams_by_case = {}
    for case in cases:
        stream = read_samples(recorded.at[case, "path"])
        stream.attrs["kind"] = kind
        streams_by_case[case] = stream
    note_read(provenance_of_samples(streams_by_case))
    return streams_by_case


def provenance_of_samples(streams_by_case: dict[str, pd.DataFrame]) -> Provenance:
    """Describe where the counts of recorded streams come from.

    Parameters
    ----------
    streams_by_case : dict of str to DataFrame
        Streams from :func:`load_samples`, at least one.

    Returns
    -------
    cmlib.io.provenance.Provenance
        Kind of the counts (hardware or software events), names of the programs with their inputs, and event names.
    """
    kinds = {"hardware": OWN_HARDWARE, "software": SOFTWARE_EVENTS}
    kind = next(iter(streams_by_case.values())).attrs["kind"]
    return Provenance(kinds[kind], tuple(streams_by_case), _list_events(streams_by_case))


def _list_events(streams_by_case):
    """Return the event names in all streams (tuple of str)."""
    return tuple(dict.fromkeys(event for stream in streams_by_case.values() for event in stream))


def load_suite(name: str, event: str, wanted: str = "all", *, folder: str = "") -> dict[str, pd.DataFrame]:
    """Load the streams of a published benchmark suite.

    A stream is a DataFrame of cumulative counts. It has one row per sample and one column per event. A case is a
    program with one of its inputs, for example ``"gcc-1"``. If a case was recorded several times, the first stream
    that contains the event and has at least three samples is loaded.

    Parameters
    ----------
    name : str
        Name of the suite. For example, ``"spec-llc"``.
    event : str
        Name of the required event.
    wanted : str, default "all"
        Cases separated by commas, or ``"all"``.
    folder : path, optional
        Folder that contains the files. Default: the folder to which ``cmlib fetch`` writes.

    Returns
    -------
    dict of str to DataFrame
        Stream of each case. Empty if no suitable stream was found.

    Raises
    ------
    NothingRecordedError
        If a case is unknown.
    """
    runs = streams.find_runs(name, folder)
    todo = f"{command_code('cmlib', 'fetch', name)} has the set, or CMLIB_PUBLIC names a folder with it."
    cases = resolve_names(wanted, runs["case"].unique(), about=f"the cases of {name}", todo=todo)
    streams_by_case = {}
    for run in runs[runs["case"].isin(cases)].itertuples():
        stream = streams.read_stream(run.path)
        if event in stream and len(stream) > 2:
            streams_by_case.setdefault(run.case, stream)
    if streams_by_case:
        note_read(_provenance_of_suite(streams_by_case, name))
    return streams_by_case


def _provenance_of_suite(streams_by_case, name):
    """Describe where the streams of the suite `name` come from."""
    return Provenance(OTHERS_HARDWARE, tuple(streams_by_case), _list_events(streams_by_case), name)


def load_streams(
    suite: str, event: str = "", cases: str = "all", *, folder: str = "", program: str = "all"
) -> tuple[dict[str, pd.DataFrame], Provenance]:
    """Load the streams of a published suite, or the streams that cmlib recorded.

    A stream is a DataFrame of cumulative counts. It has one row per sample and one column per event. A case is a
    program with one of its inputs, for example ``"gcc-1"``.

    The streams that cmlib recorded are loaded if `program` is given. They are also loaded, with a message, if the
    suite is not on this machine.

    Parameters
    ----------
    suite : str
        Name of the suite. For example, ``"spec-llc"``. The name ``"samples"`` stands for cmlib's own streams.
    event : str, optional
        Event that will be compressed. Default: the event of the suite in `EVENTS`.
    cases : str, default "all"
        Cases separated by commas, or ``"all"``.
    folder : path, optional
        Folder with the files of the suite. Default: the folder to which ``cmlib fetch`` writes.
    program : str, default "all"
        Names of recorded programs, separated by commas, or ``"all"``.

    Returns
    -------
    streams : dict of str to DataFrame
        Stream of each case. The first two columns are the timing event and `event`.
    provenance : cmlib.io.provenance.Provenance
        Where the counts come from.

    Raises
    ------
    UnfitRecordingError
        If every stream has fewer than ten samples.
    ValueError
        If a case is unknown.
    NothingRecordedError
        If a program is unknown, or no stream is recorded.
    """
    event = event or EVENTS.get(suite, "")
    wants_suite = suite != "samples" and program == "all"
    streams_by_case = {}
    if wants_suite:
        streams_by_case = load_suite(suite, event, cases, folder=folder)
    if streams_by_case:
        provenance = _provenance_of_suite(streams_by_case, suite)
    else:
        if wants_suite:
            fetch = command_code("cmlib", "fetch", suite)
            print(f"Not shown: {suite}; {fetch} has it. Here are kernel events instead.")
        streams_by_case = load_samples("all" if wants_suite else cases, program=program)
        provenance = provenance_of_samples(streams_by_case)
    longest = max(map(len, streams_by_case.values()))
    if longest < _FEWEST_SAMPLES:
        raise UnfitRecordingError(
            f"{', '.join(streams_by_case)}: at most {longest} samples, and lines need {_FEWEST_SAMPLES}. Record a "
            "longer run, or use a shorter --period. Only the process of the command is sampled, not its children."
        )
    ordered = {case: _move_to_second(stream, event) for case, stream in streams_by_case.items()}
    return ordered, provenance


def _move_to_second(stream, event):
    """Make an event the second column of a stream, after the timing event."""
    timing_event = stream.columns[0]
    return stream[sorted(stream, key=lambda column: (column != timing_event, column != event))]


def _list_cases(wanted, cases):
    """List the cases of some programs. For example, gcc-1 and gcc-2 of gcc."""
    programs = cases.str.replace(r"-\d+$", "", regex=True)
    todo = "Its samples: `cmlib record NAME --samples -- COMMAND`"
    chosen = resolve_names(wanted, programs.unique(), about="the programs that were sampled", todo=todo)
    return list(cases[programs.isin(chosen)])
