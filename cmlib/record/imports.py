"""Take perf output that was recorded elsewhere into the recordings, byte for byte."""

import contextlib
import itertools
import re
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from cmlib import events, machine, perf, places
from cmlib.archive import as_text, errors_as, locked, make_folder, read_file, unpack
from cmlib.archive.runs import check_run, events_of, run_name
from cmlib.record.archive import (
    RecordError,
    add_run,
    check_comparable,
    check_names,
    existing_runs,
    read_raw,
)
from cmlib.record.foreign import recognise

_GZIP = b"\x1f\x8b"
_UNMULTIPLEXED = "ocoe"


def import_files(
    name, files, *, mode=None, set_name=None, interval_ms=None, command="", note="", about=None, folder=None
):
    """Import interval output of ``perf stat``, a run a file, or as many as ``--append`` put into it.

    Files are all read and checked before the first is kept. A file with the
    same events as a run of the set becomes the next pass of that part; one
    with others becomes a further part. What perf's output does not tell
    stays unknown, or is inferred: pinned events from their modifier, groups from
    events that were on the counters for the same share of every interval.

    Parameters
    ----------
    name : str
        Program; its folder among the recordings.
    files : sequence of path
        Plain or gzipped, as perf wrote them.
    mode : {"ocoe", "mlpx"}, optional
        If not given: ``ocoe`` where every event ran all the time, else ``mlpx``.
    set_name : str, optional
        ``ocoe``, or ``mlpx12`` for twelve events a run, if not given.
    interval_ms : int, optional
        Time between samples [ms], if not the shortest in the file but for the last, which is cut short.
    command : str, default ""
        The command that was measured.
    note : str, default ""
    about : dict, optional
        What ``cmlib doctor --json`` said on the machine of the recording.
    folder : path, optional
        Of all recordings; `data/recordings` by default.

    Returns
    -------
    list of pathlib.Path
        Metadata files of the new runs.

    Raises
    ------
    RecordError
        If a file can't be read, is not perf's output (naming file, line and
        content), holds no interval or is imported already, or if the runs can't be
        compared with those that are there.
    """
    recordings = Path(folder or places.recordings_dir())
    check_names(name, set_name or _UNMULTIPLEXED)
    sources = [source for file in files for source in _read(Path(file), mode, interval_ms)]
    target = recordings / name
    with errors_as(RecordError, recordings):
        recordings.mkdir(parents=True, exist_ok=True)
    # Names are free until the files are there.
    with errors_as(RecordError, recordings), locked(recordings):
        ready = existing_runs(target)
        contents = {run: read_raw(target, run) for run in ready}
        added = []
        for source in sources:
            told = " ".join(filter(None, [note, source.remark]))
            meta = _metadata(name, source, set_name, ready) | _origin(about, command, told)
            for run, raw in contents.items():
                if raw == source.raw:
                    raise RecordError(f"{source.file} is {name}/{run} already; nothing was imported.")
            check_run(meta, target / f"{meta['run']}.json")
            check_comparable(ready.values(), meta)
            ready |= {meta["run"]: meta}
            contents |= {meta["run"]: source.raw}
            added.append((meta, source))
        make_folder(target)
        return [add_run(target, meta, source.raw, compressed=source.compressed) for meta, source in added]


@dataclass(frozen=True)
class _Source:
    """A file and what it tells of the run."""

    file: Path
    raw: bytes
    compressed: bytes | None
    facts: dict
    remark: str  # on what was taken for granted


def _read(file, mode, interval_ms):
    with errors_as(RecordError, file):
        content = read_file(file)
        raw = unpack(content, file) if content.startswith(_GZIP) else content
    if told := recognise(raw):
        raise RecordError(f"{file} {told}")
    try:
        parts = perf.split_runs(raw.decode("latin-1"))  # a character a byte
    except ValueError as error:
        raise RecordError(f"{file} can't be read: {error}") from error
    if len(parts) == 1:
        return [_source(file, raw, content if content is not raw else None, mode, interval_ms)]
    kept = list(dict.fromkeys(parts))
    copies = f"{len(parts) - len(kept)} of its {len(parts)} runs are copies of others." * (
        len(kept) < len(parts)
    )
    sources = [_source(file, part.encode("latin-1"), None, mode, interval_ms) for part in kept]
    return [replace(source, remark=f"{source.remark} {copies}".strip()) for source in sources]


