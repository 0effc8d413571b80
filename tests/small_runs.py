"""Small recorded runs, as they lie in a folder of recordings."""

import gzip
import hashlib
import json

import numpy as np

from cmlib.collect import sampling
from cmlib.compress import OnlineRegression
from cmlib.io import perf
from cmlib.io.samples import files


def add_run(folder, program, set_name, pass_number, part, events, /, *, mode="ocoe", text=None, **changes):
    """Write one run, of three intervals with these (event, count or None); returns the file of its metadata."""
    run = f"{set_name}-p{pass_number}-{part:02d}"
    lines = (
        f"{time},{'<not counted>' if value is None else value},,{event},9,50.00,,"
        for time in ("0.100000000", "0.200000000", "0.230000000")
        for event, value in events
    )
    compressed = gzip.compress(("\n".join(lines) + "\n" if text is None else text).encode())
    meta = {
        "schema": 1,
        "program": program,
        "set": set_name,
        "pass": pass_number,
        "part": part,
        "mode": mode,
        "run": run,
        "command": f"./{program}",
        "pinned": [],
        "groups": [[event for event, _ in events]],
        "encodings": {},
        "modifier": "u",
        "counters": {"offered": 6, "good": 5},
        "machine": {},
        "interval_ms": 100,
        "date": "2026-11-21T03:00:46",
        "duration_s": 0.23,
        "exit_code": 0,
        "sha256": hashlib.sha256(compressed).hexdigest(),
    }
    (folder / program).mkdir(parents=True, exist_ok=True)
    (folder / program / f"{run}.csv.gz").write_bytes(compressed)
    (folder / program / f"{run}.json").write_text(json.dumps(meta | changes), encoding="utf-8")
    return folder / program / f"{run}.json"


def series_in(file):
    """Counts and shares of the run whose metadata are in `file`."""
    raw = gzip.decompress(file.with_suffix(".csv.gz").read_bytes())
    return perf.series(perf.parse_stat(raw.decode()))


def store_lines(source, out, events=None, drift=None):
    """The lines of a file of samples, stored as those of a program are while it runs; their metadata."""
    known = files.read_metadata(source) or {}
    events = list(events or known["events"])
    counts = np.diff(sampling.read_samples(source, events), axis=0, prepend=0)
    with files.open_draft(out, files.LINES) as (file, metadata, _):
        regression = OnlineRegression(events[1:], drift=drift)
        n_samples = sampling._store_lines(regression, file, metadata, np.array_split(counts, 3))
        metadata |= known | {
            "kind": "lines",
            "events": events,
            "method": {"drift": drift},
            "n_samples": n_samples,
        }
        metadata |= dict.fromkeys(("n_lost", "n_backwards", "n_unreadable"), 0)
    return metadata
