"""Run a command until it ends or the standard input closes; then end it and everything it started.

``python guard.py COMMAND…`` with a pipe as its standard input: the pipe closes when whoever
holds it closes it, fails, or is killed, so that no server outlives the test that started it.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading

import psutil

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, prctl(2)
_GRACE = float(os.environ.get("GRACE", 8))  # seconds between being asked to end and being ended


def main(command):
    """Run `command`; return its exit code, or 0 if it was ended from here."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)  # orphans of the command become children of this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    over = threading.Event()
    for wait in (_closed, child.wait):
        threading.Thread(target=lambda wait=wait: (wait(), over.set()), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    over.wait()
    code = child.poll()
    if code is None:
        child.terminate()
    _, alive = psutil.wait_procs(_family(), timeout=_GRACE)
    while alive:
        for process in alive:
            process.kill()
        psutil.wait_procs(alive, timeout=_GRACE)
        alive = _family()
    return code or 0


def _closed():
    while os.read(sys.stdin.fileno(), 1):
        pass


def _family():
    return psutil.Process().children(recursive=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
