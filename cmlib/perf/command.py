"""The `perf stat` command line that counts what a plan says."""


def stat_command(plan, encodings, output, command, *, pids=()):
    """Build the command that runs a program under `perf stat`.

    Parameters
    ----------
    plan : cmlib.schedule.Plan
    encodings : mapping of str to str
        How perf is told each event, as from :func:`cmlib.events.encode`. An
        event without an entry goes by its own name with the plan's modifier.
    output : str
        File that perf writes: interval output, separated by commas.
    command : list of str
        The program and its arguments.
    pids : sequence of int, optional
        Processes to count, with all that they start later, while the program
        runs, which then is not counted itself.

    Returns
    -------
    list of str
        Such as ``perf stat -I 100 -x , -o FILE -e instructions:uD -e {a:u,b:u} -- COMMAND``.
        Pinned events stand alone, each with perf's modifier D, which keeps
        them on their counters; a group is counted together or not at all.

    Raises
    ------
    ValueError
        If there is no command or nothing to count.
    """
    if not command:
        raise ValueError("no command to count: give the program and its arguments.")
    counted = ["-p", ",".join(map(str, pids))] if pids else []
    return [*_counting(plan, encodings, output), *counted, "--", *command]


def attached_command(plan, encodings, output, options):
    """Build the command that counts what runs already, until it is stopped.

    Parameters
    ----------
    plan, encodings, output
        As for :func:`stat_command`.
    options : sequence of str
        What to count: ``-p PID,PID``, ``-a``, or ``-a -G CGROUP``.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        If there is nothing to count.
    """
    return [*_counting(plan, encodings, output), *options]


def _counting(plan, encodings, output):
    pinned = [_told(event, plan.modifier, encodings, pinned=True) for event in plan.pinned]
    groups = [
        "{" + ",".join(_told(event, plan.modifier, encodings) for event in group) + "}"
        for group in plan.groups
    ]
    if not pinned and not groups:
        raise ValueError(f"plan {plan.set!r}, part {plan.part}: no event to count.")
    selected = [argument for event in [*pinned, *groups] for argument in ("-e", event)]
    return ["perf", "stat", "-I", str(plan.interval_ms), "-x", ",", "-o", output, *selected]


def _told(event, modifier, encodings, *, pinned=False):
    plain = f"{event}:{modifier}" if modifier else event
    encoding = encodings.get(event, plain)
    if not pinned:
        return encoding
    opened = "/" in encoding or ":" in encoding.removeprefix(event)
    return f"{encoding}D" if opened else f"{encoding}:D"
