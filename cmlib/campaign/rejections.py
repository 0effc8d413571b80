"""What was thrown away while recordings were made."""

import json
from pathlib import Path

from cmlib.errors import CmlibError


def rejections(data):
    """List the runs of a data folder that were repeated, and why.

    Parameters
    ----------
    data : path-like
        Folder of `recordings` and `regions`.

    Returns
    -------
    dict of str to str
        By recording, such as ``gcc/ocoe-p0-01``: the reasons, in the order in which the attempts were made.

    Raises
    ------
    CmlibError
        If a metadata file is not JSON.
    """
    reasons_by_name = {}
    for file in sorted(Path(data).glob("re*/**/*.json")):
        about = _read(file)
        name = f"{file.parent.name}/{file.stem}"
        if reasons := about.get("rejected"):
            reasons_by_name[name] = "; ".join(reasons)
        elif repeated := about.get("rejected_executions"):
            reasons_by_name[name] = f"{repeated} executions were disturbed, or not counted all the time"
    return reasons_by_name


def _read(file):
    try:
        about = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CmlibError(f"{file} is not JSON ({error}): restore it, or move it away.") from error
    return about if isinstance(about, dict) else {}
