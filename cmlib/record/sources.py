"""A file that was recorded elsewhere: the runs in it, and what it tells of them."""

import contextlib
import itertools
import re
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from cmlib import events, perf
from cmlib.archive import errors_as, read_file, unpack
from cmlib.record.archive import RecordError
from cmlib.record.foreign import recognise

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Source:
    """A run in a file, and what the file tells of it.

    Attributes
    ----------
    file : pathlib.Path
    raw : bytes
    compressed : bytes or None
        The same, if it came so.
    facts : dict
        Metadata.
    remark : str
        On what was left out, added up or taken for granted.
    mark : str
        Name of the mark that the run lies between; empty without marks.
    """

    file: Path
    raw: bytes
    compressed: bytes | None
    facts: dict
    remark: str
    mark: str = ""


def read_sources(file, machine, *, mode=None, interval_ms=None, columns=None, place="", marks=()):
    """Read a file's runs.

    Parameters
    ----------
    file : path
        Plain or gzipped.
    machine : dict
        Where it was recorded, as :func:`cmlib.machine.describe` tells; of None where that is not known.
    mode : {"ocoe", "mlpx"}, optional
    interval_ms : int, optional
        Instead of what the file tells.
    columns : mapping of str to {"count", "level"}, optional
        As of :func:`cmlib.perf.parse_stat`.
    place : str, default ""
        The CPU, core, socket or node whose counts are taken; of all, added up, if empty.
    marks : sequence of cmlib.record.marks.Mark, optional
        Between which the runs lie; what lies between none is left out.

    Returns
    -------
    list of Source

    Raises
    ------
    RecordError
        If it can't be read or holds no counts by interval; names file, line and content.
    """
    file = Path(file)
    known = {"mode": mode, "interval_ms": interval_ms, "columns": columns or None}
    with errors_as(RecordError, file):
        content = read_file(file)
        raw = unpack(content, file) if content.startswith(_GZIP) else content
    if told := recognise(raw):
        raise RecordError(f"{file} {told}")
    try:
        whole = raw.decode("latin-1")  # a character a byte
        parts = perf.split_runs(perf.at_place(whole, place) if place else whole)
    except ValueError as error:
        raise RecordError(f"{file} can't be read: {error}") from error
    if marks:
        return _marked(file, parts, marks, machine, known)
    if parts == [whole]:
        return [_source(file, raw, content if content is not raw else None, machine, known)]
    kept = list(dict.fromkeys(parts))
    n_copies = len(parts) - len(kept)
    copies = f"{n_copies} of the file's {len(parts)} runs are copies of others." if n_copies else ""
    sources = [_source(file, part.encode("latin-1"), None, machine, known) for part in kept]
    return [replace(source, remark=f"{source.remark} {copies}".strip()) for source in sources]


def _marked(file, parts, marks, machine, known):
    """A run a mark, of the whole intervals within it."""
    found = []
    for part, mark in itertools.product(parts, marks):
        try:
            begin_ns = perf.begin_ns(part)
            piece = perf.cut(part, *mark.seconds(begin_ns))
        except ValueError as error:
            raise RecordError(f"{file} can't be cut at marks: {error}") from error
        if mark.is_since_1970() and begin_ns is None:
            raise RecordError(
                f"{file} does not tell when it began, so a mark in time since 1970 ({mark.name}) has no place in it: "
                "give marks in seconds since the recording began."
            )
        if piece is not None:
            started = {"start_s": piece.start_s}
            source = _source(file, piece.text.encode("latin-1"), None, machine, known | started)
            found.append(replace(source, mark=mark.name))
    if not found:
        raise RecordError(f"{file}: no whole interval lies within any of the {len(marks)} marks.")
    missed = [mark.name for mark in marks if mark.name not in {source.mark for source in found}]
    said = f" No whole interval lies within {', '.join(dict.fromkeys(missed))}." if missed else ""
    return [replace(source, remark=f"{source.remark}{said}".strip()) for source in found]


def _source(file, raw, compressed, machine, known):
    text = raw.decode(errors="replace")
    try:
        frame = perf.parse_stat(text, interval_ms=known["interval_ms"], columns=known["columns"])
        counts, running = perf.series(frame)
        counts.index = running.index = counts.index - known.get("start_s", 0.0)
    except ValueError as error:
        raise RecordError(f"{file} is not interval output of one run of perf stat: {error}") from error
    if frame.empty:
        raise RecordError(
            f"{file} holds no counts by interval: record it with `perf stat -I 100 -x, -o FILE -- COMMAND`."
        )
    _check_event_names(file, counts)
    about = perf.about(text, columns=known["columns"])
    names = events.translate(counts, machine)
    facts = _facts(frame, counts.rename(columns=names), running.rename(columns=names), names, text)
    facts |= {key: value for key, value in known.items() if value is not None}
    facts |= {"running_shares": about.running_shares, "names": names}
    renamed = [f"{there} is taken for {here}." for there, here in names.items() if there.lower() != here]
    return Source(file, raw, compressed, facts, " ".join([*about.remarks, *renamed]))


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
    again = events.second_readings(counts)
    times = counts.index.to_numpy()
    return {
        "mode": "ocoe" if running.where(counts.notna()).min().min() >= 1 else "mlpx",
        "pinned": pinned,
        "groups": _groups(running[others]),
        "modifier": next((modifier.replace("D", "") for modifier in modifiers.values()), None),
        "interval_ms": round(1000 * np.diff(times, prepend=0.0)[: max(len(times) - 1, 1)].min()),
        "encodings": {name: written.get(again.get(name, name), name) for name in others},
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


def _started(text):
    """When perf says it started, in the time of that machine (ISO); None if it does not say."""
    if found := re.search(r"^# started on (.+)$", text, re.M):
        with contextlib.suppress(ValueError):
            return datetime.strptime(found[1].strip(), "%a %b %d %H:%M:%S %Y").isoformat()
    return None
