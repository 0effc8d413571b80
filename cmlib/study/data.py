"""One program's recordings: found in the store, and cleaned."""

import functools

from cmlib import clean, store
from cmlib.archive.runs import VALGRIND, source_of
from cmlib.clean.series import FEWEST_SAMPLES
from cmlib.errors import NothingRecordedError, UnfitRecordingError
from cmlib.fanout import fan_out
from cmlib.schedule import PINNED
from cmlib.study.cache import kept
from cmlib.study.event_tables import known_sums
from cmlib.study.requested import chosen, listed
from cmlib.workloads.programs import recipes

_KINDS = {"ocoe": "without multiplexing", "mlpx": "with multiplexing", "lines": "as lines"}
FEWEST_INTERVALS = 20


def open_database(url="", recordings=None):
    """The store over the recordings and the lines beside them, made anew where they have changed.

    Parameters
    ----------
    url : str, optional
        SQLAlchemy URL; empty means an SQLite file among the results.
    recordings : path, optional
        Folder of the raw recordings; `data/recordings` by default. Lines are taken
        from the folder `samples` beside it.

    Returns
    -------
    str
        URL to hand to :mod:`cmlib.store`.

    Raises
    ------
    NothingRecordedError
        If nothing is recorded yet, saying what to run.
    """
    return store.refresh(recordings, url)


def programs(url, wanted="all", *, modes=()):
    """Names of the programs recorded in intervals, or as lines where asked for, in order of the alphabet.

    Parameters
    ----------
    url : str
    wanted : str, default "all"
        Names separated by commas, or ``all``.
    modes : sequence of "ocoe", "mlpx" and "lines", optional
        Ways of counting that a program must have been recorded in, with instructions and cycles and for at least 20
        intervals in every run. ``all`` leaves out programs that lack something of this. Programs that were kept as
        lines only are not there unless lines are asked for. Simulated programs are there if they are named, and
        never together with measured ones.

    Returns
    -------
    list of str

    Raises
    ------
    NothingRecordedError
        If one that was named is not recorded, or not so (UnfitRecordingError), or none is;
        the message says what to record.
    ValueError
        If `wanted` names none.
    """
    runs = store.runs(url) if "lines" in modes else _in_intervals(store.runs(url))
    lacking = {name: _lacking(own, modes) for name, own in runs.groupby("program")}
    simulated = set(runs.loc[runs["source"] == VALGRIND, "program"])
    complete = [name for name, lacks in lacking.items() if not lacks and name not in simulated]
    if wanted == "all" and not complete:
        kinds = " and ".join(_KINDS[mode] for mode in modes) or "in intervals"
        raise NothingRecordedError(
            f"no program is recorded {kinds}. Record one: {how_to_record('NAME', modes)}"
        )
    if wanted == "all":
        return complete
    unknown = [name for name in listed(wanted) if name not in lacking][:1]
    todo = "".join(f"Record it: {how_to_record(name, modes)}{_left_out(url, name)}" for name in unknown)
    names = chosen(wanted, lacking, about="the programs recorded", todo=todo)
    for name in names:
        if lacking[name]:
            raise UnfitRecordingError(
                f"program {name!r} has {lacking[name]}. What is missing: {how_to_record(name, modes)}"
            )
    if 0 < len(simulated & set(names)) < len(names):
        raise UnfitRecordingError(
            f"{', '.join(sorted(simulated & set(names)))} is simulated, and others of {wanted} are measured: simulated "
            "counts never stand beside measured ones in a table or model. Study them one after the other."
        )
    return names


def _left_out(url, program):
    """What is recorded of a program, and could not be stored."""
    refused = store.refused(url)
    reasons = refused["reason"][refused["name"].str.split("/").str[1] == program]
    return "".join(f"\nLeft out: {reason}" for reason in reasons)


