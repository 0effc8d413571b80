"""Choose between recordings of hardware events and recordings of software events."""

from __future__ import annotations

from pathlib import Path

HARDWARE = "hardware"  # name of the folder with recordings of hardware events


def hardware_first(folder: str | Path) -> Path:
    """Return the folder with recordings of hardware events, if it exists.

    Parameters
    ----------
    folder : path
        Folder of recordings. It can contain a folder "hardware" with recordings of hardware events.

    Returns
    -------
    Path
        The folder "hardware" in `folder`. If it does not exist, `folder` itself.
    """
    hardware = Path(folder) / HARDWARE
    return hardware if hardware.is_dir() else Path(folder)
