"""Public recordings as programs among the recordings, so that every notebook can take them."""

import tempfile
from pathlib import Path

from cmlib import places
from cmlib.io.imports import import_files
from cmlib.io.public.registry import PublicError, files, read

ALL = "all"


def programs(name):
    """The programs of a set."""
    return list(dict.fromkeys(_called(row) for row in files(name).itertuples() if row.program))


def import_programs(name, wanted, *, folder=None):
    """Import programs of a set."""
    known = programs(name)
    unknown = [program for program in wanted if program not in (*known, ALL)]
    if unknown:
        raise PublicError(f"{name} has no program {unknown[0]!r}; it has {', '.join(known)}.")
    recordings = Path(folder or places.recordings_dir())
    rows = [row for row in files(name).itertuples() if row.program]
    chosen = [row for row in rows if ALL in wanted or _called(row) in wanted]
    there = {_called(row) for row in chosen if _is_imported(recordings, row)}
    added = [_import(row, recordings) for row in chosen if _called(row) not in there]
    return list(dict.fromkeys(program for programs in added for program in programs))


def _called(row):
    return "-".join(filter(None, [row.program, row.condition]))


def _is_imported(recordings, row):
    pattern = f"{row.program}-*-{row.condition}" if row.marks else _called(row)
    return any(recordings.glob(f"{pattern}/*.json"))


def _import(row, recordings):
    with tempfile.TemporaryDirectory() as folder:
        made = import_files(
            row.program,
            [_written(row.file, folder)],
            marks=_written(row.marks, folder) if row.marks else None,
            condition=row.condition,
            interval_ms=int(row.interval_ms) if row.interval_ms else None,
            note=f"{row.repository}, {row.path}",
            folder=recordings,
        )
    return [file.parent.name for file in made]


def _written(name, folder):
    content = read(name)
    if content is None:
        raise PublicError(f"{name} is not there: `cmlib fetch {name.split('/')[1]}`.")
    file = Path(folder) / Path(name).name
    file.write_bytes(content)
    return file
