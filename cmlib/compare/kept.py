"""Read run times by commit from folders that ``cmlib compare --keep`` wrote.

:func:`read_kept` takes a folder with one folder per commit. It returns a DataFrame of median times [s] with
one row per commit, as :func:`cmlib.compare.histories.read_history` does for a CSV file.
"""

from pathlib import Path

import pandas as pd

from cmlib.compare.histories import FORMATS_HINT, check_history
from cmlib.compare.versions import SIDES, read_times
from cmlib.errors import CmlibError
from cmlib.io.archive import in_recording, readable
from cmlib.io.regions import read_recording


def read_kept(folder: str | Path) -> tuple[pd.DataFrame, list[str]]:
    """Read run times by commit.

    The recording of the new version is read. The recording of the old version is read if it is the only one.

    Parameters
    ----------
    folder : path
        Folder with one folder per commit, which ``cmlib compare --keep`` wrote.

    Returns
    -------
    history : DataFrame
        Median times [s], one row per commit, oldest first. Columns are named ``function, measure``. If there
        are several processors, columns are named ``processor · function, measure``. NaN if a time is missing.
    subjects : list of str
        Empty strings, because recordings contain no subject lines.

    Raises
    ------
    CmlibError
        If no recording can be read.
    """
    folders = sorted(Path(folder).glob("*/"))
    recorded = readable(_read_commit, folders)
    dates_and_times = {path.name: commit for path, commit in recorded.items() if commit}
    if not dates_and_times:
        raise CmlibError(f"{folder} contains no folder with a readable {SIDES[1]}.json. {FORMATS_HINT}")
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


def _read_commit(folder: Path) -> tuple[str, dict] | None:
    """Read the date of a recording, and its median times [s].

    Times are keyed by processor, function and measure. Return None if the folder contains no recording.
    """
    files = [folder / f"{side}.json" for side in reversed(SIDES)]
    file = next(filter(Path.is_file, files), None)
    if file is None:
        return None
    about, text = read_recording(file)
    medians = in_recording(file, read_times, text).median()
    processor = str((about.get("machine") or {}).get("model_name") or "unknown")
    return about.get("date", ""), {(processor, *name): value for name, value in medians.items()}
