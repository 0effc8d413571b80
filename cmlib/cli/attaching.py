"""The options of recording what runs already."""

import functools
import math
import re

import click

_OPTIONS = [
    click.option(
        "--pid", "pids", metavar="PID,…", help="Count these processes, which run already, with all threads."
    ),
    click.option(
        "--cgroup", metavar="PATH", help="Count this cgroup, such as system.slice/memcached.service."
    ),
    click.option("--system", is_flag=True, help="Count everything that runs on this machine."),
    click.option(
        "--seconds",
        type=float,
        help="How long to count what runs already.  [default: 60; Ctrl-C ends it earlier]",
    ),
]


def attaching_options(command):
    """Give a command the options of attaching; it gets them as `attached`, None without any of them.

    Else it is a dict: seconds, and one of pids (a list of numbers), cgroup (a path) and system (True).
    """

    @functools.wraps(command)
    def with_attaching(*, pids, cgroup, system, seconds, **others):
        given = {"pids": pids, "cgroup": cgroup, "system": system or None}
        given = {key: value for key, value in given.items() if value is not None}
        if len(given) > 1:
            raise click.UsageError("--pid, --cgroup and --system: give one of them.")
        if seconds is not None and not given:
            raise click.UsageError("--seconds belongs to --pid, --cgroup and --system.")
        if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
            raise click.UsageError(f"--seconds takes a number above 0, got {seconds:g}.")
        if pids is not None:
            given["pids"] = _numbers(pids)
        how = given | {"seconds": 60.0 if seconds is None else seconds}
        return command(attached=how if given else None, **others)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), with_attaching)


def attach(name, attached, request, *, wait, note):
    """Record what runs already, and tell where it is and what to do with it."""
    import json

    from cmlib.record import record_attached, running

    if "pids" in attached:
        found = running.processes(attached["pids"])
    else:
        found = running.cgroup(attached["cgroup"]) if "cgroup" in attached else running.system()
    made = record_attached(
        name,
        found,
        request,
        seconds=attached["seconds"],
        wait=wait,
        note=note,
        say=lambda text: click.echo(text, err=True),
    )
    meta = json.loads(made.read_text(encoding="utf-8"))
    click.echo(
        f"{name}: {meta['duration_s']:.1f} s in intervals of {meta['interval_ms']} ms, run {made.stem}"
    )
    click.echo(f"Study it: cmlib run live -p program={name}")


def _numbers(pids):
    if not re.fullmatch(r"[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*", pids):
        raise click.UsageError(
            f"--pid takes numbers of processes with commas between, as 812,813, got {pids!r}; `pgrep -a NAME` tells "
            "them."
        )
    return [int(pid) for pid in pids.split(",")]
