"""The sample streams of programs that cmlib sampled, case by case: a case is a program with its input."""

from cmlib.collect.sampling import read_samples
from cmlib.experiments.requested import resolve_names, split_names
from cmlib.io.samples import find_streams

SOURCES = {
    "hardware": "hardware events",
    "software": "software events and tracepoints, not hardware events",
}


def load_samples(wanted="all", *, program="all", kind="auto"):
    """Cumulative counts by case, the timer first; cases by name, or all of some programs."""
    found = find_streams(None, kind).drop_duplicates("name").set_index("name", drop=False)
    names = _cases_of(program, found.index) if wanted == "all" else split_names(wanted)
    for name in names:
        if name not in found.index:
            raise ValueError(f"there is no sample stream {name!r}; there are {', '.join(found.index)}.")
    streams = {row.name: read_samples(row.path) for row in found.loc[names].itertuples(index=False)}
    for totals in streams.values():
        totals.attrs["kind"] = found["kind"].iloc[0]
    return streams


def _cases_of(wanted, cases):
    """Cases of some programs: ``gcc`` has ``gcc-1``, ``gcc-2`` and so on."""
    programs = cases.str.replace(r"-\d+$", "", regex=True)
    todo = "Its samples: `cmlib record NAME --samples -- COMMAND`"
    own = resolve_names(wanted, programs.unique(), about="the programs that were sampled", todo=todo)
    return list(cases[programs.isin(own)])