def _source(file, raw, compressed, mode, interval_ms):
    text = raw.decode(errors="replace")
    try:
        frame = perf.parse_stat(text, interval_ms=interval_ms)
        counts, running = perf.series(frame)
    except ValueError as error:
        raise RecordError(f"{file} is not interval output of one run of perf stat: {error}") from error
    if frame.empty:
        raise RecordError(
            f"{file} holds no counts by interval: record it with `perf stat -I 100 -x, -o FILE -- COMMAND`."
        )
    _check_event_names(file, counts)
    about = perf.about(text)
    names = events.common_names(counts)
    facts = _facts(frame, counts.rename(columns=names), running.rename(columns=names), names, text)
    facts |= {
        "mode": mode or facts["mode"],
        "interval_ms": interval_ms or facts["interval_ms"],
        "running_shares": about.running_shares,
        "names": names,
    }
    remarks = [*about.remarks, *(f"{written} is taken for {name}." for written, name in names.items())]
    return _Source(file, raw, compressed, facts, " ".join(remarks))


def _check_event_names(file, names):
    for name in names:
        if not name.isprintable() or "<" in name or ">" in name:
            raise RecordError(
                f"{file} counts an event named {name!r}, with control characters or angle brackets, which no event "
                "of perf's has: was the file edited? Import it as perf wrote it, or rename the event in a copy."
            )


def _facts(frame, counts, running, names, text):
    bases = {event: events.base_name(event) for event in dict.fromkeys(frame["event"])}
    written = {names.get(base, base): event for event, base in bases.items()}
    modifiers = {
        name: event.rpartition(":")[2]
        for name, event in written.items()
        if event == f"{bases[event]}:{event.rpartition(':')[2]}"
    }
    pinned = [name for name, modifier in modifiers.items() if "D" in modifier and name in counts]
    pinned = pinned or [name for name in ("instructions", "cycles") if name in counts]
    others = [name for name in counts if name not in pinned]
    times = counts.index.to_numpy()
    return {
        "mode": "ocoe" if running.where(counts.notna()).min().min() >= 1 else "mlpx",
        "pinned": pinned,
        "groups": _groups(running[others]),
        "modifier": next((modifier.replace("D", "") for modifier in modifiers.values()), None),
        "interval_ms": round(1000 * np.diff(times, prepend=0.0)[: max(len(times) - 1, 1)].min()),
        "encodings": {name: written.get(name, name) for name in others},
        "separator": _separator(text),
        "date": _started(text),
        "duration_s": float(times[-1]),
    }


def _groups(running):
    """Neighbouring events that ran for the same share of every interval."""
    shares = {event: running[event].to_numpy().tobytes() for event in running}
    return [list(group) for _, group in itertools.groupby(shares, key=shares.get)]


def _separator(text):
    line = next(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    if line.lstrip().startswith("{"):
        return "json"
    return next((mark for mark in (";", "\t") if mark in line), ",")


def _metadata(name, source, set_name, ready):
    facts = source.facts
    n_unpinned = len(events_of(facts)) - len(facts["pinned"])
    chosen = set_name or (_UNMULTIPLEXED if facts["mode"] == "ocoe" else f"mlpx{n_unpinned}")
    check_names(name, chosen)
    of_set = [meta for meta in ready.values() if meta["set"] == chosen]
    alike = [meta for meta in of_set if events_of(meta) == events_of(facts)]
    part = alike[0]["part"] if alike else 1 + max((meta["part"] for meta in of_set), default=-1)
    number = 1 + max((meta["pass"] for meta in alike), default=-1)
    place = {
        "program": name,
        "set": chosen,
        "pass": number,
        "part": part,
        "run": run_name(chosen, number, part),
    }
    return place | facts | ({"groups": alike[0]["groups"]} if alike else {})


def _origin(about, command, note):
    """What perf's output does not tell; without `about`, the machine is unknown in every respect."""
    unknown = dict.fromkeys(machine.describe())
    about = {"machine": {}, "offered_counters": None, "good_counters": None} if about is None else about
    try:
        told = {
            "counters": {"offered": about["offered_counters"], "good": about["good_counters"]},
            "machine": unknown | about["machine"],
        }
    except (KeyError, TypeError) as error:
        raise RecordError(
            "what was told of the machine is not the output of `cmlib doctor --json`."
        ) from error
    with errors_as(RecordError, ""):
        as_text(
            told | {"command": command, "note": note}, "what was told of the machine, the command or the note"
        )
    return told | {"command": command, "exit_code": None, "imported": True, "note": note}


def _started(text):
    """When perf says it started, in the time of that machine (ISO); None if it does not say."""
    if found := re.search(r"^# started on (.+)$", text, re.M):
        with contextlib.suppress(ValueError):
            return datetime.strptime(found[1].strip(), "%a %b %d %H:%M:%S %Y").isoformat()
    return None
