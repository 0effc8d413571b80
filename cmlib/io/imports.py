"""Import counts that were recorded elsewhere: files of perf or other tools become runs among the recordings,
unchanged.

:func:`import_files` takes files, and gives the paths of the metadata that it wrote beside copies of them.
RecordError, before anything is written, for files that can't be read and runs that can't be compared with those
there.
"""

import reprlib
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.io import events
from cmlib.io.archive import as_text, errors_as, locked, make_folder, programs, reading_errors_as
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import UNKNOWN, are_totals, check_run, events_of, unknown_machine
from cmlib.io.perf.cutting import read_marks
from cmlib.io.perf.formats.lines import NO_SHARES
from cmlib.io.perf.share_lines import EVENTS
from cmlib.io.sources import read_sources
from cmlib.processors import machine_with

_UNMULTIPLEXED = "ocoe"
_DAY_MS = 24 * 3600 * 1000


def import_notes(metas):
    """A list of the distinct remarks (str) that were made when runs were imported.

    `metas` (iterable of dicts) are the runs' metadata. The remark that running shares are missing is left out, as the
    counts themselves tell it; runs recorded here have none.
    """
    notes = (meta.get("note", "").replace(NO_SHARES, "") for meta in metas if meta.get("imported"))
    return list(filter(None, dict.fromkeys(" ".join(note.split()) for note in notes)))


def printed_shares(metas):
    """Shares of the slots that the recording tool itself printed, the mean over some runs: a dict of category to
    share (0–1). Runs of which less of level 1 was printed, maybe by another tool, only add what the others lack.

    `metas` (list of dicts) are the runs' metadata. Beside categories, such as ``front end``, the dict has ``CPUs``,
    the median of how many a run used (NaN if not known), and what else :func:`cmlib.io.perf.printed` reads.
    """
    printed = pd.DataFrame([meta["printed"] for meta in metas if "printed" in meta])
    cpus = pd.Series([meta.get("cpus") for meta in metas], dtype=float).median()
    n_told = printed.reindex(columns=[*EVENTS]).count(axis=1)
    fullest = printed[n_told == n_told.max()].mean().dropna()
    return {"CPUs": cpus} | printed.mean().to_dict() | fullest.to_dict()


def import_files(
    name,
    files,
    *,
    mode=None,
    set_name=None,
    interval_ms=None,
    columns=None,
    place="",
    marks=None,
    condition="",
    command="",
    note="",
    about=None,
    processor=None,
    folder=None,
):
    """Import counts by interval, a run a file, or as many as were put into it.

    Files are all read and checked before the first is kept. Runs are put together in sets: a file with the same
    events as a run of its set becomes a further pass (repetition) of it; one with others becomes a further part (the
    events of a set may be spread over several runs). What perf's output does not tell stays unknown, or is inferred:
    pinned events (counted all the time) from their modifier, groups from events that were on the counters for the
    same share of every interval.

    Parameters
    ----------
    name : str
        Name of the program, and of its folder among the recordings.
    files : sequence of path
        Plain, or packed by gzip, xz, bzip2 or Zstandard, as perf wrote them.
    mode : {"ocoe", "mlpx"}, optional
        ``ocoe`` (one counter, one event) if each event was counted all the time, ``mlpx`` (multiplexed) if they took
        turns. If not given, it is seen from the running shares, and ``unknown`` where the file does not tell them.
    set_name : str, optional
        ``ocoe``, ``mlpx12`` for twelve events a run, or ``counts`` without running shares, if not given; with
        ``totals_`` before it where counts are totals of whole runs.
    interval_ms : int, optional
        Time between samples [ms], 1 to 86,400,000; if not given, the shortest in the file but for the last, which is
        cut short.
    columns : mapping of str to {"count", "level"}, optional
        Columns of a wide table (a column an event) that are kept though they name no event, such as power or a
        latency, so that they can be explained.
    place : str, default ""
        The CPU, core, socket or node to take where a file counts each by itself, such as ``CPU3``; it is the
        condition then, if none is given. If empty, their counts are added up.
    marks : path, optional
        File of marks (`read_marks`), which cut each recording into programs or phases: program
        NAME-MARK each.
    condition : str, default ""
        How the runs differ from others of the program, such as ``collocated``. They are stored as program
        NAME-CONDITION, so that they are never put together with others.
    command : str, default ""
        The command that was measured.
    note : str, default ""
        Kept with the metadata.
    about : dict, optional
        What ``cmlib doctor --json`` said on the machine of the recording.
    processor : str, optional
        The machine's processor, as :func:`cmlib.processors.find` names it.
    folder : path, optional
        Folder of all recordings; `data/recordings` by default.

    Returns
    -------
    list of pathlib.Path
        Metadata files of the new runs.

    Raises
    ------
    RecordError
        If a file can't be read, is not perf's output (naming file, line and
        content), holds no interval or is imported already, or if the runs can't be
        compared with those that are there; if a name or the interval is not allowed, or nothing can be written.
    """
    if interval_ms is not None and not 1 <= interval_ms <= _DAY_MS:
        got = reprlib.repr(interval_ms)
        raise RecordError(f"an interval has 1 to {_DAY_MS:,} ms, which is a day; got {got}.")
    recordings = Path(folder or places.recordings_dir())
    condition = condition or place
    programs.check_names(_program(name, "", condition), set_name or _UNMULTIPLEXED)
    origin = _origin(about, processor, command, note) | {"condition": condition}
    known = {"mode": mode, "interval_ms": interval_ms, "columns": columns, "place": place}
    known |= {"marks": read_marks(marks) if marks else ()}
    sources = {}
    for source in read_sources(files, origin["machine"], **known):
        sources.setdefault(_program(name, source.mark, condition), []).append(source)
    with errors_as(RecordError, recordings):
        recordings.mkdir(parents=True, exist_ok=True)
    # Locked until the files are written, so that no other import takes the same names of runs.
    with errors_as(RecordError, recordings), locked(recordings):
        added = [
            (recordings / program, meta, source)
            for program, of_program in sources.items()
            for meta, source in _intended(recordings / program, of_program, set_name, origin)
        ]
        for target in dict.fromkeys(target for target, _, _ in added):
            make_folder(target)
        return [programs.add_run(target, meta, source.raw) for target, meta, source in added]


