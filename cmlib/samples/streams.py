"""Which sample streams are kept."""

from pathlib import Path

import pandas as pd

from cmlib.errors import NothingRecordedError
from cmlib.samples.files import LINES, SAMPLES, read_metadata, samples_dir

KINDS = ("hardware", "software")


def find_streams(folder=None, kind="auto"):
    """List the sample streams that are kept.

    Parameters
    ----------
    folder : path, optional
        `data/samples` by default, with a folder a case.
    kind : {"auto", "hardware", "software"}
        What the streams count; ``auto`` takes hardware events where any stream
        has them, and software events only where none has.

    Returns
    -------
    DataFrame
        A row a stream: name, kind, path, period, n_samples, n_lost, events (a tuple, the one that
        times the sampling first), command, date.

    Raises
    ------
    NothingRecordedError
        If there is none.
    SampleError
        If a file is not the one that its metadata describe.
    """
    folder = Path(folder or samples_dir())
    frame = pd.DataFrame(
        [_row(path) for path in sorted(folder.glob(f"*/*{SAMPLES}"))],
        columns=["name", "kind", "path", "period", "n_samples", "n_lost", "events", "command", "date"],
    )
    wanted = next((k for k in KINDS if (frame["kind"] == k).any()), None) if kind == "auto" else kind
    streams = frame[frame["kind"] == wanted].reset_index(drop=True)
    if streams.empty:
        what = "" if kind == "auto" else f"{kind} "
        raise NothingRecordedError(
            f"no {what}sample stream is recorded yet: run `cmlib record-samples"
            f"{' --software' if kind == 'software' else ''}`"
        )
    return streams


def find_lines(folder=None, kind="software"):
    """List what was kept as lines while the programs ran.

    Parameters
    ----------
    folder : path, optional
        `data/samples` by default.
    kind : {"hardware", "software"}

    Returns
    -------
    DataFrame
        A row a recording: name, path (without suffix, for :func:`read_lines`), n_samples, n_lines,
        n_lost, duration_s and own_s, the processor time that reading, regression
        and storing took; empty if there is none.
    """
    columns = ["n_samples", "n_lines", "n_lost", "duration_s", "own_s"]
    rows = []
    for path in sorted(Path(folder or samples_dir()).glob(f"*/{kind}-lines-*{LINES}")):
        meta = read_metadata(path)
        rows.append({"name": path.parent.name, "path": path.with_suffix("")} | {c: meta[c] for c in columns})
    return pd.DataFrame(rows, columns=["name", "path", *columns])


def _row(path):
    meta = read_metadata(path) or {}
    return {
        "name": path.parent.name,
        "kind": path.name.partition("-")[0],
        "path": path,
        "events": tuple(meta.get("events", ())),
        **{key: meta.get(key) for key in ("period", "n_samples", "n_lost", "command", "date")},
    }
