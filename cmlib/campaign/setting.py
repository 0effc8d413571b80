"""Where a campaign records, and with how many counters."""

from pathlib import Path

from cmlib import machine
from cmlib.campaign.part import Setting
from cmlib.errors import CmlibError

_USUAL = {"offered": 6, "good": 5}


def listed_setting(data):
    """A setting to list recordings in: with the counters of this machine, or with five where none can be read.

    Parameters
    ----------
    data : path-like

    Returns
    -------
    Setting
    """
    found = _counters()
    return Setting(Path(data), found if found["good"] else _USUAL)


def recording_setting(data):
    """A setting to record in.

    Parameters
    ----------
    data : path-like

    Returns
    -------
    Setting

    Raises
    ------
    CmlibError
        If no hardware event can be counted here.
    CountersBusy
        If another recording is being made.
    """
    found = _counters()
    if not found["good"]:
        raise CmlibError(
            f"no hardware event can be counted here: {found['complaint']}. `cmlib doctor` tells why; "
            "`cmlib record-all --list` lists what a machine with counters would record."
        )
    return Setting(Path(data), {"offered": found["offered"], "good": found["good"]})


def _counters():
    with machine.counters_lock("cmlib record-all"):
        found = machine.census()
    return {"offered": found.offered, "good": found.good, "complaint": found.complaint}
