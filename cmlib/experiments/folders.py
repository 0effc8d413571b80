"""Find the folder of the campaign's recordings, which keeps hardware events and software events separate."""

from pathlib import Path

HARDWARE = "hardware"  # sub-folder of recordings of hardware events


def hardware_first(folder):
    """Prefer recordings of hardware events: the sub-folder "hardware" of a folder (path), or the folder itself.

    Returns a Path; the folder itself if there is no such sub-folder.
    """
    hardware = Path(folder) / HARDWARE
    return hardware if hardware.is_dir() else Path(folder)
