"""Stands in for perf on a processor whose counters are known: so many are offered, so many of them tell the truth.

What it is comes from the environment: FAKE_OFFERED, FAKE_GOOD (counters), FAKE_STOLEN (a folder: for each file in
it, one run shows a running share of 87 %, and the file is removed), FAKE_WARNING (said on standard error),
FAKE_LIST (what `perf list --json` prints),
FAKE_LACKS (events it can't count, commas between),
FAKE_CUT (the output ends in the middle of a row),
FAKE_REFUSES (said on standard error, and nothing is counted),
FAKE_PLANTED (any text: counts depend on what runs, see planted.py beside this), FAKE_SECONDS (how long the program
is said to have run, whatever it did).
Without a command it counts as many intervals as it is told, or until SIGINT comes.
It writes what perf 6.1 writes, and as in perf, interval mode forgets the exit code of the program.
It is started hundreds of times, so it imports `signal`, which is slow, only where it must.
"""

import os
import sys
import time

RESET_SIGNALS = (13, 25)  # SIGPIPE and SIGXFSZ, which Python ignores


def main(arguments):
    if arguments[0] in ("version", "--version"):
        print("perf version 6.1.fake")
    elif arguments[0] == "stat":
        split = arguments.index("--") if "--" in arguments else len(arguments)
        stat(arguments[1:split], arguments[split + 1 :])
    elif arguments == ["list", "--json"] and "FAKE_LIST" in os.environ:
        print(os.environ["FAKE_LIST"])
    else:
        sys.exit(129)


def stat(options, command):
    groups = [
        read_group(value) for option, value in zip(options, options[1:], strict=False) if option == "-e"
    ]
    interval = int(options[options.index("-I") + 1]) / 1000
    for event in (event for group in groups for event in group):
        if event.startswith("refused"):
            sys.exit(f"event syntax error: '{event}'")
    for group in groups:
        if len(group) > 1 and name_of(group[0]) in lacking():
            print(f"Error:\nThe {group[0]} event is not supported.", file=sys.stderr)
            sys.exit(255)
    if refusal := os.environ.get("FAKE_REFUSES"):
        print(refusal, file=sys.stderr)
        sys.exit(255)
    if warning := os.environ.get("FAKE_WARNING"):
        print(warning, file=sys.stderr)
    if "--control" in options:
        fifos = options[options.index("--control") + 1].removeprefix("fifo:").split(",")
        from threading import Thread

        Thread(target=answer, args=fifos, daemon=True).start()
    began = time.monotonic()
    if not command:
        import signal

        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        open(options[options.index("-o") + 1], "w").close()
        times = int(options[options.index("--interval-count") + 1])
        signal.sigtimedwait([signal.SIGINT], times * interval)
    elif not only_spins(command):
        os.waitpid(os.posix_spawnp(command[0], command, os.environ, setsigdef=RESET_SIGNALS), 0)
    duration = float(os.environ.get("FAKE_SECONDS", time.monotonic() - began))
    ends = [interval * i for i in range(1, 1 + int(duration / interval))] + [duration]
    share = stolen()
    if "FAKE_PLANTED" in os.environ:
        rows = planted_rows(command, ends, groups)
    else:
        rows = [row for end in ends for row in rows_of_interval(end, groups, share)]
    if "-G" in options:
        cgroup = options[options.index("-G") + 1]
        rows = [row.replace(",99667417,", f",{cgroup},99667417,") for row in rows]
    text = "# started on Sat Nov 21 03:00:46 2026\n\n" + "".join(rows)
    with open(options[options.index("-o") + 1], "w", encoding="utf-8") as output:
        output.write(text[:-20] if "FAKE_CUT" in os.environ else text)


def only_spins(command):
    """Whether it is the census's loop, which is counted as well if it doesn't run."""
    return command[-1].startswith("for _ in range(") and command[-1].endswith(": pass")


def lacking():
    return [f"{event}:u" for event in os.environ.get("FAKE_LACKS", "").split(",")]


def answer(control, ack):
    with open(control) as commands, open(ack, "wb", buffering=0) as answers:
        for _ in commands:
            answers.write(b"ack\n\0")


def rows_of_interval(end, groups, share):
    offered, good = int(os.environ.get("FAKE_OFFERED", 6)), int(os.environ.get("FAKE_GOOD", 5))
    pinned = [group[0] for group in groups if group[0].endswith("D")]
    turns = sum(len(group) > 0 for group in groups) - len(pinned)
    for group in groups:
        before = 0 if group[0] in pinned else len(pinned)
        shown = 100 if group[0] in pinned else int(100 * share / max(turns, 1))
        for place, event in enumerate(group, before + 1):
            value = 0 if place > good or name_of(event).endswith(".never") else 100_000 + len(event)
            if place > offered or name_of(event) in lacking():
                yield f"     {end:.9f},<not supported>,,{name_of(event)},0,100.00,,\n"
            else:
                yield f"     {end:.9f},{value},,{name_of(event)},99667417,{shown}.00,,\n"


def planted_rows(command, ends, groups):
    from planted import rows

    pinned = [name_of(group[0]) for group in groups if group[0].endswith("D")]
    turns = [[name_of(event) for event in group] for group in groups if not group[0].endswith("D")]
    return rows(command, ends, pinned, turns)


def stolen():
    folder = os.environ.get("FAKE_STOLEN")
    left = sorted(os.listdir(folder)) if folder else []
    if not left:
        return 1.0
    os.unlink(os.path.join(folder, left[0]))
    return 0.87


def read_group(value):
    inner = value[1:-1] if value.startswith("{") else value
    events, depth, start = [], 0, 0
    for i, letter in enumerate(inner + ","):
        depth ^= letter == "/"
        if letter == "," and not depth:
            events.append(inner[start:i])
            start = i + 1
    return events


def name_of(event):
    return event.partition("name=")[2].partition("/")[0] or event
