"""Run a command, and end all that it started once it, or the process that asked for it, has ended.

cmlib starts this file by itself, as `python -I -S supervisor.py COMMAND…`, with a pipe as its standard input that
only cmlib holds open. When the command has ended, or the pipe closes (cmlib was stopped or killed), every process
that descends from this one is ended too: it is their "subreaper", which inherits orphans. SIGINT is passed on to
the command, which may end in its own way. Its exit code is the command's.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def keep(command):
    """Run `command` (list of str) until it ends or standard input is closed, and return its exit code.

    128 plus the signal's number if a signal ended it; 137 if it was killed here. Raises an OSError if it can't be
    started.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")
    started = []
    signal.signal(signal.SIGINT, lambda number, frame: [child.send_signal(number) for child in started])
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    started.append(child)
    _wait_for_end_of(child)
    code = child.poll()
    _end_descendants()
    return 128 + signal.SIGKILL if code is None else code if code >= 0 else 128 - code


def _wait_for_end_of(child):
    """Return when the child has ended, or standard input is closed."""
    poll = select.poll()
    poll.register(os.pidfd_open(child.pid), select.POLLIN)
    poll.register(sys.stdin.fileno(), select.POLLHUP)
    poll.poll()


def _end_descendants():
    """Kill children, and what they leave behind, until there are none."""
    while True:
        for process in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children():
    """Yield the numbers of this process's children."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = status.read_text(errors="replace").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                yield int(status.parent.name)


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
