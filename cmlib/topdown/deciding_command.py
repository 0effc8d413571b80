"""Write perf commands that show what limits a program.

:func:`command_for_intervals` writes a command that records time intervals. :func:`command_for_totals` writes a shorter
command that records totals. Both commands count either single events or a metric group. A metric group is a named set
of events from which perf computes how the slots of the pipeline were used.
"""

from cmlib import processors
from cmlib.shell import command_line, perf_stat, recorded_words


def command_for_intervals(verdict, metric_groups, recording):
    """Write a perf command that records intervals and shows what limits a program.

    Single events are preferred, unless the perf of the recording machine has a metric group for level 1.

    Parameters
    ----------
    verdict : cmlib.topdown.verdict.Bottleneck
        What limits the program, and the events that would decide it.
    metric_groups : dict of str to str
        Name of perf's metric group for level 1, by processor.
    recording : cmlib.topdown.slot_summary.RecordingInfo
        Description of the recording.

    Returns
    -------
    str
        For example, ``perf stat -I 100 -x, -M TopdownL1 -e instructions,cycles -o FILE -- COMMAND``. If there are
        several metric groups, a comment lists them. Empty if nothing is left to decide.
    """
    if verdict.deciding_events and not recording.metric_group:
        pmu = recording.core or processors.core_pmu(recording.costs.name)
        return perf_stat(_list_event_names(verdict, recording.modifier, pmu), recording.interval_ms)
    if verdict.certainty not in ("open", "likely") or not metric_groups:
        return ""
    group = next(iter(metric_groups.values())) if len(metric_groups) == 1 else "GROUP"
    interval = f"{recording.interval_ms:.0f}"
    options = ["-I", interval, "-x,", "-M", group, "-e", "instructions,cycles", "-o", "FILE"]
    line = command_line("perf", "stat", *options, "--", "COMMAND")
    if len(metric_groups) > 1:
        choices = ", ".join(f"{name} on {processor}" for processor, name in metric_groups.items())
        line += f"  # GROUP: {choices}"
    return line


def command_for_totals(verdict, metric_groups, recording):
    """Write a short perf command that records totals and shows what limits a program.

    Parameters
    ----------
    verdict : cmlib.topdown.verdict.Bottleneck
        What limits the program, and the events that would decide it.
    metric_groups : dict of str to str
        Name of perf's metric group for level 1, by processor.
    recording : cmlib.topdown.slot_summary.RecordingInfo
        Description of the recording.

    Returns
    -------
    str
        For example, ``perf stat -M TopdownL1 -- ./app``. Metric groups of other processors follow in brackets. Empty if
        neither events nor metric groups are known.
    """
    words = recorded_words(recording.command)
    if metric_groups:
        (_, group), *other_groups = metric_groups.items()
        line = command_line("perf", "stat", "-M", group, "--", *words)
        remark = "; ".join(f"{processor}: -M {name}" for processor, name in other_groups)
        return f"{line}   ({remark})" if line and remark else line
    if not verdict.deciding_events:
        return ""
    names = _list_event_names(verdict, recording.modifier, recording.core)
    return command_line("perf", "stat", "-e", ",".join(names), "--", *words)


def _list_event_names(verdict, modifier, pmu):
    """List instructions, cycles and the deciding events, as ``perf stat -e`` takes them."""
    events = ("instructions", "cycles", *verdict.deciding_events)
    return [_spell_event(event, modifier, pmu) for event in events]


def _spell_event(event, modifier, pmu):
    """Write an event as ``perf stat -e`` takes it.

    `event` is a name, or a dict of ``name`` and ``code``. `pmu` may be "" for the default PMU.
    """
    if isinstance(event, str) and pmu:
        return f"{pmu}/{event}/{modifier}"
    if isinstance(event, str):
        return f"{event}:{modifier}" if modifier else event
    return f"{pmu or 'cpu'}/{event['code']},name={event['name']}/{modifier}"
