"""Write the perf command that would decide what limits a program.

:func:`command_to_decide` names events, or a metric group from which perf computes level 1 of the top-down account.
:func:`command_to_separate` is the short form for whole runs.
"""

from cmlib.shell import command_line, perf_stat, recorded_words


def command_to_decide(verdict, metrics, are_listed, modifier, interval_ms, core):
    """Write the perf command whose recording would show what limits the program; "" if nothing is open.

    The command names the events that `verdict` lacks. It names a metric group, from which perf computes level 1, if
    `are_listed` (the recording machine's perf has the group) or if no deciding events are known.
    """
    if verdict.deciding_events and not are_listed:
        names = [
            _spell_event(event, modifier, core)
            for event in ("instructions", "cycles", *verdict.deciding_events)
        ]
        return perf_stat(names, interval_ms)
    if verdict.certainty not in ("open", "likely") or not metrics:
        return ""
    group = next(iter(metrics.values())) if len(metrics) == 1 else "GROUP"
    tail = ["-e", "instructions,cycles", "-o", "FILE", "--", "COMMAND"]
    words = ["-I", f"{interval_ms:.0f}", "-x,", "-M", group, *tail]
    line = command_line("perf", "stat", *words)
    if len(metrics) > 1:
        groups = ", ".join(f"{name} on {processor}" for processor, name in metrics.items())
        line += f"  # GROUP: {groups}"
    return line


def command_to_separate(verdict, metrics, recording):
    """Return a short command that tells the possible losses apart by totals of a whole run; "" if there is none.

    Parameters
    ----------
    verdict : cmlib.topdown.verdict.Bottleneck
    metrics : dict of str to str
        Perf's metric group that computes level 1, by the name of the processor that has it.
    recording : cmlib.topdown.slot_summary.Recording
        Its command line, modifier and kind of core are used.

    Returns
    -------
    str
        Such as ``perf stat -M TopdownL1 -- ./app``. If the processor is not known, a comment behind the command names
        the groups of the other processors.
    """
    words = recorded_words(recording.command)
    if metrics:
        (_, group), *other_groups = metrics.items()
        line = command_line("perf", "stat", "-M", group, "--", *words)
        remark = "; ".join(f"{processor}: -M {name}" for processor, name in other_groups)
        return f"{line}   ({remark})" if line and remark else line
    if not verdict.deciding_events:
        return ""
    pmu = recording.core
    names = [
        _spell_event(event, recording.modifier, pmu)
        for event in ("instructions", "cycles", *verdict.deciding_events)
    ]
    return command_line("perf", "stat", "-e", ",".join(names), "--", *words)


def _spell_event(event, modifier, core):
    """Write an event (name, or dict of ``code`` and ``name``) as ``perf stat -e`` takes it."""
    if isinstance(event, str) and core:
        return f"{core}/{event}/{modifier}"
    if isinstance(event, str):
        return f"{event}:{modifier}" if modifier else event
    return f"{core or 'cpu'}/{event['code']},name={event['name']}/{modifier}"
