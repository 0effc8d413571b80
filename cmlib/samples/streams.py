"""Which sample streams are kept."""

from pathlib import Path

import pandas as pd

from cmlib.errors import NothingRecordedError
from cmlib.samples.files import SAMPLES, read_metadata, samples_dir

KINDS = ("hardware", "software")


def find_streams(folder=None, kind="auto"):
    """List the sample streams that are kept.

    Parameters
    ----------
    folder : path, optional
        `data/samples` by default, with a folder a case.
    kind : {"auto", "hardware", "software"}
        What the streams count; ``auto`` takes hardware events where any stream
        has them, and the kernel's events only where none has.

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
    found = frame[frame["kind"] == wanted].reset_index(drop=True)
    if found.empty:
        what = "" if kind == "auto" else f"{kind} "
        raise NothingRecordedError(
            f"no {what}sample stream is recorded yet: run `python -m cmlib.samples --record"
            f"{' --software' if kind == 'software' else ''}`"
        )
    return found


def _row(path):
    meta = read_metadata(path) or {}
    return {
        "name": path.parent.name,
        "kind": path.name.partition("-")[0],
        "path": path,
        "events": tuple(meta.get("events", ())),
        **{key: meta.get(key) for key in ("period", "n_samples", "n_lost", "command", "date")},
    }
