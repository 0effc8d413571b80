"""Run a command, and end all processes that it started once it, or cmlib, has ended.

cmlib starts this file as `python -I -S supervisor.py COMMAND…`, with a pipe as its standard input that only cmlib
holds open. The file ends every descendant of the command when the command has ended, or when the pipe closes because
cmlib was stopped or killed. For this it is a "subreaper": orphaned descendants become its children. It passes SIGINT
on to the command, which may end in its own way. Its exit code is that of the command.

It is started for each recorded run, so it imports only what starts fast: neither `subprocess` nor `pathlib`.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys

_PR_SET_CHILD_SUBREAPER = 36
# Python ignores these signals, but programs expect them to have their default effect.
_RESET_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)


def keep(command):
    """Run a command until it ends or standard input is closed, and return its exit code.

    Parameters
    ----------
    command : list of str
        The program and its arguments.

    Returns
    -------
    int
        Exit code of the command. It is 128 plus the number of the signal that ended the command, and 137 if the
        command was still running.

    Raises
    ------
    OSError
        If the command cannot be started.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")
    started = []
    signal.signal(signal.SIGINT, lambda number, frame: [_send_signal(child, number) for child in started])
    process = _start(command)
    child = os.pidfd_open(process)
    started.append(child)
    _wait_for_end_of(child)
    reaped, status = os.waitpid(process, os.WNOHANG)
    _end_descendants()
    if not reaped:
        return 128 + signal.SIGKILL
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _start(command):
    """Start a command without standard input and other open files; return its process number."""
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2:
            _close_on_exec(descriptor)
    no_input = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    return os.posix_spawnp(command[0], command, os.environ, file_actions=[no_input], setsigdef=_RESET_SIGNALS)


def _close_on_exec(descriptor):
    """Keep a file descriptor out of the command."""
    with contextlib.suppress(OSError):  # of the listing itself, which is closed
        os.set_inheritable(descriptor, False)


def _send_signal(child, number):
    """Send a signal to a process (pidfd), which may have ended."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(child, number)


def _wait_for_end_of(child):
    """Return when the process (pidfd) has ended, or standard input is closed."""
    poll = select.poll()
    poll.register(child, select.POLLIN)
    poll.register(sys.stdin.fileno(), select.POLLHUP)
    poll.poll()


def _end_descendants():
    """Kill children, and the orphans that become children, until none is left."""
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not ended:
            for process in _children():
                _kill(process)
            os.waitpid(-1, 0)


def _kill(process):
    """Kill a process that may have ended or belong to another user."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)


def _children():
    """List the numbers of this process's children."""
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [number for number in numbers if _parent_of(number) == os.getpid()]


def _parent_of(process):
    """Return the number of a process's parent, or None if the process has ended."""
    try:
        with open(f"/proc/{process}/stat", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
