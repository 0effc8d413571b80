"""Summarize a program's runs with their metadata, for the command line and the pages.

:func:`summarize_runs` takes the counts and metadata of the runs, and returns a dict that says what limits the program.
Its values are None where the recording contains no data for them. There must be at least one run; this is not checked.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cmlib import processors, topdown
from cmlib.io import events
from cmlib.io.archive.runs import are_totals
from cmlib.io.imports import import_notes, printed_shares
from cmlib.topdown.costs import read_costs

if TYPE_CHECKING:
    from cmlib.io.recording import Recording


def summarize_runs(name, metas, runs, *, machines=(), processor=None):
    """Summarize what limits a program: processor, notes and more are taken from the metadata of its runs.

    Parameters
    ----------
    name : str
        Name of the program.
    metas : sequence of dict
        Metadata of each run.
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares (0 to 1) of each run, one row per interval [index: its end, s], one column per event.
    machines : sequence of dict, default ()
        Metadata of the machines. Default: the machine in the first run's metadata.
    processor : str, optional
        Name of the processor, such as ``amd_zen5``. Default: found by the machine, or else by the names of the events.

    Returns
    -------
    dict
        As :func:`cmlib.topdown.summarize` returns it: name, processor, ``first`` (the headline and the advice),
        ``levels`` (dict of rates and clock), ``limited_by`` (category of lost slots, or None), ``account`` (dict of
        bounds by category [%], or None), ``misses``, ``phases``, ``remarks`` and more; docs/summary.md has all keys.
    """
    runs, doubts = _drop_doubtful(metas, runs)
    first = metas[0]
    machines = [machine for machine in machines if machine] or [first.get("machine", {})]
    metric_groups = (machine.get("metric_group") for machine in machines)
    metric_group = next(filter(None, metric_groups), "")
    if processor:
        machines = [processors.machine_with(processor)]
    counted_names = list(dict.fromkeys(event for counts, _ in runs for event in counts))
    event_names = [*counted_names, *first.get("names", {})]
    core = events.core_pmu(event_names)
    processor = events.find_processor(machines, event_names, core)
    processor = _choose_fitting(processor, machines, event_names, runs)
    answer = topdown.summarize(
        name,
        runs,
        processor=processor,
        modifier=first.get("modifier") or "",
        whole_runs=are_totals(first),
        core=core,
        notes=[*doubts, *import_notes(metas)],
        printed=printed_shares(metas),
        metric_group=metric_group,
        command=first.get("command") or "",
        names_in_file=first.get("encodings"),
        user_s=_median_seconds(metas, "user_s"),
        system_s=_median_seconds(metas, "system_s"),
    )
    if not any(map(events.find_microarchitecture, machines)):
        _note_alternatives(answer, processor, events.recognise(event_names).tables)
    return answer


def _note_alternatives(answer, processor, recognized):
    """Add to an answer (dict) that the names of the events fit several processors, `recognized`, equally well."""
    if processor not in recognized or len(recognized) < 2:
        return
    answer["processors_alike"] = sorted({*recognized} - {processor})
    if len({read_costs(name).width for name in recognized}) > 1:
        answer["slots_a_cycle"] = None


def summarize_recordings(name: str, recordings: Sequence[Recording], *, processor: str | None = None) -> dict:
    """Summarize what limits a program by its recordings from the store.

    Parameters
    ----------
    name : str
        Name of the program.
    recordings : sequence of cmlib.io.recording.Recording
        Its runs, as :func:`cmlib.io.store.load` returns them; at least one.
    processor : str, optional
        Name of the processor, for recordings that do not name it.

    Returns
    -------
    dict
        As :func:`summarize_runs` returns it.
    """
    runs = []
    for recording in recordings:
        ends = recording.counts.index
        if recording.holds_totals:  # the index is the number of the run
            ends = recording.interval_s.cumsum()
        runs.append((recording.counts.set_axis(ends), recording.running.set_axis(ends)))
    metas = [recording.meta for recording in recordings]
    return summarize_runs(name, metas, runs, machines=[recordings[0].machine], processor=processor)


def summarize_programs(
    recordings: dict[str, list[Recording]], *, processor: str | None = None
) -> dict[str, dict]:
    """Summarize programs by their recordings from the store.

    Parameters
    ----------
    recordings : dict of str to list of cmlib.io.recording.Recording
        The runs of each program, either all measured or all simulated.
    processor : str, optional
        Name of the processor, for recordings that do not name it.

    Returns
    -------
    dict of str to dict
        Summaries by program: results of :func:`summarize_recordings`, or for simulated programs of
        :func:`cmlib.experiments.simulated_summary.summarize_simulated`.
    """
    from cmlib.experiments.simulated_summary import summarize_simulated  # not needed for measured programs

    summaries = {}
    for name, runs in recordings.items():
        if runs[0].simulated:
            summaries[name] = summarize_simulated(name, runs)
        else:
            summaries[name] = summarize_recordings(name, runs, processor=processor)
    return summaries


def _median_seconds(metas, key):
    """Return the median over the runs of a time in their metadata [s], a number or a list; None if not known."""
    seconds = []
    for meta in metas:
        values = meta.get(key)
        for value in values if isinstance(values, list) else [values]:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and 0 <= value < math.inf:
                seconds.append(value)
    return statistics.median(seconds) if seconds else None


def _drop_doubtful(metas, runs):
    """Drop the counts that their import called doubtful; return the runs, and sentences on these counts."""
    trusted_runs = []
    reasons = []
    for meta, (counts, running) in zip(metas, runs, strict=True):
        doubtful = meta.get("doubtful", {})
        reasons += doubtful.values()
        trusted = [event for event in counts if event not in doubtful]
        trusted_runs.append((counts[trusted], running[trusted]))
    if not reasons:
        return list(runs), []
    return trusted_runs, [
        f"No rate or IPC is computed from these counts: {'; '.join(dict.fromkeys(reasons))}."
    ]


def _choose_fitting(processor, machines, names, runs):
    """Replace a processor by another one of its vendor if only the table of the other fits the counts.

    It is not replaced if the machines are known: then it was not found by the names of the events alone.
    """
    runs = [run for run in runs if "cycles" in run[0]]
    if any(map(events.find_microarchitecture, machines)) or processor not in topdown.tables() or not runs:
        return processor
    vendor = processor.partition("_")[0]
    tables = topdown.fitting_tables(names, None, topdown.totals(runs)["rate"])
    fitting = [table.name for table in tables if table.name.startswith(f"{vendor}_")]
    if not fitting or processor in fitting:
        return processor
    recognized = [name for name in fitting if name in events.recognise(names).tables]
    return recognized[0] if recognized else fitting[0]
