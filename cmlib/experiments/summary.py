"""Summarize what limits the speed of programs.

:func:`summarize_programs` summarizes recorded programs for notebooks and pages. :func:`summarize_runs` summarizes
counts with their metadata for the command line.

A summary is a dict with the headline, the advice, bounds of lost pipeline slots and more. The file docs/summary.md
describes all keys. A value is None if the recording contains no data for it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cmlib import processors, topdown
from cmlib.io import events
from cmlib.io.archive.runs import are_totals
from cmlib.io.imports import import_notes, printed_shares
from cmlib.topdown.costs import read_costs

if TYPE_CHECKING:
    import pandas as pd

    from cmlib.io.recording import Recording


def summarize_runs(
    name: str,
    metas: Sequence[dict],
    runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]],
    *,
    machines: Sequence[dict] = (),
    processor: str | None = None,
) -> dict[str, Any]:
    """Summarize what limits the speed of a program.

    Parameters
    ----------
    name : str
        Name of the program.
    metas : sequence of dict
        Metadata of each run. There must be at least one run.
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares (the fraction of the time in which an event was counted, 0-1) of each run. One row
        per interval (index: its end [s]), one column per event.
    machines : sequence of dict, optional
        Metadata of the machines. Default: the machine of the first run.
    processor : str, optional
        Name of the processor. For example, ``amd_zen5``. Default: the processor is found by the machine, or by the
        names of the events.

    Returns
    -------
    dict
        Result of :func:`cmlib.topdown.summarize`. The file docs/summary.md describes its keys.
    """
    runs, doubts = _drop_doubtful(metas, runs)
    first = metas[0]
    known_machines = [machine for machine in machines if machine] or [first.get("machine", {})]
    metric_groups = (machine.get("metric_group") for machine in known_machines)
    metric_group = next(filter(None, metric_groups), "")
    if processor:
        known_machines = [processors.machine_with(processor)]
    counted_names = list(dict.fromkeys(event for counts, _ in runs for event in counts))
    event_names = [*counted_names, *first.get("names", {})]
    core = events.core_pmu(event_names)
    processor = events.find_processor(known_machines, event_names, core)
    processor = _choose_fitting(processor, known_machines, event_names, runs)
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
    if not any(map(events.find_microarchitecture, known_machines)):
        _note_alternatives(answer, processor, events.recognise(event_names).tables)
    return answer


def _note_alternatives(answer, processor, recognized):
    """Add to a summary that several processors are possible.

    The event names fit all processors in `recognized` equally well.
    """
    if processor not in recognized or len(recognized) < 2:
        return
    answer["processors_alike"] = sorted({*recognized} - {processor})
    if len({read_costs(name).width for name in recognized}) > 1:
        answer["slots_a_cycle"] = None


def summarize_recordings(name: str, recordings: Sequence[Recording], *, processor: str | None = None) -> dict:
    """Summarize what limits the speed of a measured program.

    Parameters
    ----------
    name : str
        Name of the program.
    recordings : sequence of cmlib.io.recording.Recording
        Runs of the program, at least one, from :func:`cmlib.io.store.load`.
    processor : str, optional
        Name of the processor. Default: the processor of the recording.

    Returns
    -------
    dict
        Summary. The file docs/summary.md describes its keys.
    """
    runs = []
    for recording in recordings:
        ends = recording.counts.index
        if recording.holds_totals:  # then, the index is not a time but the number of the run
            ends = recording.interval_s.cumsum()
        runs.append((recording.counts.set_axis(ends), recording.running.set_axis(ends)))
    metas = [recording.meta for recording in recordings]
    return summarize_runs(name, metas, runs, machines=[recordings[0].machine], processor=processor)


def summarize_programs(
    recordings: dict[str, list[Recording]], *, processor: str | None = None
) -> dict[str, dict]:
    """Summarize what limits the speed of several programs.

    Parameters
    ----------
    recordings : dict of str to list of cmlib.io.recording.Recording
        Runs of each program. All runs of a program must be measured, or all simulated.
    processor : str, optional
        Name of the processor. Default: the processor of the recording.

    Returns
    -------
    dict of str to dict
        Summary of each program. The file docs/summary.md describes its keys.
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
    """Return the median over the runs of a time in their metadata [s], or None."""
    seconds = []
    for meta in metas:
        value_or_list = meta.get(key)
        values = value_or_list if isinstance(value_or_list, list) else [value_or_list]
        for value in values:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and 0 <= value < math.inf:
                seconds.append(value)
    return statistics.median(seconds) if seconds else None


def _drop_doubtful(metas, runs):
    """Drop counts that were marked as doubtful when their file was imported.

    Returns the runs, and sentences that name the dropped counts.
    """
    trusted_runs = []
    reasons = []
    for meta, (counts, running) in zip(metas, runs, strict=True):
        doubtful = meta.get("doubtful", {})
        reasons += doubtful.values()
        trusted = [event for event in counts if event not in doubtful]
        trusted_runs.append((counts[trusted], running[trusted]))
    if not reasons:
        return list(runs), []
    unique_reasons = "; ".join(dict.fromkeys(reasons))
    return trusted_runs, [f"No rate or IPC is computed from these counts: {unique_reasons}."]


def _choose_fitting(processor, machines, names, runs):
    """Replace a processor that was found by event names only.

    Another processor of the same vendor is returned if its table fits the counts and the table of `processor` does
    not.
    """
    runs_with_cycles = [run for run in runs if "cycles" in run[0]]
    is_known = any(map(events.find_microarchitecture, machines))
    if is_known or processor not in topdown.tables() or not runs_with_cycles:
        return processor
    vendor = processor.partition("_")[0]
    tables = topdown.fitting_tables(names, None, topdown.totals(runs_with_cycles)["rate"])
    fitting = [table.name for table in tables if table.name.startswith(f"{vendor}_")]
    if not fitting or processor in fitting:
        return processor
    recognized = [name for name in fitting if name in events.recognise(names).tables]
    return recognized[0] if recognized else fitting[0]
