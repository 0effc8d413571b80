"""Run a program once as it would be recorded, with nothing but the kernel's own clock: does it work, and how long?"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass

from cmlib.collect.record import keeper
from cmlib.collect.workloads.recipe import scratch
from cmlib.errors import CmlibError


@dataclass(frozen=True)
class Trial:
    """One uncounted run."""

    prepared_s: float
    seconds: float
    processors: float
    said: str


def run_once(prepared, *, timeout=600.0):
    """Run what a recipe prepares under ``perf stat -e task-clock``."""
    begun = time.monotonic()
    with scratch("trial") as folder, prepared as counted:
        which = ["-p", ",".join(map(str, counted.pids))] if counted.pids else []
        output = folder / "perf.csv"
        status = folder / "status"
        watched = ["/bin/sh", "-c", '"$@"; echo $? >"$0"', status, *counted.command]
        counting = ["perf", "stat", "-x", ",", "-e", "task-clock", "-o", output, *which, "--", *watched]
        started = time.monotonic()
        printed, complaint = _run(counting, counted, folder, timeout)
        seconds = time.monotonic() - started
        code = status.read_text().strip() if status.exists() else "unknown"
        if code != "0":
            raise CmlibError(f"`{' '.join(counted.command)}` ended with exit code {code}:\n{_end(complaint)}")
        row = [line for line in output.read_text().splitlines() if ",task-clock" in line]
    return Trial(started - begun, seconds, float(row[0].split(",")[0]) / 1000 / seconds, _end(printed, 1))


def _run(command, counted, folder, timeout):
    with (folder / "stdout").open("w+") as output, (folder / "stderr").open("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            env=os.environ | dict(counted.environment),
            start_new_session=True,
        )
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise CmlibError(f"`{' '.join(counted.command)}` did not end within {timeout:.0f} s") from error
        finally:
            process.stdin.close()
            process.wait()
        output.seek(0)
        errors.seek(0)
        return output.read(), errors.read()


def _end(text, lines=10):
    return "\n".join(text.strip().splitlines()[-lines:])
