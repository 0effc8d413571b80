"""Read the runs in a file that was recorded elsewhere, by perf or another tool, and check that they are plausible.

:func:`read_sources` takes paths and gives a list of :class:`ForeignRecording`: counts, running shares and metadata.
RecordError, which names the file, for one that can't be read, has neither counts nor shares of slots, or has counts
that can't be true.
"""

import codecs
import contextlib
import functools
import itertools
import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.intervals import lengths_by_ends
from cmlib.io import events, perf
from cmlib.io.archive import decompress, errors_as, read_file, reading_errors_as
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import RUNS, UNKNOWN
from cmlib.io.named_processors import NamedProcessors, named_processors
from cmlib.io.plausible import check_lines, check_plausible, check_size
from cmlib.io.refused import numbered, recognise, unread, without_counts
from cmlib.processors import machine_with
from cmlib.spelling import PINNED, spelling
from cmlib.terminal import abridged

WITHOUT_TURN = "Zeros that run from one event to the list's end had no turn, and are taken for not counted:"
_OF_MEANS = (
    "Counts are means of ",
    "Counts are those of one interval",
    "Counts and times are those of one operation",
)
_OF_TIME_OR_NONE = ("", "msec", "ns", "%")
_OF_ONE_KIND = "The file counts several kinds of core, each a program of its own; this one is {}."


@dataclass(frozen=True)
class ForeignRecording:
    """One run in a file.

    Attributes
    ----------
    file : pathlib.Path
    raw : bytes
        The run's part of the file.
    facts : dict
        Metadata that the file tells: mode ("ocoe", "mlpx" or "unknown"), pinned (list of events), groups (list of
        lists of events), modifier, interval_ms, encodings (dict), date, duration_s, running_shares (bool), names
        (dict of the file's names of events to those used here), and further ones where they apply.
    counts, running : DataFrame, shape (n_intervals, n_events)
        Counts (NaN where not counted) and running shares (0 to 1, NaN where not known). The index time_s [s] is the
        interval's end; columns are events under their names in the event tables.
    remark : str
        Sentences on what was left out, added up or assumed.
    mark : str
        What the program's name ends with: the mark within which the run lies, the command, the kind of core.
    """

    file: Path
    raw: bytes
    facts: dict
    counts: pd.DataFrame
    running: pd.DataFrame
    remark: str
    mark: str = ""

    def noted(self, remark="", mark=""):
        """The same run with `remark` added to its remark, and `mark` to its mark (both str): a new ForeignRecording."""
        marks, remarks = filter(None, [self.mark, mark]), filter(None, [self.remark, remark])
        return replace(self, mark="-".join(marks), remark=" ".join(remarks))


def read_sources(files, machine, *, marks=(), place="", **options):
    """Read all runs in some files: a list of ForeignRecordings.

    A file by intervals is one run or several; totals of whole runs with the same events are joined into one
    recording, an interval a run. Of a file without counts, the percentages of slots that a tool printed are taken.

    Parameters
    ----------
    files : iterable of path
    machine : dict
        Description of the machine, as in metadata; if it names no processor, the file is searched for one.
    marks : sequence of cmlib.io.perf.cutting.Mark
        If not empty, only the pieces within them are read, each as a run.
    place : str
        If not empty, the CPU, core, socket, node or kind of core whose counts are taken, such as ``CPU3``.
    **options
        ``interval_ms`` (int, or None: seen from the file) and ``columns`` (dict or None, see
        :func:`cmlib.io.perf.parse_stat`) are needed; others, such as ``mode``, become entries of `facts`.

    Returns
    -------
    list of ForeignRecording

    Raises
    ------
    RecordError
        If a file can't be read, holds none of this, or counts that can't be true; the message names the file.
    """
    sources, totals, amid = [], [], {}
    for file in map(Path, files):
        with errors_as(RecordError, file):
            raw = _as_utf8(decompress(read_file(file), file))
        check_lines(file, raw)
        with _errors_of(file):
            if not marks:
                check_size(file, raw)
            text = raw.decode("utf-8", "surrogateescape")  # keeps bytes that are not UTF-8
            if (refusal := recognise(raw)) and not perf.shares_alone(text):
                raise RecordError(f"{file} {refusal}")
            named = NamedProcessors() if events.processor_of(machine) else named_processors(text)
            of_file = machine | machine_with(named.only)
            by_interval, whole = _read_amid(file, text, (marks, place, of_file, options))
            whole = [(file, of[1] | machine_with(named.below(of[-1].titles)), *of[2:]) for of in whole]
        read = [source.raw.decode(errors="replace") for source in by_interval] + [of[-1].text for of in whole]
        left_out = "" if marks or place else unread(text, "\n".join(read))
        amid[file] = f"{named.remark} {left_out}".strip()
        sources += by_interval
        totals += whole
    sources += _totals(totals, options)
    for source in sources:
        check_size(source.file, source.raw)
    return [source.noted(amid[source.file]) for source in sources]


