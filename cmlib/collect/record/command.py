"""The `perf stat` command line that counts what a plan says."""


def stat_command(plan, encodings, output, command, *, pids=()):
    """Build the command that runs a program under `perf stat`."""
    if not command:
        raise ValueError("no command to count: give the program and its arguments.")
    counted = ["-p", ",".join(map(str, pids))] if pids else []
    return [*_counting(plan, encodings, output), *counted, "--", *command]


def attached_command(plan, encodings, output, options):
    """Build the command that counts what runs already, until it is stopped."""
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
