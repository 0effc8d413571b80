"""perf beside what it counts, from its start until time is over, somebody stops it, or nothing is left to count."""

import contextlib
import math
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass

from tqdm import tqdm

from cmlib.record.execute import start_kept

_ATTACHING_S = 0.1  # from opening its output file to the first count
_PAUSE_S = 0.02
_STOPPING_S = 10.0
_STOPS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Attended:
    """How a recording of something that runs already went.

    Attributes
    ----------
    raw : bytes
        perf's output as perf wrote it.
    ended : {"time", "stopped", "process", "perf"}
        Why: the time was over, SIGINT or SIGTERM came, all processes counted had ended, or perf ended by itself.
    perf_code : int
    perf_said : str
    """

    raw: bytes
    ended: str
    perf_code: int
    perf_said: str


def attend(command, output, pids, seconds, *, lock=None, title=""):
    """Run perf until there is a reason to end it, and let it write all that it has counted until then.

    What is counted gets no signal. If this process is killed, perf is ended.

    Parameters
    ----------
    command : list of str
        perf's, without a program to run.
    output : path
        What it writes.
    pids : sequence of int
        Processes that are waited for.
    seconds : float
    lock : int, optional
        Descriptor of the lock that perf's keeper must keep.
    title : str, default ""
        Of the progress bar.

    Returns
    -------
    Attended
    """
    with (
        output.with_name("perf.stderr").open("w+", encoding="utf-8", errors="replace") as said,
        _stop_requests() as stop,
        _ends_of(pids) as ends,
    ):
        keeper = start_kept(command, said, lock)
        try:
            ended = _wait(keeper, output, stop, ends, seconds, title)
            with contextlib.suppress(ProcessLookupError):
                keeper.send_signal(signal.SIGINT)  # the keeper's to perf, which writes its last interval
            with contextlib.suppress(subprocess.TimeoutExpired):
                keeper.wait(_STOPPING_S)
        finally:
            keeper.stdin.close()
            code = keeper.wait()
        said.seek(0)
        raw = output.read_bytes() if output.exists() else b""
        return Attended(raw, ended, code, said.read().strip())


def _wait(keeper, output, stop, ends, seconds, title):
    """Why the recording ends."""
    poll, left = select.poll(), set(ends)
    perf = os.pidfd_open(keeper.pid)
    for descriptor in (perf, stop, *left):
        poll.register(descriptor, select.POLLIN)
    end = math.inf
    try:
        with tqdm(total=seconds, desc=title, bar_format="{desc}: {n:.0f} of {total:.0f} s") as bar:
            while (remaining := end - time.monotonic()) > 0:
                if end == math.inf and output.exists():  # perf has begun
                    end = time.monotonic() + seconds + _ATTACHING_S
                longest = _PAUSE_S if end == math.inf else min(1.0, remaining)
                bar.update(max(0.0, seconds - remaining) - bar.n)
                ready = {descriptor for descriptor, _ in poll.poll(math.ceil(1000 * longest))}
                for descriptor in ready & left:
                    poll.unregister(descriptor)
                    left.remove(descriptor)
                if stop in ready:
                    return "stopped"
                if ends and not left:
                    return "process"
                if perf in ready:
                    return "perf"
            return "time"
    finally:
        os.close(perf)


@contextlib.contextmanager
def _stop_requests():
    """A descriptor that becomes readable when Ctrl-C is pressed or SIGTERM comes, which then do nothing else."""
    readable, writable = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def asked(number, frame):
        with contextlib.suppress(BlockingIOError):
            os.write(writable, b"x")

    before = {number: signal.signal(number, asked) for number in _STOPS}
    try:
        yield readable
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(readable)
        os.close(writable)


@contextlib.contextmanager
def _ends_of(pids):
    """Descriptors that become readable when these processes end."""
    with contextlib.ExitStack() as stack:
        descriptors = []
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                descriptors.append(os.pidfd_open(pid))
                stack.callback(os.close, descriptors[-1])
        yield descriptors
