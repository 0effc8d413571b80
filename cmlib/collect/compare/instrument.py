"""Count hardware events in a region of a Python program, as `cmlib_region.h` does in C and C++."""

import contextlib
import csv
import ctypes
import functools
import os
import platform
import struct
import sys
import threading
import time
import warnings
from pathlib import Path

INSTRUCTIONS = ("instructions", 0, 1)
SOFTWARE, TRACEPOINT, RAW = 1, 2, 4
_SYSTEM_CALLS = {"x86_64": 298, "aarch64": 241}
_ENABLED_AND_RUNNING_OF_A_GROUP = 0b1011
_CLOSE_ON_EXEC = 8
_OUT_OF_COUNTERS = (
    "the events don't fit on the counters at once, nothing was counted: give fewer in CMLIB_EVENTS, and let no "
    "other perf run"
)
_NO_COUNTER = (
    "nothing was counted, for lack of a PMU (`perf stat -e instructions true` tells) or of permission "
    "(sysctl kernel.perf_event_paranoid must be 2 or less)"
)
_FIRST_LOST = "instructions were not counted, so nothing can be compared"
_SOME_LOST = "some events were not counted: this machine lacks them, or has counters for fewer at once"


def include_dir():
    """Folder of `cmlib_region.h`, for ``cc -I``."""
    return Path(__file__).parent / "include"


@contextlib.contextmanager
def region(name, *, threads=1, work=1):
    """Count what happens inside of a ``with`` block, a row each time it is passed.

    Reads the environment of `cmlib_region.h`: ``CMLIB_REGIONS`` names the file to append to (without it
    nothing happens), ``CMLIB_EVENTS`` the events, ``NAME=CONFIG,…``. Counted are the calling thread and those
    it starts after its first region, in user space (software events and tracepoints in the kernel as well,
    where permitted). Without a PMU or permission the block runs all the same, its row has empty counts, and
    one warning says so.

    Parameters
    ----------
    name : str
        Of the function or place.
    threads : int >= 1, default 1
        Threads the sample is a sum of.
    work : int >= 1, default 1
        What the block does, in units of your own (items, requests): what counts are divided by where there
        are no instructions to divide them by.

    Yields
    ------
    None
    """
    output = _output()
    if output is None:
        yield
        return
    caller = sys._getframe(2)
    location = f"{os.path.basename(caller.f_code.co_filename)}:{caller.f_lineno}"
    group = output.group()
    began, before = time.monotonic(), group.read()
    try:
        yield
    finally:
        after, seconds = group.read(), time.monotonic() - began
        output.write(
            [name, location, threading.get_native_id(), threads, work, f"{seconds:.9f}"], group, before, after
        )


@functools.cache
def _output():
    path = os.environ.get("CMLIB_REGIONS")
    return _Output(path, _events(os.environ.get("CMLIB_EVENTS", ""))) if path else None


def _events(text):
    """Read ``CMLIB_EVENTS``: NAME=CONFIG for raw events, NAME=TYPE:CONFIG for others."""
    events = [INSTRUCTIONS]
    for item in filter(None, text.split(",")):
        try:
            name, code = item.split("=")
            numbers = [int(number, 0) for number in code.split(":")]
            kind, config = numbers if len(numbers) == 2 else (RAW, *numbers)
        except ValueError as error:
            raise ValueError(
                f"CMLIB_EVENTS: {item!r} is neither NAME=CONFIG nor NAME=TYPE:CONFIG (as in near_cache=0x443)"
            ) from error
        events.append((name, kind, config))
    return events


class _Output:
    """The file rows go to, and a group of counters for each thread."""

    def __init__(self, path, events):
        self._events = events
        self._lock = threading.Lock()
        self._own = threading.local()
        self._file = open(path, "a", buffering=1, encoding="utf-8", newline="")  # noqa: SIM115
        self._rows = csv.writer(self._file, lineterminator="\n")
        names = [name for name, _, _ in events]
        self._rows.writerow(
            ["function", "location", "thread", "threads", "work", "seconds", "running", *names]
        )
        self._warned = False

    def group(self):
        if not hasattr(self._own, "group"):
            self._own.group = _Group(self._events)
            self._warn_once(self._own.group.trouble)
        return self._own.group

    def write(self, fields, group, before, after):
        counts = [""] * (1 + len(self._events))
        if before and after and after[1] > before[1]:
            counts[0] = f"{(after[2] - before[2]) / (after[1] - before[1]):.4f}"
            for event, place in group.places.items():
                counts[1 + event] = after[3 + place] - before[3 + place]
        elif group.places:
            self._warn_once(_OUT_OF_COUNTERS)
        with self._lock:
            self._rows.writerow([*fields, *counts])

    def _warn_once(self, trouble):
        with self._lock:
            unknown, self._warned = not self._warned, self._warned or bool(trouble)
        if trouble and unknown:
            warnings.warn(f"cmlib region: {trouble}", RuntimeWarning, stacklevel=5)


class _Group:
    """One thread's pinned group: `places` maps an event to its place in a reading; missing ones aren't counted."""

    def __init__(self, events):
        self.places, self._files, errors = {}, [], {}
        for event, (name, kind, config) in enumerate(events):
            descriptor, error = _perf_event_open(kind, config, self._files[0] if self._files else -1)
            if descriptor < 0:
                errors[name] = os.strerror(error)
            else:
                self.places[event] = len(self._files)
                self._files.append(descriptor)
        lost = ", ".join(f"{name}: {error}" for name, error in errors.items())
        reason = _NO_COUNTER if not self._files else _SOME_LOST if 0 in self.places else _FIRST_LOST
        self.trouble = f"{reason} ({lost})" if errors else ""

    def read(self):
        if not self._files:
            return None
        size = 8 * (3 + len(self._files))
        reading = os.read(self._files[0], size)
        return struct.unpack(f"{size // 8}Q", reading) if len(reading) == size else None

    def __del__(self):
        for descriptor in self._files:
            os.close(descriptor)


def _perf_event_open(kind, config, leader):
    """Open a counter on the calling thread and those it will start: (descriptor or -1, errno)."""
    inherit, pinned, exclude_kernel, exclude_hypervisor = 1 << 1, 1 << 2, 1 << 5, 1 << 6
    flags = inherit | exclude_hypervisor | (pinned if leader < 0 else 0)
    descriptor, error = (
        _system_call(kind, config, leader, flags) if kind in (SOFTWARE, TRACEPOINT) else (-1, 0)
    )
    if descriptor >= 0:
        return descriptor, error
    return _system_call(kind, config, leader, flags | exclude_kernel)


def _system_call(kind, config, leader, flags):
    head = struct.pack("IIQQQQQ", kind, 128, config, 0, 0, _ENABLED_AND_RUNNING_OF_A_GROUP, flags)
    attributes = ctypes.create_string_buffer(head.ljust(128, b"\0"), 128)
    number = _SYSTEM_CALLS.get(platform.machine())
    if number is None:
        return -1, 38
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, attributes, 0, -1, leader, ctypes.c_ulong(_CLOSE_ON_EXEC))
    return descriptor, ctypes.get_errno()
