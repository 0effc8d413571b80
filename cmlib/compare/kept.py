"""Read the recordings that `cmlib compare --keep FOLDER/COMMIT` wrote as a history: run times by commit.

:func:`read_kept` takes the folder, and returns a DataFrame of median times [s] with one row per commit and one column
per function and measure, and a list of empty subjects. CmlibError if nothing can be read.
"""

from pathlib import Path

import pandas as pd

from cmlib.compare.histories import FORMATS_HINT, check_history
from cmlib.compare.versions import SIDES, read_times
from cmlib.errors import CmlibError
from cmlib.io.archive import in_recording, readable
from cmlib.io.regions import read_recording


def read_kept(folder):
    """Read run times by commit.

    Parameters
    ----------
    folder : path
        Contains a folder for each commit, with its name, which ``cmlib compare --keep`` wrote. The recording of the new
        version is read, or that of the old version if there is no other.

    Returns
    -------
    history : DataFrame
        Median times [s], one row per commit (index), oldest first by the recordings' dates. Columns are named
        ``function, measure``; the measure is elapsed or processor time. If there are several processors, they are named
        ``processor · function, measure``. NaN where a commit has no such time.
    subjects : list of str
        "" for each commit, because subjects are not known.

    Raises
    ------
    CmlibError
        If nothing can be read.
    """
    folders = sorted(Path(folder).glob("*/"))
    recorded = readable(_read_commit, folders)
    dates_and_times = {path.name: commit for path, commit in recorded.items() if commit}
    if not dates_and_times:
        raise CmlibError(f"{folder}: no folder in it has a {SIDES[1]}.json that can be read. {FORMATS_HINT}")
    commits = sorted(dates_and_times, key=lambda commit: dates_and_times[commit][0])
    rows = [dates_and_times[commit][1] for commit in commits]
    history = pd.DataFrame(rows, index=commits).rename_axis("commit")
    if len({processor for processor, _, _ in history}) > 1:
        names = [f"{processor} · {function}, {measure}" for processor, function, measure in history]
    else:
        names = [f"{function}, {measure}" for _, function, measure in history]
    history = history.set_axis(names, axis="columns").dropna(axis="columns", how="all")
    check_history(history, folder)
    return history, [""] * len(history)


def _read_commit(folder):
    """Read the date of a commit's recording, and its median times [s] by (processor, function, measure).

    Return None if its folder (Path) has no recording.
    """
    files = [folder / f"{side}.json" for side in reversed(SIDES)]
    file = next(filter(Path.is_file, files), None)
    if file is None:
        return None
    about, text = read_recording(file)
    medians = in_recording(file, read_times, text).median()
    processor = str((about.get("machine") or {}).get("model_name") or "unknown")
    return about.get("date", ""), {(processor, *name): value for name, value in medians.items()}