def _as_utf8(raw):
    """The file's bytes (`raw`) as UTF-8: converted from UTF-16, without a byte order mark."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raw = raw.decode("utf-16", "replace").encode()
    return raw.removeprefix(codecs.BOM_UTF8)


def _read_amid(file, text, about):
    """Runs by interval, and totals, of a text that is perf's output or contains some, and of shares without counts.

    Two lists, as of :func:`_read`; `about` are the further arguments of that.
    """
    failures, is_page, sources, totals = {}, perf.holds_tables(text), [], []
    for is_amid in (is_page, not is_page):
        try:
            with _errors_of(file):
                inside = perf.extract(text) if is_amid else text
                read = [_read(file, part, *about, note=perf.NOTE * is_amid) for part in perf.apart(inside)]
                sources, totals = (sum(of, []) for of in zip(*read, strict=True)) if read else ([], [])
                sources = [source.noted(mark="intervals" * (len(read) > 1)) for source in sources]
        except RecordError as error:
            failures[is_amid] = error
        if sources or totals:
            break
    totals = totals if sources else _with_shares(file, text, about, totals)
    if sources or totals:
        return sources, totals
    if not isinstance(failures[False].__cause__, perf.NoCountsError):
        raise failures[False]
    if True in failures:
        raise RecordError(numbered(str(failures[True]), perf.extract(text), text))
    raise RecordError(f"{file} {without_counts(text)}")


def _read(file, text, marks, place, machine, options, note=""):
    """A list of runs by interval in a text, and a list of tuples for :func:`_totals`; one of them is empty."""
    sources, totals = [], []
    text = perf.at_place(text, place) if place else text
    for kind, lines in perf.by_kind_of_core(text).items():
        of_kind = _of_kind(kind, note, *perf.without_kind(text) * bool(kind))
        rows_are_runs = options["interval_ms"] is None
        whole = [] if marks else perf.totals(lines, options["columns"], rows_are_runs=rows_are_runs)
        parts = [] if whole else perf.split_runs(lines)
        runs = (functools.partial(_marked, marks) if marks else _parts)(file, parts, machine, options)
        sources += [source.noted(**of_kind) for source in runs]
        if note and len(parts) > 1:  # series that a page shows one below the other are of several programs
            last = zip(sources[-len(runs) :], _names(runs), strict=True)
            sources[-len(runs) :] = [replace(run, mark=f"{kind}-{name}".lstrip("-")) for run, name in last]
        totals += [(file, machine, of_kind, lines if len(whole) == 1 else "", total) for total in whole]
    return sources, _without_idle_kinds(totals)


def _names(runs):
    """What to call runs that a page shows one below the other: by title and command, numbered where these are equal."""
    whose = [perf.whose(run.raw.decode(errors="replace")) for run in runs]
    whose = [of if any(of) else ("", (f"table {k}",)) for k, of in enumerate(whose, 1)]
    names = pd.Series([*map(perf.program_names(dict.fromkeys(whose)).get, whose)])
    numbered = names + "-" + (names.groupby(names).cumcount() + 1).astype(str)
    return names.where(~names.duplicated(keep=False), numbered).tolist()


def _without_idle_kinds(totals):
    """List of the tuples `totals` without those of a kind of core that counted nothing in a table in which another did:
    they have nothing but what is of all kinds, such as the time.
    """
    tables = [(total.command, total.titles, total.seconds) for *_, total in totals]
    are_counted = [perf.is_counted(total.text, of_kind["mark"]) for _, _, of_kind, _, total in totals]
    counted = {*itertools.compress(tables, are_counted)}
    kept = map(max, are_counted, (table not in counted for table in tables))
    return [*itertools.compress(totals, kept)]


def _with_shares(file, text, about, totals):
    """List of the tuples `totals` of a text with the shares of slots that stand beside the counts, or alone."""
    _, place, machine, _ = about
    has_counts = bool(totals)
    plain, commands = "\n".join(perf.plain_lines(text)), {total.command for *_, total in totals}
    for kind, lines in perf.by_kind_of_core(plain).items():
        shares = perf.shares_alone(lines, has_counts=has_counts)
        shares = [run for run in shares if place in ("", kind, *run.titles)]
        are_others = all(run.titles and commands.isdisjoint(run.titles) for run in shares)
        are_others &= not any("cycles" in perf.events_of(run) for run in shares)
        counts = [of for of in totals if of[2]["mark"] == kind]
        are_new = shares and (are_others or len(totals) == len(shares) == 1)
        if shares and (not has_counts or perf.holds_tables(plain) or (are_new and _lack_shares(totals))):
            of_kind = _of_kind(kind, *perf.shares_left_out(lines) * (not has_counts))
            of_cores = machine | machine_with(kind and events.processor_of(machine, kind))
            whose = [of[:3] for of in counts] + [(file, of_cores, of_kind)] * len(shares)
            runs = perf.with_shares([run for *_, run in counts], shares)
            totals = [of for of in totals if of[2]["mark"] != kind]
            totals += [(*of, "", run) for of, run in zip(whose, runs, strict=False)]
    return totals


def _lack_shares(totals):
    """Whether no text of the tuples `totals` tells shares of slots itself."""
    return all(perf.printed(of[-1].text).keys() <= {"CPUs", "instructions a cycle"} for of in totals)


def _of_kind(kind, *remarks):
    """What is added to the remark and the mark of runs of a kind of core (dict); `kind` is "" for all."""
    remarks = [*remarks, _OF_ONE_KIND.format(kind) * bool(kind)]
    return {"remark": " ".join(filter(None, remarks)), "mark": kind}


def _errors_of(file):
    """During a ``with`` block, turn whatever is raised into a RecordError that names the file."""
    return reading_errors_as(RecordError, f"{file} is not output of perf stat that can be read")


def _totals(totals, options):
    """Yield a ForeignRecording for each program and list of events, with an interval for each of its whole runs in
    any file.

    `totals` are tuples (file, machine, kind of core, text, totals of a run); a file may hold several programs.
    """
    commands = dict.fromkeys((total.command, total.titles) for *_, total in totals)
    several = any(not text for *_, text, _ in totals) and len(commands) > 1
    names, groups = perf.program_names(commands) if several else {}, {}
    for file, machine, of_kind, text, total in totals:
        name = names.get((total.command, total.titles), "")
        key = name, of_kind["mark"], total.heading, perf.events_of(total)
        groups.setdefault(key, {}).setdefault(total.text, (file, machine, of_kind, text, total))
    if len(groups) > perf.MOST_PROGRAMS:
        raise RecordError(f"{file} holds more than {perf.MOST_PROGRAMS:,} programs. Split it.")
    lists = Counter(key[:2] for key in groups)
    for (mark, *of_core), members in groups.items():
        file, machine, of_kind, text, _ = next(iter(members.values()))
        with _errors_of(file):
            runs = perf.joined([total for *_, total in members.values()])
            text = text if len(members) == 1 and text else runs.heading + runs.text
            n, is_shares = len(runs.seconds), set(runs.table["unit"].to_pylist()) == {"%"}
            kind = ("Levels" if runs.printed else "Shares") + " are" if is_shares else "Counts are totals"
            n_lists = lists[mark, of_core[0]]
            of_runs = f"{kind} of {n} run{'s' * (n > 1)}"
            of_runs += f" of each of {n_lists} lists of events." if n_lists > 1 else "."
            are_means = any(remark.startswith(_OF_MEANS) for remark in runs.remarks)
            titles = [f"It stands below the title {title}." for title in runs.titles if not title.isascii()]
            notes = [*[of_runs][are_means:], *runs.remarks, *titles]
            source = _source(file, text, machine, options, perf.as_intervals(runs), notes, runs.printed)
        source.facts.update(axis=RUNS, interval_ms=1000)
        yield source.noted(mark=mark).noted(**of_kind)


def _parts(file, parts, machine, options):
    """List of the runs of the parts (texts) of a file, without copies."""
    distinct = dict.fromkeys(parts)
    n_copies = len(parts) - len(distinct)
    copies = f"{n_copies} of the file's {len(parts)} runs are copies of others." if n_copies else ""
    return [_source(file, part, machine, options).noted(copies) for part in distinct]


def _marked(marks, file, parts, machine, options):
    """List of the runs of the whole intervals within each mark; RecordError if there are none."""
    sources = []
    for part, mark in itertools.product(parts, marks):
        begin_ns = perf.begin_ns(part)
        if mark.is_since_1970() and begin_ns is None:
            raise RecordError(
                f"{file} does not tell when it began, so a mark in time since 1970 ({mark.name}) has no place in it: "
                "give marks in seconds since the recording began."
            )
        if piece := perf.cut(part, *mark.seconds(begin_ns)):
            text, start_s = piece
            sources.append(_source(file, text, machine, options | {"start_s": start_s}).noted(mark=mark.name))
    if not sources:
        raise RecordError(f"{file}: no whole interval lies within any of the {len(marks)} marks.")
    there = {source.mark for source in sources}
    missed = ", ".join(dict.fromkeys(mark.name for mark in marks if mark.name not in there))
    return [source.noted(f"No whole interval lies within {missed}." * bool(missed)) for source in sources]


def _source(file, text, machine, options, frame=None, remarks=None, levels=()):
    """A ForeignRecording of a text, or of its counts (`frame`, with `remarks` and the printed `levels`, a dict) where
    that was read already.

    RecordError if there are no counts, or some that can't be true.
    """
    raw = text.encode("utf-8", "surrogateescape")
    text, whole_runs = raw.decode(errors="replace"), frame is not None
    if frame is None:
        frame = perf.parse_stat(text, interval_ms=options["interval_ms"], columns=options["columns"])
        remarks = perf.remarks(text, columns=options["columns"])
    if frame.empty:
        raise RecordError(
            f"{file} holds no counts: record it with `perf stat -I 100 -x, -o FILE -- COMMAND`, or without -I."
        )
    frame, n_copies = perf.without_copies(frame)
    check_plausible(file, frame, whole_runs=whole_runs, chosen=options["columns"] or ())
    series, running = perf.series(frame)
    counts, running = perf.without_uncounted_zeros(series, running)
    hidden = counts.columns[(counts.isna() & series.notna()).any()].tolist()
    counts, running = perf.add_modes(counts, running)
    counts.index = running.index = counts.index - options.get("start_s", 0.0)
    if _is_arm_by_counts(frame) and not events.processor_of(machine):
        machine = machine | machine_with("arm")
    names = events.translate(counts, machine)
    counts, running = counts.rename(columns=names), running.rename(columns=names)
    facts = _facts(frame, counts, running, names, text)
    facts |= {"running_shares": not frame["running"].isna().any(), "names": names}
    totals = counts.reindex(columns=["instructions", "cycles"]).dropna().sum(min_count=1)
    ipc = totals["instructions"] / (totals["cycles"] or np.nan)
    told = options | {"printed": perf.printed(text, ipc) | dict(levels), "cpus": perf.cpus_utilized(text)}
    told |= {"zeros_uncounted": bool(hidden), "machine": events.processor_of(machine) and machine}
    facts |= {key: value for key, value in told.items() if value}
    copies = [f"{n_copies:,} rows came twice, with equal counts: the copies are left out."] * bool(n_copies)
    has_cycles = "cycles" in counts and counts["cycles"].any()
    remarks = [*remarks, *perf.shares_left_out(text, has_cycles=has_cycles), *copies]
    remarks += [f"{WITHOUT_TURN} {', '.join(hidden)}."] if hidden else []
    measured = dict(zip(frame["event"], frame["unit"], strict=True)).items()
    remarks += [f"{event} is in {unit}." for event, unit in measured if unit not in _OF_TIME_OR_NONE]
    first = {there: here for there, here in names.items() if "#" not in there}
    renamed = [f"{there} is taken for {here}." for there, here in first.items() if there.lower() != here]
    remark = " ".join(map(abridged, [*remarks, *renamed]))
    # Without control characters, which the name of a cgroup may hold.
    remark = "".join(c if c.isprintable() else "\ufffd" for c in remark)
    return ForeignRecording(file, raw, facts, counts, running, remark)


def _is_arm_by_counts(frame):
    """Whether events are counted as only Arm cores do: both kinds of stalls and mispredicted branches, but not
    branches.

    `frame` (DataFrame) has the columns event and supported.
    """
    supported = frame.groupby(frame["event"].map(events.base_name))["supported"].any()
    counted = {"stalled-cycles-frontend", "stalled-cycles-backend", "branch-misses"}
    return counted <= set(supported.index[supported]) and not supported.get("branches", True)


def _facts(frame, counts, running, names, text):
    """Metadata (dict) that a run's counts and text tell."""
    bases = {event: events.base_name(event) for event in frame["event"].unique()}
    written = {names.get(base, base): event for event, base in bases.items()}
    behind = {name: (bases[event], *event.rpartition(":")) for name, event in written.items()}
    modifiers = {name: modifier for name, (base, bare, _, modifier) in behind.items() if bare == base}
    pinned = [name for name, modifier in modifiers.items() if "D" in modifier and name in counts]
    pinned = pinned or [name for name in PINNED if name in counts]
    others = [name for name in counts if name not in pinned]
    has_all_cycles = any(base == event and spelling(event) == "cycles" for event, base in bases.items())
    modifier = next((modifier.replace("D", "") for modifier in modifiers.values()), None)
    again = events.second_readings(counts)
    times = counts.index.to_numpy()
    return {
        "mode": _mode(counts, running),
        "pinned": pinned,
        "groups": _groups(running[others]),
        "modifier": None if has_all_cycles else modifier,
        "interval_ms": max(1, round(1000 * lengths_by_ends(times)[: max(len(times) - 1, 1)].min())),
        "encodings": {name: written.get(again.get(name, name), name) for name in others},
        "date": _started(text),
        "duration_s": float(times[-1]),
    }


def _mode(counts, running):
    """The run's mode by its running shares: "ocoe", "mlpx", or "unknown" without shares."""
    if (running.isna() & counts.notna()).any(axis=None):
        return UNKNOWN
    return "ocoe" if running.where(counts.notna()).min(axis=None) >= 1 else "mlpx"


def _groups(running):
    """Groups (lists of names) of neighbouring events with the same running share in every interval."""
    shares = {event: running[event].to_numpy().tobytes() for event in running}
    return [list(group) for _, group in itertools.groupby(shares, key=shares.get)]


def _started(text):
    """The date and time at which perf says it started, by that machine's clock (ISO, str); None if the text does not
    say.
    """
    if match := re.search(r"^# started on (.+)$", text, re.M):
        with contextlib.suppress(ValueError):
            return datetime.strptime(match[1].strip(), "%a %b %d %H:%M:%S %Y").isoformat()
    return None
