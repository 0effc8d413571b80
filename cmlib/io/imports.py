"""Import counts that were recorded elsewhere: files of perf or other tools become runs among the recordings,
unchanged."""

import reprlib
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.io import events
from cmlib.io.archive import as_text, errors_as, locked, make_folder, programs
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import UNKNOWN, are_totals, check_run, events_of, unknown_machine
from cmlib.io.perf.cutting import read_marks
from cmlib.io.perf.formats.lines import NO_SHARES
from cmlib.io.sources import read_sources
from cmlib.processors import machine_with

_UNMULTIPLEXED = "ocoe"
_DAY_MS = 24 * 3600 * 1000


def import_notes(metas):
    """A list of the distinct remarks that were made when runs were imported, from their metadata (dicts).

    The remark that running shares are missing is left out, as the counts themselves tell it.
    """
    notes = (meta.get("note", "").replace(NO_SHARES, "") for meta in metas if meta.get("imported"))
    return list(filter(None, dict.fromkeys(" ".join(note.split()) for note in notes)))


def printed_shares(metas):
    """A dict of category to the share of slots that the recording tool itself printed, the mean over some runs.

    `metas` are the runs' metadata; empty if none was printed.
    """
    printed = pd.DataFrame([meta["printed"] for meta in metas if "printed" in meta])
    cpus = pd.Series([meta.get("cpus") for meta in metas], dtype=float).median()
    return printed.mean().to_dict() | {"CPUs": cpus}


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

    Files are all read and checked before the first is kept. A file with the
    same events as a run of the set becomes the next pass of that part; one
    with others becomes a further part. What perf's output does not tell
    stays unknown, or is inferred: pinned events from their modifier, groups from
    events that were on the counters for the same share of every interval.

    Parameters
    ----------
    name : str
        Name of the program, and of its folder among the recordings.
    files : sequence of path
        Plain, or packed by gzip, xz, bzip2 or Zstandard, as perf wrote them.
    mode : {"ocoe", "mlpx"}, optional
        If not given: ``ocoe`` where every event ran all the time, ``mlpx`` where one did not, and ``unknown`` where
        the file does not tell.
    set_name : str, optional
        ``ocoe``, ``mlpx12`` for twelve events a run, or ``counts`` without running shares, if not given.
    interval_ms : int, optional
        Time between samples [ms], 1 to 86,400,000; if not given, the shortest in the file but for the last, which is
        cut short.
    columns : mapping of str to {"count", "level"}, optional
        Columns of a wide table that are kept though they name no event, such as power or a latency, so that they can
        be explained.
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
        compared with those that are there; if the interval is out of its range.
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
    """Yield (metadata, ForeignRecording) of each run to be added to a program's folder, all checked before."""
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
    """Metadata (dict) of a run, with its place in the set: what its file tells, and groups of runs with the same
    events."""
    facts = source.facts
    names = events_of(facts)
    n_unpinned = len(names) - len(events.second_readings(names)) - len(facts["pinned"])
    usual = {_UNMULTIPLEXED: _UNMULTIPLEXED, UNKNOWN: "counts"}.get(facts["mode"], f"mlpx{n_unpinned}")
    chosen = set_name or (f"totals_{usual}" if are_totals(facts) else usual)
    programs.check_names(name, chosen)
    place, alike = programs.next_place(name, chosen, names, ready)
    return place | facts | ({"groups": alike[0]["groups"]} if alike else {})


def _origin(about, processor, command, note):
    """Entries of metadata (dict) that files don't tell: machine, counters, command, note.

    `about` is the output of ``cmlib doctor --json``, or None for a machine that is unknown; RecordError if it is not.
    """
    about = {"machine": {}, "offered_counters": None, "good_counters": None} if about is None else about
    try:
        counters = {"offered": about["offered_counters"], "good": about["good_counters"]}
        machine = unknown_machine() | about["machine"] | machine_with(processor)
    except (KeyError, TypeError) as error:
        raise RecordError(
            "what was told of the machine is not the output of `cmlib doctor --json`."
        ) from error
    origin = {"counters": counters, "machine": machine, "command": command, "note": note}
    with errors_as(RecordError, ""):
        as_text(origin, "what was told of the machine, the command or the note")
    return origin | {"exit_code": None, "imported": True}
