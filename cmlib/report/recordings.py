"""Read, record and compare programs from Python, with results that Jupyter displays.

:func:`read_source` and :func:`record_command` return :class:`Recordings`, which Jupyter shows as a table.
:func:`compare_commands` returns a :class:`Comparison`, which Jupyter shows as text. `cmlib.read`,
`cmlib.record` and `cmlib.compare_programs` call these functions.
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
    """A sequence of recordings, displayed as a table.

    Attributes
    ----------
    names : tuple of str
        Names of the recordings. A name is that of the run, or of the program in a file.
    recordings : tuple of cmlib.io.recording.Recording
        The recordings. For example, ``recordings[0].counts`` is a DataFrame.
    """

    names: tuple[str, ...]
    recordings: tuple[Recording, ...]

    def __len__(self) -> int:
        """Return the number of recordings."""
        return len(self.recordings)

    def __getitem__(self, position: Any) -> Any:
        """Return the recording at a position, or a tuple of recordings for a slice."""
        return self.recordings[position]

    def __iter__(self) -> Iterator[Recording]:
        """Iterate over the recordings."""
        return iter(self.recordings)

    def table(self) -> pd.DataFrame:
        """Return a table of the recordings.

        Returns
        -------
        DataFrame
            One row per recording, indexed by name, with the following columns:

            - ``counted``: how the events were counted
            - ``intervals``, ``events``: number of intervals and of events
            - ``seconds``: length of the recording [s]
            - ``note``: what was left out or assumed
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
    """Comparison of two versions of a program, displayed as text.

    Attributes
    ----------
    result : dict
        Output of ``cmlib compare --json``. ``docs/compare-method.md`` describes its keys.
    """

    result: dict

    @property
    def verdict(self) -> str:
        """Verdict on the new version. For example, "slower", "faster" or "no change"."""
        return self.result["verdict"]

    def times(self) -> pd.DataFrame:
        """Return the compared times.

        Returns
        -------
        DataFrame
            One row per function and measure. ``docs/compare-method.md`` describes the columns.
        """
        return pd.DataFrame(self.result["times"])

    def _repr_markdown_(self) -> str:
        """Return the comparison as Markdown."""
        return write_markdown(self.result)

    def __repr__(self) -> str:
        """Return the comparison as text."""
        return write_text(self.result)


def read_source(file: str | Path, *, format: str | None = None, processor: str | None = None) -> Recordings:
    """Read the recordings in a file of counts. See :func:`cmlib.read`."""
    sources = read_recordings([Path(file)], machine_with(processor), format=format)
    recordings = tuple(
        make_recording(source.facts | {"note": source.note, "imported": True}, source.counts, source.running)
        for source in sources
    )
    return Recordings(tuple(source.name or Path(file).name for source in sources), recordings)


def record_command(name: str, command: Sequence[str], *, wait: bool, **settings: Any) -> Recordings:
    """Record a command and read its runs. See :func:`cmlib.record`."""
    from cmlib.collect.record import Request, record_program

    if isinstance(command, str):
        raise InputError(
            f"command is the text {command!r}. Give a list of words, for example {command.split()}."
        )
    sets = record_program(name, list(command), Request(**settings), wait=wait)
    folder = places.recordings_dir() / name
    metas = {run: meta for run, meta in readable_runs(folder).items() if meta["set"] in sets}
    runs = [(meta, read_run(folder / f"{run_name}.json", meta)) for run_name, meta in metas.items()]
    recordings = tuple(make_recording(meta, run.counts, run.running) for meta, run in runs)
    return Recordings(tuple(metas), recordings)


def compare_commands(old: str | Path, new: str | Path, **settings: Any) -> Comparison:
    """Compare two commands or stored recordings. See :func:`cmlib.compare_programs`."""
    from cmlib.compare.comparison import compare_programs

    return Comparison(compare_programs(str(old), str(new), **settings))
