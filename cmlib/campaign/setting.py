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
    counters = _counters()
    return Setting(Path(data), counters if counters["good"] else _USUAL)


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
    counters = _counters()
    if not counters["good"]:
        raise CmlibError(
            f"no hardware event can be counted here: {counters['complaint']}. `cmlib doctor` tells why; "
            "`cmlib record-all --list` lists what a machine with counters would record."
        )
    return Setting(Path(data), {"offered": counters["offered"], "good": counters["good"]})


def _counters():
    with machine.counters_lock("cmlib record-all"):
        census = machine.census()
    return {"offered": census.offered, "good": census.good, "complaint": census.complaint}
