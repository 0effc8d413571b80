"""What runs already and is to be counted: processes, a cgroup, or the whole system."""

import os
from dataclasses import dataclass
from pathlib import Path

from cmlib.record.archive import RecordError


@dataclass(frozen=True)
class Running:
    """Something that runs already.

    Attributes
    ----------
    options : tuple of str
        By which perf is told what to count, to stand behind the events.
    command : str
        Noted as the command: the same whenever the same service is recorded, so that its runs can be compared.
    about : dict
        Noted as what was attached to.
    pids : tuple of int
        Processes whose end ends the recording.
    """

    options: tuple[str, ...]
    command: str
    about: dict
    pids: tuple[int, ...] = ()


def processes(pids, root="/"):
    """Processes that run already, with all their threads.

    Parameters
    ----------
    pids : sequence of int
    root : path, default "/"
        Folder that holds `proc`.

    Returns
    -------
    Running

    Raises
    ------
    RecordError
        If there is no such process, or it has ended and waits to be collected.
    """
    found = [_process(pid, Path(root) / "proc") for pid in dict.fromkeys(pids)]
    names = ", ".join(dict.fromkeys(process["name"] for process in found))
    chosen = tuple(process["pid"] for process in found)
    options = ("-p", ",".join(map(str, chosen)))
    return Running(options, f"{names} (running)", {"processes": found}, chosen)


def cgroup(path, root="/"):
    """All processes of a cgroup, now and later.

    Parameters
    ----------
    path : str
        From where cgroups are mounted, as ``/proc/PID/cgroup`` and ``systemd-cgls`` tell it, or with that in front.
    root : path, default "/"
        Folder that holds `proc`.

    Returns
    -------
    Running

    Raises
    ------
    RecordError
        If there is no such cgroup, or none that perf counts.
    """
    mounts = _cgroup_mounts(Path(root) / "proc/mounts")
    if not mounts:
        raise RecordError(
            "this system has no cgroups that perf can count: neither cgroup2 nor perf_event is mounted. Give --pid."
        )
    inner = next(
        (path.removeprefix(mount) for mount in mounts if f"{path}/".startswith(f"{mount}/")), path
    ).strip("/")
    if not any(Path(mount, inner).is_dir() for mount in mounts) or "," in inner:
        raise RecordError(
            f"there is no cgroup {path!r} under {' or '.join(mounts)}: `systemd-cgls`, or /proc/PID/cgroup of one of "
            "its processes, tells what it is called."
        )
    return Running(("-a", "-G", f"/{inner}"), f"cgroup {path} (running)", {"cgroup": path})


def system():
    """Everything that runs on this machine."""
    return Running(("-a",), "whole system (running)", {"system": True})


def _process(pid, proc):
    folder = proc / str(pid)
    try:
        state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        name = (folder / "comm").read_text(errors="replace").strip()
        threads = len(os.listdir(folder / "task"))
    except OSError:
        state = ""
    if state in ("", "Z", "X"):
        raise RecordError(
            f"there is no process {pid}: `pgrep -a NAME` tells the numbers of those that run. Nothing was recorded."
        )
    return {"pid": pid, "name": name, "threads": threads}


def _cgroup_mounts(mounts):
    """Where the cgroups are that perf counts: those of perf_event if there are such, else of version 2."""
    fields = [line.split() for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    own = [field[1] for field in fields if field[2] == "cgroup" and "perf_event" in field[3].split(",")]
    return own or [field[1] for field in fields if field[2] == "cgroup2"]
