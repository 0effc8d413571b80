"""Find the folder of the campaign's recordings, which keeps hardware events and software events separate."""

from pathlib import Path

HARDWARE = "hardware"  # sub-folder of recordings of hardware events


def hardware_first(folder):
    """Choose the recordings of hardware events in a folder, if there are any.

    Parameters
    ----------
    folder : path
        Folder of recordings.

    Returns
    -------
    Path
        Its sub-folder "hardware", or the folder itself if it has none.
    """
    hardware = Path(folder) / HARDWARE
    return hardware if hardware.is_dir() else Path(folder)
