"""Import counts that were recorded elsewhere: files of perf or other tools become runs among the recordings, unchanged.

:func:`import_files` takes files, and gives the paths of the metadata that it wrote beside copies of them.
RecordError, before anything is written, for files that cannot be read and runs that cannot be compared with those
there.
"""

import contextlib
import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.io import events
from cmlib.io.archive import as_text, errors_as, locked, program_folder, programs, reading_errors_as
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import UNKNOWN, are_totals, check_run, events_of, unknown_machine
from cmlib.io.formats.readings import ReadOptions
from cmlib.io.marks import read_marks
from cmlib.io.meaning.tool_metrics import SHARE_EVENTS
from cmlib.io.sources import NO_SHARES, read_recordings
from cmlib.processors import machine_with

_UNMULTIPLEXED = "ocoe"
_DAY_MS = 24 * 3600 * 1000


def import_notes(metas: Iterable[Mapping]) -> list[str]:
    """List the distinct notes that were made when runs were imported.

    Runs that cmlib recorded itself have no notes. The note that running shares are missing is left out.

    Parameters
    ----------
    metas : iterable of mapping
        Metadata of the runs.
    """
    notes = []
    for meta in metas:
        if meta.get("imported"):
            note = meta.get("note", "").replace(NO_SHARES, "")
            notes.append(" ".join(note.split()))
    return [note for note in dict.fromkeys(notes) if note]


def printed_shares(metas: Iterable[Mapping]) -> dict[str, float]:
    """Average over runs what the recording tool itself computed.

    Parameters
    ----------
    metas : iterable of mapping
        Metadata of the runs.

    Returns
    -------
    dict of str to float
        By category, such as ``front end``, its share of the slots (0 to 1), and what else
        :func:`cmlib.io.meaning.tool_metrics.collect_metrics` finds; ``CPUs``, the median of how many a run used (NaN
        if not known). Runs with fewer categories of level 1 than others only add what these lack.
    """
    metas = list(metas)
    printed = pd.DataFrame([meta["printed"] for meta in metas if "printed" in meta])
    cpus = pd.Series([meta.get("cpus") for meta in metas], dtype=float).median()
    n_categories = printed.reindex(columns=[*SHARE_EVENTS]).count(axis=1)
    fullest = printed[n_categories == n_categories.max()].mean().dropna()
    return {"CPUs": cpus} | printed.mean().to_dict() | fullest.to_dict()


def import_files(
    name,
    files,
    *,
    format=None,
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
    """Import files of counts as recordings of a program. A file holds one run or several.

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
    format : str, optional
        Name of the files' format; by default the only one that recognizes each.
    mode : {"ocoe", "mlpx"}, optional
        ``ocoe`` (one counter, one event) if each event was counted all the time, ``mlpx`` (multiplexed) if they took
        turns. Default: derived from the running shares, or ``unknown`` if the file has none.
    set_name : str, optional
        Name of the set. By default ``ocoe``, ``mlpx12`` (multiplexed, twelve events in a run), or ``counts`` if the
        file has no running shares. The prefix ``totals_`` is added if the counts are totals of whole runs.
    interval_ms : int, optional
        Time between samples [ms], 1 to 86,400,000; if not given, the shortest in the file but for the last, which is
        cut short.
    columns : mapping of str to {"count", "level"}, optional
        Columns of a wide table (a column per event) that are kept though they name no event, such as power or a
        latency, so that they can be explained.
    place : str, default ""
        The CPU, core, socket or node to import, such as ``CPU3``, from a file that counts each by itself. If empty,
        their counts are added up. A place is also the default of `condition`.
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
    recorded = read_recordings(
        files,
        origin["machine"],
        format=format,
        options=ReadOptions(columns=columns or {}, interval_ms=interval_ms),
        place=place,
        marks=read_marks(marks) if marks else (),
        mode=mode,
    )
    sources = {}
    for source in recorded:
        sources.setdefault(_program(name, source.name, condition), []).append(source)
    with errors_as(RecordError, recordings):
        recordings.mkdir(parents=True, exist_ok=True)
    # Locked until the files are written, so that no other import takes the same names of runs.
    with errors_as(RecordError, recordings), locked(recordings):
        added = [
            (recordings / program, meta, source)
            for program, of_program in sources.items()
            for meta, source in _intended(recordings / program, of_program, set_name, origin)
        ]
        with contextlib.ExitStack() as folders:
            for target in dict.fromkeys(target for target, _, _ in added):
                folders.enter_context(program_folder(target))
            return _add_runs(added)


def _add_runs(added):
    """Write runs, (folder, metadata, FileRecording) each; paths of their metadata. After an error none is left."""
    made = []
    first_with_content = {}
    try:
        for target, meta, source in added:
            file = programs.add_run(target, meta, source.raw)
            made.append(file)
            first = first_with_content.setdefault((target, source.raw), file)
            if first != file:
                programs.share_content(first, file)
    except BaseException:
        for file in made:
            programs.remove_run(file)
        raise
    return made


def _program(name, mark, condition):
    """Name the program of a run: ``NAME-MARK-CONDITION``, without what is empty."""
    return "-".join(filter(None, [name, mark, condition]))


def _intended(target, sources, set_name, origin):
    """Yield (metadata, FileRecording) of each run to be added to a program's folder; all are checked.

    `target` is the folder (Path), `origin` the entries of metadata that files do not give. RecordError if a run is
    there already, or cannot be compared with those that are.
    """
    name, ready = target.name, programs.existing_runs(target)
    contents = {run: _identify(programs.read_raw(target, run), meta) for run, meta in ready.items()}
    for source in sources:
        facts = {"note": " ".join(filter(None, [origin["note"], source.note]))}
        meta = _metadata(name, source, set_name, ready) | origin | facts
        core = events.core_pmu([*events_of(meta), *meta.get("names", {})])
        meta["machine"] = meta["machine"] | source.facts.get("machine", {})
        meta["machine"] |= machine_with(core and events.processor_of(meta["machine"], core))
        identity = _identify(source.raw, meta)
        for run, other in contents.items():
            if identity == other:
                raise RecordError(f"{source.file} is {name}/{run} already; nothing was imported.")
        check_run(meta, target / f"{meta['run']}.json")
        programs.check_comparable(ready.values(), meta)
        ready |= {meta["run"]: meta}
        contents |= {meta["run"]: identity}
        yield meta, source


def _identify(raw: bytes, meta: Mapping) -> tuple[bytes, str]:
    """Return what makes a run the same as another: its file, and what of that is selected."""
    selected = {key: meta[key] for key in ("selection", "parts") if key in meta}
    return raw, repr(selected)


def _metadata(name, source, set_name, ready):
    """Make the metadata of a run: what its file gives, its place in the set, and its groups of events.

    `source` is a FileRecording, `set_name` None for the usual name, `ready` the program's runs (dict of name to
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
    """Make the entries of metadata that files do not give: machine, counters, command and note.

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
