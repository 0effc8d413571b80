"""perf's processes: one that samples a program, one that prints what is in a file of samples."""

import contextlib
import functools
import shlex
import subprocess
import tempfile
from pathlib import Path

from cmlib.record.execute import ending, kept
from cmlib.samples.files import SampleError
from cmlib.samples.parser import FIELDS

_PIECE = 1 << 18  # bytes that are waited for: handling a piece costs more than what is in it
_PRINT = ["perf", "script", "-F", FIELDS, "--ns", "--show-lost-events", "-i"]
_LINES_SHOWN = 10


@contextlib.contextmanager
def sampled(command, encodings, period, folder, *, buffer_pages):
    """Run a program, and read perf's stream of its samples, while it runs.

    Parameters
    ----------
    command : list of str
        Its input is empty and its output discarded.
    encodings : sequence of str
        The group's events as perf takes them, the one that times the sampling first.
    period : int
        Counts of the first event from sample to sample.
    folder : pathlib.Path
        For what perf and the program say.
    buffer_pages : int
        Size of perf's buffer for each processor, a power of two [pages]. perf
        hands on what it has when half of it is full.

    Yields
    ------
    iterator of bytes
        Pieces of what ``perf record -o -`` writes, cut anywhere.

    Raises
    ------
    SampleError
        If perf refuses or breaks off, or the program fails, with what it said.
        Nothing is left running then, nor after any other exception, nor if this process is killed.
    """
    program_said, recorder_said = folder / "program.stderr", folder / "perf.stderr"
    quiet = f'exec "$@" >/dev/null 2>{shlex.quote(str(program_said))}'
    group = f"{{{','.join(encodings)}}}:S"
    options = ["-B", "--no-inherit", "-m", str(buffer_pages), "-e", group, "-c", str(period), "-o", "-"]
    with recorder_said.open("xb") as errors:
        recorder = subprocess.Popen(
            kept(["perf", "record", *options, "--", "/bin/sh", "-c", quiet, "cmlib", *command]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        try:
            yield _pieces(recorder)
            recorder.wait()
        finally:
            recorder.stdin.close()
            recorder.wait()
            recorder.stdout.close()
    if recorder.returncode and program_said.exists():
        raise SampleError(
            f"`{shlex.join(command)}` failed with {ending(recorder.returncode)}. The end of its standard error:\n"
            f"{_end_of(program_said)}\nSamples are kept only of a program that succeeds."
        )
    if recorder.returncode:
        raise SampleError(
            f"perf could not sample {group} under `{shlex.join(command)}`:\n{_end_of(recorder_said)}"
        )


@contextlib.contextmanager
def printed(source):
    """Read the samples of a ``perf.data`` as perf prints them; yields pieces of text like `sampled`."""
    with tempfile.NamedTemporaryFile() as errors:
        printer = subprocess.Popen([*_PRINT, str(source)], stdout=subprocess.PIPE, stderr=errors)
        try:
            yield _pieces(printer)
            printer.wait()
        finally:
            printer.kill()
            printer.wait()
            printer.stdout.close()
        if printer.returncode:
            raise SampleError(f"perf can't read {source}:\n{_end_of(Path(errors.name))}")


def _pieces(process):
    return iter(functools.partial(process.stdout.read, _PIECE), b"")


def _end_of(file):
    return "\n".join(file.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES_SHOWN:])
