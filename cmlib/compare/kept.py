"""Read the recordings that `cmlib compare --keep FOLDER/COMMIT` wrote as a history: run times by commit.

:func:`read_kept` takes the folder, and gives a DataFrame of median times [s], a row per commit, a column per function
and measure, and a list of the commits' subjects (""). A CmlibError if nothing can be read.
"""

from pathlib import Path

import pandas as pd

from cmlib.compare.histories import HOW, check_history
from cmlib.compare.versions import FORMS, read_times
from cmlib.errors import CmlibError
from cmlib.io.archive import in_recording, readable
from cmlib.io.regions import read_recording


def read_kept(folder):
    """Read run times by commit: a tuple of a DataFrame of medians [s], and a list with "" for each commit.

    `folder` (path) holds a folder per commit, named by it, each with what ``cmlib compare --keep`` wrote: the new
    version's recording counts, the old one's where there is no other. The frame has a row per commit (index), oldest
    first by the recordings' dates; columns are named ``function, measure``, where measure is elapsed or processor
    time; recordings of several processors get columns of their own, ``processor · function, measure``; NaN where a
    commit has no such time. The list stands for the commits' subjects, which are not known here. CmlibError if
    nothing can be read.
    """
    places = sorted(Path(folder).glob("*/"))
    rows = {place.name: row for place, row in readable(_read_commit, places).items() if row}
    if not rows:
        raise CmlibError(f"{folder}: no folder in it has a {FORMS[1]}.json that can be read. {HOW}")
    commits = sorted(rows, key=lambda commit: rows[commit][0])
    history = pd.DataFrame([rows[commit][1] for commit in commits], index=commits).rename_axis("commit")
    several = len({processor for processor, *_ in history}) > 1
    history.columns = [f"{of} · " * several + f"{function}, {measure}" for of, function, measure in history]
    history = history.dropna(axis="columns", how="all")
    check_history(history, folder)
    return history, [""] * len(history)


def _read_commit(place):
    """Date of a commit's recording, and its median times [s] by (processor, function, measure); None where there is
    none."""
    file = next(filter(Path.is_file, (place / f"{form}.json" for form in FORMS[::-1])), None)
    if file is None:
        return None
    about, text = read_recording(file)
    medians = in_recording(file, read_times, text).median()
    processor = str((about.get("machine") or {}).get("model_name") or "unknown")
    return about.get("date", ""), {(processor, *name): value for name, value in medians.items()}
