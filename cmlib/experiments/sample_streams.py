"""Load streams of cumulative counts, sampled by cmlib or published, by case: a program with its input, such as "gcc-1".

A stream has a row per sample, taken whenever the timing event (the first column) has happened a fixed number of
times, and a column per event: how often it has happened since the start. :func:`load_streams` gives a dict from case
to such a DataFrame. A NothingRecordedError if nothing is recorded, an UnfitRecordingError if there are fewer than
ten samples, a ValueError for an unknown case.
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
    """Dict from case to cumulative counts (DataFrame) that cmlib sampled, the timing event first.

    `wanted` is cases separated by commas, or "all" of those of `program` (names separated by commas, or "all"). `kind`
    is "hardware" or "software" (events), or "auto": hardware if there are any, else software; ``attrs["kind"]`` of each
    frame says which. A ValueError for an unknown case; a NothingRecordedError for an unknown program, or if nothing is
    recorded.
    """
    recorded = find_streams(None, kind).drop_duplicates("name").set_index("name", drop=False)
    names = _cases_of(program, recorded.index) if wanted == "all" else split_names(wanted)
    for name in names:
        if name not in recorded.index:
            raise InputError(f"there is no sample stream {name!r}; there are {', '.join(recorded.index)}.")
    counted = {row.name: read_samples(row.path) for row in recorded.loc[names].itertuples(index=False)}
    kind = recorded["kind"].iloc[0]
    for totals in counted.values():
        totals.attrs["kind"] = kind
    note_read(provenance_of_samples(counted))
    return counted


def provenance_of_samples(counted: dict[str, pd.DataFrame]) -> Provenance:
    """Return the provenance of streams of :func:`load_samples`, a dict from case to cumulative counts."""
    kinds = {"hardware": OWN_HARDWARE, "software": SOFTWARE_EVENTS}
    kind = next(iter(counted.values())).attrs["kind"]
    return Provenance(kinds[kind], tuple(counted), _events_of(counted))


def _events_of(counted):
    """Return the names (tuple of str) of the events in streams, a dict from case to DataFrame."""
    return tuple(dict.fromkeys(event for totals in counted.values() for event in totals))


def load_suite(name: str, event: str, wanted: str = "all", *, folder: str = "") -> dict[str, pd.DataFrame]:
    """Load the streams of a published suite, one per case.

    Returns a dict from case to cumulative counts (DataFrame). The stream of a case is its first run that counted the
    event.

    `name` is that of the suite, such as "spec-llc", `event` the event that is required, `wanted` "all" or cases
    separated by commas; `folder` holds the files, by default where ``cmlib fetch`` puts them. Cases without such a run
    of three samples or more are left out. A NothingRecordedError for an unknown case.
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
    """Load a published suite's streams, or those that cmlib sampled if the suite is not here or `program` is given.

    `suite` is a suite's name, or "samples" for cmlib's; `event` that which is compressed (by default the suite's,
    of `EVENTS`), `cases` "all" or cases separated by commas; `program` "all" or names of sampled programs; `folder`
    holds the suite's files. Returns a dict from case to cumulative counts (DataFrame), whose first columns are the
    timing event and `event`; and the :class:`cmlib.io.provenance.Provenance` of them. An UnfitRecordingError if no
    stream has ten samples; errors of :func:`load_samples` (ValueError, NothingRecordedError).
    """
    event, of_suite = event or EVENTS.get(suite, ""), suite != "samples" and program == "all"
    totals = load_suite(suite, event, cases, folder=folder) if of_suite else {}
    if totals:
        provenance = _provenance_of_suite(totals, suite)
    else:
        if of_suite:
            have = command_code("cmlib", "fetch", suite)
            print(f"Not shown: {suite}; {have} has it. Here are kernel events instead.")
        totals = load_samples("all" if of_suite else cases, program=program)
        provenance = provenance_of_samples(totals)
    longest = max(map(len, totals.values()))
    if longest < _FEWEST:
        raise UnfitRecordingError(
            f"{', '.join(totals)}: at most {longest} samples, and lines take {_FEWEST}. Record a longer run, or with a "
            "shorter --period; only the command's own process is sampled, not its children."
        )
    return {
        name: counts[sorted(counts, key=lambda column: (column != counts.columns[0], column != event))]
        for name, counts in totals.items()
    }, provenance


def _cases_of(wanted, cases):
    """List of the cases of some programs: ``gcc`` has ``gcc-1``, ``gcc-2`` and so on."""
    programs = cases.str.replace(r"-\d+$", "", regex=True)
    todo = "Its samples: `cmlib record NAME --samples -- COMMAND`"
    chosen = resolve_names(wanted, programs.unique(), about="the programs that were sampled", todo=todo)
    return list(cases[programs.isin(chosen)])
