"""Record part after part, within a budget of time."""

import time
from contextlib import closing
from dataclasses import dataclass, field

from cmlib.campaign.quiet import BusyMachine, check_quiet
from cmlib.errors import CmlibError


@dataclass
class Outcome:
    """What a campaign has made.

    Attributes
    ----------
    made : list of (str, str)
        Part and recording.
    failed : dict of str to str
        Why a recording, or a whole part, could not be made.
    left : list of str
        Parts that the budget did not reach, or not to their end.
    """

    made: list = field(default_factory=list)
    failed: dict = field(default_factory=dict)
    left: list = field(default_factory=list)


def run_parts(parts, setting, *, budget=None, busy=0.05, progress=lambda text: None):
    """Record what is missing, part after part.

    A recording that fails is told, and the next one is made. When the budget is
    spent, the recording in hand is finished and none is begun. Repeated, the
    call goes on where it stopped.

    Parameters
    ----------
    parts : sequence of Part
    setting : Setting
    budget : float, optional
        Minutes; without, all is recorded.
    busy : float, default 0.05
        Share of the processors' time that others may take when a part begins (0–1).
    progress : callable of str
        Told of every recording made, and of every part that begins.

    Returns
    -------
    Outcome
    """
    outcome, ends = Outcome(), None if budget is None else time.monotonic() + 60 * budget
    for part in parts:
        if _spent(ends):
            outcome.left.append(part.name)
            continue
        progress(f"{part.name}: {part.about}")
        try:
            check_quiet(busy)
            with closing(part.record(setting)) as recordings:
                _take(recordings, part, outcome, ends, progress)
        except (BusyMachine, CmlibError, ValueError) as error:
            outcome.failed[part.name] = str(error)
            progress(f"{part.name}: {error}")
    return outcome


def _take(recordings, part, outcome, ends, progress):
    for name, error in recordings:
        if error is None:
            outcome.made.append((part.name, name))
            progress(f"{part.name}: {name}")
        else:
            outcome.failed[f"{part.name}, {name}"] = str(error)
            progress(f"{part.name}: {name} failed: {error}")
        if _spent(ends):
            outcome.left.append(part.name)
            return


def _spent(ends):
    return ends is not None and time.monotonic() >= ends
