"""Read a file of counts, record a program, and compare two versions from Python.

`cmlib.read`, `cmlib.record` and `cmlib.compare_programs` call the functions here. These call the same code as the
commands `cmlib import`, `cmlib record` and `cmlib compare`. A notebook shows :class:`Recordings` as a table, and
:class:`Comparison` as the text that the command prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from cmlib import places
from cmlib.compare.report import write_markdown, write_text
from cmlib.errors import InputError
from cmlib.io.archive.programs import readable_runs
from cmlib.io.recording import Recording, make_recording
from cmlib.io.sources import read_recordings
from cmlib.io.store.raw import read_run
from cmlib.processors import machine_with


@dataclass(frozen=True)
class Recordings(Sequence):
    """A sequence of recordings, which a notebook shows as a table with one row per recording.

    Attributes
    ----------
    names : tuple of str
        Name of each recording: that of its run, or of the program in a file.
    recordings : tuple of cmlib.io.recording.Recording
        One per name; ``recordings[0].counts`` is a DataFrame.
    """

    names: tuple[str, ...]
    recordings: tuple[Recording, ...]

    def __len__(self) -> int:
        """Return the number of recordings."""
        return len(self.recordings)

    def __getitem__(self, position):
        """Return the recording at a position (int), or a tuple of those in a slice."""
        return self.recordings[position]

    def __iter__(self) -> Iterator[Recording]:
        """Iterate over the recordings."""
        return iter(self.recordings)

    def table(self) -> pd.DataFrame:
        """Return a table of the recordings.

        Returns
        -------
        DataFrame
            One row per recording, indexed by its name. Columns: ``counted`` (how events shared the counters),
            ``intervals`` and ``events`` (numbers), ``seconds`` (length) and ``note`` (omissions and assumptions).
        """
        rows = [
            {
                "counted": recording.kind,
                "intervals": len(recording.counts),
                "seconds": recording.interval_s.sum(),
                "events": recording.counts.shape[1],
                "note": recording.meta.get("note", ""),
            }
            for recording in self.recordings
        ]
        return pd.DataFrame(rows, pd.Index(self.names, name="recording"))

    def _repr_html_(self) -> str:
        """Return the table of the recordings as HTML."""
        return self.table().to_html(float_format="{:.2f}".format)

    def __repr__(self) -> str:
        """Return the table of the recordings as text."""
        return self.table().to_string(float_format="{:.2f}".format)


@dataclass(frozen=True, repr=False)
class Comparison:
    """The comparison of two versions of a program; a notebook shows the text of ``cmlib compare --markdown``.

    Attributes
    ----------
    result : dict
        The output of ``cmlib compare --json``; docs/compare-method.md has the keys.
    """

    result: dict

    @property
    def verdict(self) -> str:
        """Verdict on the new version, such as "slower", "faster", "no change" or "inconclusive"."""
        return self.result["verdict"]

    def times(self) -> pd.DataFrame:
        """Return the times of the new version as multiples of the old one's.

        Returns
        -------
        DataFrame
            One row per function and measure; the columns are the keys of the entries of ``result["times"]``.
        """
        return pd.DataFrame(self.result["times"])

    def _repr_markdown_(self) -> str:
        """Return the comparison as Markdown."""
        return write_markdown(self.result)

    def __repr__(self) -> str:
        """Return the comparison as text."""
        return write_text(self.result)


def read_source(file: str | Path, *, format: str | None = None, processor: str | None = None) -> Recordings:
    """Read the recordings in a file of counts, as :func:`cmlib.read` does."""
    sources = read_recordings([Path(file)], machine_with(processor), format=format)
    recordings = tuple(
        make_recording(source.facts | {"note": source.note, "imported": True}, source.counts, source.running)
        for source in sources
    )
    return Recordings(tuple(source.name or Path(file).name for source in sources), recordings)


def record_command(name: str, command: Sequence[str], *, wait: bool, **settings: Any) -> Recordings:
    """Record a command, and read all runs of its sets, as :func:`cmlib.record` does."""
    from cmlib.collect.record import Request, record_program

    if isinstance(command, str):
        raise InputError(f"command is the text {command!r}; give a list of words, such as {command.split()}.")
    sets = record_program(name, list(command), Request(**settings), wait=wait)
    folder = places.recordings_dir() / name
    metas = {run: meta for run, meta in readable_runs(folder).items() if meta["set"] in sets}
    runs = [(meta, read_run(folder / f"{run_name}.json", meta)) for run_name, meta in metas.items()]
    recordings = tuple(make_recording(meta, run.counts, run.running) for meta, run in runs)
    return Recordings(tuple(metas), recordings)


def compare_commands(old: str | Path, new: str | Path, **settings: Any) -> Comparison:
    """Compare two commands or stored recordings, as :func:`cmlib.compare_programs` does."""
    from cmlib.compare.comparison import compare_programs

    return Comparison(compare_programs(str(old), str(new), **settings))
