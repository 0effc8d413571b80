"""Where the package's files are: in a checkout, or shipped inside an installed wheel."""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent
_IN_CHECKOUT = (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "notebooks").is_dir()


def data_dir():
    """Folder that holds `recordings/` and `results/`.

    ``$CMLIB_DATA`` if set, else `data/` of the checkout, else `./data` of the current folder.
    """
    if chosen := os.environ.get("CMLIB_DATA"):
        return Path(chosen)
    return (_CHECKOUT if _IN_CHECKOUT else Path.cwd()) / "data"


def recordings_dir():
    """Folder of the raw recordings, one sub-folder a program."""
    return data_dir() / "recordings"


def results_dir():
    """Folder of everything made from the recordings: store, figures, tables, report."""
    return data_dir() / "results"


def events_dir():
    """Folder of the event tables, one CSV a microarchitecture."""
    return _shipped("data/events", "events")


def papers_dir():
    """Folder of what the papers print, one YAML a paper."""
    return _shipped("data/papers", "papers")


def notebooks_dir():
    """Folder of the notebooks."""
    return _shipped("notebooks", "notebooks")


def params_dir():
    """Folder of the parameter files, one sub-folder a profile."""
    return _shipped("params", "params")


def _shipped(in_checkout, in_wheel):
    return _CHECKOUT / in_checkout if _IN_CHECKOUT else _PACKAGE / "_shipped" / in_wheel
