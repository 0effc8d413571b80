"""Servers to be measured: started, ready, stopped, with nothing left of them.

:class:`Server` is a context manager; while it is open, `pids` are the numbers of the server's processes. A
ServerError if it does not become ready, or dies.
"""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil

from cmlib.collect.record.execute import run_supervised
from cmlib.errors import CmlibError

_LINES_SHOWN = 12
_STOP_SECONDS = 15.0
_PAUSE_S = 0.05


class ServerError(CmlibError):
    """A server did not start, did not become ready, or died; with the last lines it wrote."""


class Server:
    """One server process and all that it starts, for the length of a ``with`` block.

    It waits until the server is ready, and stops it at the end. A ServerError if its port is taken, it is not ready
    in time, or it died while it was used.

    Parameters
    ----------
    name : str
        For messages.
    command : list
        Words of the command that starts it.
    log : path
        File for its output.
    port : int, optional
        At which it answers; must be free before.
    ready : callable, optional
        Takes no argument and returns True once it is ready; by default once the port answers.
    timeout : float, default 60
        How long it may take to be ready [s].
    environment : dict, optional
        Variables that it gets besides those of this process.
    folder : path, optional
        In which it runs.
    """

    def __init__(
        self, name, command, log, *, port=None, ready=None, timeout=60.0, environment=None, folder=None
    ):
        self.name, self.command, self.log = name, [str(part) for part in command], Path(log)
        self._port, self._timeout = port, timeout
        self._ready = ready or (lambda: port is None or _answers(port))
        self._environment, self._folder = dict(environment or {}), folder

    def __enter__(self):
        if self._port is not None:
            check_free(self._port, self.name)
        with self.log.open("wb") as log:
            how = {"stdout": log, "stderr": subprocess.STDOUT, "cwd": self._folder}
            self._ending = run_supervised(self.command, environment=self._environment, **how)
            self._supervisor = self._ending.__enter__()
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind, value, trace):
        died = self._first not in self.pids
        self._stop()
        if died and (kind is None or issubclass(kind, CmlibError)):
            raise self._failure(
                f"died with exit code {self._supervisor.returncode} while it was used"
            ) from value

    @property
    def pids(self):
        """Numbers of every process of the server now: a tuple of int."""
        return tuple(descendants(self._supervisor.pid))

    def check_alive(self):
        """Raise a ServerError, with the last lines that it wrote, if it has died."""
        if self._supervisor.poll() is not None:
            raise self._failure(f"died with exit code {self._supervisor.returncode}")

    def _wait_until_ready(self):
        """Return once it is ready; a ServerError if it dies, or after the timeout."""
        end = time.monotonic() + self._timeout
        while True:
            self.check_alive()
            with contextlib.suppress(OSError):
                if self.pids and self._ready():
                    self._first = self.pids[0]
                    return
            if time.monotonic() > end:
                raise self._failure(f"was not ready after {self._timeout:.0f} s")
            time.sleep(_PAUSE_S)

    def _stop(self):
        """Ask it to end, and end it with all that it started after fifteen seconds."""
        for process in descendants(self._supervisor.pid)[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(_STOP_SECONDS)
        self._ending.__exit__(None, None, None)

    def _failure(self, what):
        """A ServerError with the last lines that it wrote."""
        shown = "\n".join(self.log.read_text(errors="replace").splitlines()[-_LINES_SHOWN:]) or "(nothing)"
        return ServerError(
            f"{self.name} {what}. The last lines of `{' '.join(self.command)[:300]}`:\n{shown}"
        )


def memcached(folder, port, *, megabytes, threads):
    """Memcached at a port of this machine, with so many megabytes and threads: a Server (not started).

    Its log is in `folder` (Path).
    """
    command = ["memcached", *f"-l 127.0.0.1 -p {port} -U 0 -m {megabytes} -t {threads}".split()]
    as_root = ["-u", "root"] if os.geteuid() == 0 else []
    return Server("memcached", [*command, *as_root], folder / "memcached.log", port=port)


def check_free(port, name):
    """Raise ServerError if something listens at `port` of 127.0.0.1 already; `name` is the server's, for the text."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ServerError(
                f"{name} can't start: port {port} of 127.0.0.1 is taken ({error.strerror}). "
                f"`ss -ltnp 'sport = :{port}'` tells by whom; stop it."
            ) from error


def descendants(pid):
    """List of the numbers of the processes below `pid`, each after its parent; without zombies."""
    with contextlib.suppress(psutil.NoSuchProcess):
        below = psutil.Process(pid).children(recursive=True)
        return [process.pid for process in below if process.status() != psutil.STATUS_ZOMBIE]
    return []


def _answers(port):
    """True if something accepts connections at a port; else an OSError."""
    with socket.create_connection(("127.0.0.1", port), timeout=1.0):
        return True
