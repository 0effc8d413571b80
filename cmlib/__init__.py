"""Answers from hardware performance counters: record, clean and rank events, and explain where cycles go.

`cmlib.load_example` loads a recording that comes with the package; `cmlib.summarize` reads a file of counts and says
what limits the program. Everything else is in sub-packages, which CONTRIBUTING.md describes. Errors that users can
correct are of :class:`cmlib.errors.CmlibError`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cmlib.io.recording import Recording
    from cmlib.report.program import ProgramCards

__all__ = ["load_example", "summarize"]
__version__ = "0.3.0"


def load_example(program: str = "gcc") -> Recording:
    """Load a real recording: twelve events that took turns on three counters, as perf printed them.

    Parameters
    ----------
    program : {"bzip2", "gcc", "kmeans", "wordcount"}, default "gcc"

    Returns
    -------
    cmlib.io.recording.Recording
        `counts` [events per 100 ms] and `running` shares (0 to 1), both frames of shape (n_intervals, n_events),
        and `meta`, such as the command and the machine (AMD Zen 5, in a virtual machine).

    Raises
    ------
    ValueError
        If there is no such example.

    Examples
    --------
    >>> run = load_example("gcc")
    >>> run.counts.shape
    (183, 14)
    >>> f"{run.running['ls_stlf'].mean():.2f}"
    '0.24'
    """
    from cmlib.errors import InputError
    from cmlib.io.archive.runs import read_run_metadata
    from cmlib.io.recording import make_recording
    from cmlib.io.store.raw import read_counts
    from cmlib.places import shipped

    known = sorted(file.parent.name for file in shipped("recordings").glob("*/mlpx12-p0-00.json"))
    if program not in known:
        raise InputError(f"there is no example {program!r}; there are {', '.join(known)}.")
    file = shipped("recordings") / program / "mlpx12-p0-00.json"
    meta = read_run_metadata(file)
    return make_recording(meta, *read_counts(file, meta))


def summarize(recording: str | Path, *, processor: str | None = None) -> ProgramCards:
    """Summarize what limits a program, from a file of counts or from its recordings; nothing is stored.

    Parameters
    ----------
    recording : str or path
        A file, as ``cmlib import`` takes it, or the name of a recorded program.
    processor : str, optional
        Name of the processor where the recording does not contain it, such as ``"amd_zen4"``.

    Returns
    -------
    cmlib.report.program.ProgramCards
        Shown as a card per program in a notebook; `summaries` are the dicts that ``cmlib summarize --json`` prints.

    Raises
    ------
    ValueError
        If `recording` is neither a file nor a recorded program, or the processor is unknown.
    cmlib.errors.CmlibError
        If the file can't be read.

    Examples
    --------
    >>> from cmlib.places import shipped
    >>> cards = summarize(shipped("recordings") / "gcc/mlpx12-p0-00.csv.gz")
    >>> cards.summaries[0]["name"]
    'mlpx12-p0-00.csv.gz'
    """
    # Not an import statement: cached results depend on what those name, and no result depends on the pages.
    program = importlib.import_module("cmlib.report.program")
    return program.summarize_source(recording, processor=processor)