def _program(name, mark, condition):
    """Name of the program of a run: ``NAME-MARK-CONDITION``, without what is empty."""
    return "-".join(filter(None, [name, mark, condition]))


def _intended(target, sources, set_name, origin):
    """Yield (metadata, ForeignRecording) of each run to be added to a program's folder; all are checked.

    `target` is the folder (Path), `origin` the entries of metadata that files don't tell. RecordError if a run is
    there already, or can't be compared with those that are.
    """
    name, ready = target.name, programs.existing_runs(target)
    contents = {run: programs.read_raw(target, run) for run in ready}
    for source in sources:
        facts = {"note": " ".join(filter(None, [origin["note"], source.remark]))}
        meta = _metadata(name, source, set_name, ready) | origin | facts
        core = events.core_pmu([*events_of(meta), *meta.get("names", {})])
        meta["machine"] = meta["machine"] | source.facts.get("machine", {})
        meta["machine"] |= machine_with(core and events.processor_of(meta["machine"], core))
        for run, raw in contents.items():
            if raw == source.raw:
                raise RecordError(f"{source.file} is {name}/{run} already; nothing was imported.")
        check_run(meta, target / f"{meta['run']}.json")
        programs.check_comparable(ready.values(), meta)
        ready |= {meta["run"]: meta}
        contents |= {meta["run"]: source.raw}
        yield meta, source


def _metadata(name, source, set_name, ready):
    """Metadata (dict) of a run: what its file tells, its place in the set, and the groups of runs with the same
    events.

    `source` is a ForeignRecording, `set_name` None for the usual name, `ready` the program's runs (dict of name to
    metadata).
    """
    facts = source.facts
    names = events_of(facts)
    n_unpinned = len(names) - len(events.second_readings(names)) - len(facts["pinned"])
    usual = {_UNMULTIPLEXED: _UNMULTIPLEXED, UNKNOWN: "counts"}.get(facts["mode"], f"mlpx{n_unpinned}")
    chosen = set_name or (f"totals_{usual}" if are_totals(facts) else usual)
    place, alike = programs.next_place(name, chosen, names, ready)
    return place | facts | ({"groups": alike[0]["groups"]} if alike else {})


def _origin(about, processor, command, note):
    """Entries of metadata (dict) that files don't tell: machine, counters, command, note.

    `about` is the output of ``cmlib doctor --json``, or None for a machine that is unknown; RecordError if it is not.
    """
    about = {"machine": {}, "offered_counters": None, "good_counters": None} if about is None else about
    what = "what was told of the machine is not the output of `cmlib doctor --json`"
    with reading_errors_as(RecordError, what, errors=(KeyError, TypeError)):
        counters = {"offered": about["offered_counters"], "good": about["good_counters"]}
        machine = unknown_machine() | about["machine"] | machine_with(processor)
    origin = {"counters": counters, "machine": machine, "command": command, "note": note}
    with errors_as(RecordError, ""):
        as_text(origin, "what was told of the machine, the command or the note")
    return origin | {"exit_code": None, "imported": True}
