"""Run a program once as it would be recorded, with nothing but the kernel's own clock: does it work, and how long?"""

import subprocess
import time
from dataclasses import dataclass

from cmlib.collect.record.execute import run_supervised
from cmlib.collect.workloads.recipe import scratch
from cmlib.errors import CmlibError

_LONGEST_S = 600


@dataclass(frozen=True)
class Trial:
    """One uncounted run."""

    prepared_s: float
    seconds: float
    processors: float
    said: str


def run_once(prepared):
    """Run what a recipe prepares under ``perf stat -e task-clock``."""
    begun = time.monotonic()
    with scratch("trial") as folder, prepared as counted:
        which = ["-p", ",".join(map(str, counted.pids))] if counted.pids else []
        output = folder / "perf.csv"
        status = folder / "status"
        watched = ["/bin/sh", "-c", '"$@"; echo $? >"$0"', status, *counted.command]
        counting = ["perf", "stat", "-x", ",", "-e", "task-clock", "-o", output, *which, "--", *watched]
        started = time.monotonic()
        printed, complaint = _run(counting, counted, folder)
        seconds = time.monotonic() - started
        code = status.read_text().strip() if status.exists() else "unknown"
        if code != "0":
            raise CmlibError(f"`{' '.join(counted.command)}` ended with exit code {code}:\n{_end(complaint)}")
        row = [line for line in output.read_text().splitlines() if ",task-clock" in line]
    return Trial(started - begun, seconds, float(row[0].split(",")[0]) / 1000 / seconds, _end(printed, 1))


def _run(command, counted, folder):
    with (folder / "stdout").open("w+") as output, (folder / "stderr").open("w+") as errors:
        with run_supervised(
            command, stdout=output, stderr=errors, environment=counted.environment
        ) as process:
            try:
                process.wait(_LONGEST_S)
            except subprocess.TimeoutExpired as error:
                raise CmlibError(
                    f"`{' '.join(counted.command)}` did not end within {_LONGEST_S} s"
                ) from error
        output.seek(0)
        errors.seek(0)
        return output.read(), errors.read()


def _end(text, lines=10):
    return "\n".join(text.strip().splitlines()[-lines:])