def _lacking(runs, modes):
    """What a program's runs lack to be studied by their IPC both with and without multiplexing; empty if nothing."""
    if runs["source"].nunique() > 1:
        return "measured and simulated runs in one folder, and the two are never joined"
    if modes and VALGRIND in set(runs["source"]):
        return "simulated runs only, which count no cycles, so that there is no IPC"
    usable = runs[(runs["mode"] == "lines") | runs["events"].map(knows_ipc)]
    if usable.empty and modes:
        return "no run that counts both instructions and cycles"
    absent = [_KINDS[mode] for mode in modes if mode not in set(usable["mode"])]
    if absent:
        return f"no run {' and none '.join(absent)} that counts instructions and cycles"
    for run in usable[usable["mode"].isin(modes) & (usable["mode"] != "lines")].itertuples():
        if run.n_intervals < FEWEST_INTERVALS:
            return f"{run.n_intervals} intervals in run {run.run}, and {FEWEST_INTERVALS} are the fewest"
    return ""


def knows_ipc(events):
    """Whether instructions and cycles are among some events."""
    return set(PINNED) <= set(events)


def how_to_record(name, modes):
    """What brings a program in: its own recipe, if there is one."""
    if "lines" in modes:
        return f"`cmlib record {name} --samples --compress -- COMMAND`"
    if name in recipes():
        return f"`cmlib record --program {name}`"
    return f"`cmlib record {name} -- COMMAND`, or `cmlib import {name} FILE…`"


def interval_runs(url, programs):
    """Runs of some programs as :func:`cmlib.store.runs` lists them, without those that were kept as lines."""
    return _in_intervals(store.runs(url)).query("program in @programs").reset_index(drop=True)


def load_all(url, program, **which):
    """All runs of a program that know its IPC, or those of one ``set`` or ``mode``."""
    runs = store.runs(url, program=program, **which)
    return [store.load(url, run_id) for run_id in runs["run_id"][runs["events"].map(knows_ipc)]]


def cleaned_runs(url, program, sets, *, method="joint", workers=None):
    """Runs of some sets of a program, cleaned.

    Parameters
    ----------
    url : str
    program : str
    sets : list of str
        Such as ``["ocoe", "sweep"]``, or ``["hardware-lines"]`` of what was kept as lines.
    method : str, default "joint"
        A method of :func:`cmlib.clean.clean_run`.
    workers : cmlib.fanout.Workers, optional
        By default a process a processor.

    Returns
    -------
    DataFrame
        Columns ``set``, ``pass``; ``counts``: the cleaned counts, a row an interval [s], a column an event; a
        short last interval is left out, and NaN is an event that was counted in fewer than three; and ``seconds``,
        a Series: how long each of the intervals took. Simulated counts are exact, and stay as they are.

    Raises
    ------
    NothingRecordedError
        If the program has no run of any of the sets.
    """
    runs = store.runs(url, program=program).query("set in @sets")
    if runs.empty:
        raise NothingRecordedError(
            f"program {program!r} has no recording of {' or '.join(sets)}; notebook 01 lists what it has. "
            f"Record it: {how_to_record(program, [])}."
        )
    job = functools.partial(_cleaned, url, method=method)
    counts, seconds = zip(*fan_out(job, runs["run_id"], workers), strict=True)
    return runs[["set", "pass"]].assign(counts=list(counts), seconds=list(seconds))


def whole_intervals(run):
    """Counts and running shares of a run without its last interval, where that was cut short."""
    whole = clean.whole_intervals(run.interval_s)
    return run.counts[whole], run.running[whole]


def _in_intervals(runs):
    return runs[runs["mode"] != "lines"]


def _cleaned(url, run_id, *, method):
    run = store.load(url, run_id)
    counts, running = whole_intervals(run)
    if source_of(run.meta) == VALGRIND:
        return counts, run.interval_s[counts.index]
    hardly = counts.columns[counts.notna().sum() < FEWEST_SAMPLES]
    counts = counts.assign(**dict.fromkeys(hardly, float("nan")))
    sums = known_sums(run)

    def compute():
        cleaned, _ = clean.clean_run(counts, running, method=method, sums=sums, run=f"run {run_id!r}")
        return {"counts": cleaned}

    cleaned = kept(("cleaned run", method, sums, counts, running), compute)["counts"]
    return cleaned, run.interval_s[counts.index]
