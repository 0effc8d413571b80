"""Find the number of hardware counters of this machine, and how many of them count correctly.

:func:`census` counts several copies of the same event at once. Correct counters agree. :func:`supported` finds which
events of a list can be counted at all.
"""

import math
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.io import perf
from cmlib.io.events import base_name
from cmlib.scratch import scratch_folder

_MOST = 16  # largest number of copies of an event that are counted together
_REPEATS = 2
_TOLERANCE = 0.01  # copies agree if they differ by less than this share of the largest count
# An event that any counter can count. The second is used if the first cannot be counted (many ARM cores).
_EVENTS = ("branches:u", "instructions:u")
# On Intel cores with eight counters, only the first four can count events of caches and memory.
_NARROW, _ALL_TAKE = "L1-dcache-loads:u", 4
_SPIN = [sys.executable, "-I", "-S", "-c", "for _ in range(500_000): pass"]


@dataclass(frozen=True)
class Census:
    """Number of counters of this machine.

    Attributes
    ----------
    offered : int
        Largest number of copies of an event that the kernel counts at once.
    good : int
        Largest number of copies with equal counts. All smaller groups have equal counts too.
    copies : tuple of tuple of float
        Counts of the copies in each group.
    complaint : str
        Why no event could be counted, or "".
    without : str
        Event that was requested first but cannot be counted, or "".
    """

    offered: int
    good: int
    copies: tuple[tuple[float, ...], ...] = field(default=(), repr=False)
    complaint: str = ""
    without: str = ""

    @property
    def counters(self):
        """Numbers of offered and good counters (dict), for the metadata of recordings."""
        return {"offered": self.offered, "good": self.good}

    def checked(self, advice="`cmlib doctor` explains why."):
        """Return the Census, or raise a CmlibError with `advice` if no hardware event can be counted."""
        if not self.offered:
            raise CmlibError(f"no hardware event can be counted here: {self.complaint}. {advice}")
        return self


def census(*, events=_EVENTS):
    """Find the number of counters of this machine.

    One event is counted in groups of 1, 2, … copies, each group twice.

    Parameters
    ----------
    events : sequence of str
        Perf's names of events. The first event that this machine counts is used.

    Returns
    -------
    Census
        If nothing can be counted, `offered` is 0 and `complaint` has the reason.
    """
    if shutil.which("perf") is None:
        return Census(0, 0, complaint="perf is not installed")
    censuses = {}
    for event in events:
        full = censuses[event] = _count_event(event)
        if full.offered:
            without = events[0].partition(":")[0] if event != events[0] else ""
            # A group may consist of events that only the first four counters can count.
            narrow = _count_event(_NARROW) if full.offered > _ALL_TAKE else full
            return replace(narrow if 0 < narrow.offered < full.offered else full, without=without)
    return censuses[events[0]]


def supported(encodings):
    """List the events that this machine can count.

    Parameters
    ----------
    encodings : dict of str to str
        Perf's encodings, keyed by name of the event.

    Returns
    -------
    list of str
        Names in input order. All names if perf is missing or writes nothing.
    """
    if shutil.which("perf") is None:
        return list(encodings)
    selected = [argument for encoding in encodings.values() for argument in ("-e", encoding)]
    text, _ = _perf_stat(selected, ["true"])
    try:
        frame = perf.parse_stat(text)
    except perf.FormatError:
        return list(encodings)
    refused = set(map(base_name, frame.loc[~frame["supported"], "event"]))
    return [event for event, encoding in encodings.items() if base_name(encoding) not in refused]


def _count_event(event):
    """Return the Census by copies of one event."""
    groups, complaint = [], ""
    for n_copies in range(1, _MOST + 1):
        for _ in range(_REPEATS):
            readings, error = _count_copies(event, n_copies)
            groups.append(readings)
            complaint = complaint or (error if n_copies == 1 else "")
        if not any(map(_have_run, groups[-_REPEATS:])):
            break
    judged = check_census(groups)
    return judged if judged.offered else Census(0, 0, complaint=complaint or f"{event} was not counted")


def check_census(groups):
    """Compute the Census from the counts of groups of copies.

    Parameters
    ----------
    groups : list of list of (float, float)
        Count and running share of each copy. The running share (0-1) is the fraction of time in which it was counted.
        A group that perf refused is empty.

    Returns
    -------
    Census
    """
    sizes = range(1, 1 + max(map(len, groups), default=0))
    offered = max((len(group) for group in groups if _have_run(group)), default=0)
    agreeing = {len(group) for group in groups if _do_agree(group)}
    good = next((size - 1 for size in sizes if size not in agreeing), len(sizes))
    copies = tuple(tuple(count for count, _ in group) for group in groups)
    return Census(offered, good, copies)


def _have_run(group):
    """Return True if each copy of a group was counted for some time."""
    return len(group) > 0 and all(share > 0 and not math.isnan(count) for count, share in group)


def _do_agree(group):
    """Return True if each copy was counted all the time, and all counts are within 1 % of the largest."""
    counts = [count for count, _ in group]
    ran_throughout = _have_run(group) and min(share for _, share in group) > 1 - _TOLERANCE
    return ran_throughout and max(counts) > 0 and min(counts) >= (1 - _TOLERANCE) * max(counts)


def _count_copies(event, n_copies):
    """Count copies of an event at once.

    Returns the count and the running share of each copy, and the first lines of perf's standard error. The list is
    empty if perf refuses.
    """
    text, error = _perf_stat(["-e", "{" + ",".join([event] * n_copies) + "}"], _SPIN)
    if not text.strip():
        return [], error
    frame = perf.parse_stat(text)
    return list(zip(frame["value"], frame["running"], strict=True)), error


def _perf_stat(selected, command):
    """Count a command with perf; return the counts as CSV text, and the first two lines of standard error.

    `selected` are perf's options that name the events. The text is empty if perf refuses.
    """
    with scratch_folder() as folder:
        output = Path(folder) / "counts.csv"
        once = ["perf", "stat", "-x", ",", "-I", "60000", "-o", str(output), *selected, "--", *command]
        done = subprocess.run(once, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        text = output.read_text(encoding="utf-8") if done.returncode == 0 else ""
    return text, " ".join(line.strip() for line in done.stderr.strip().splitlines()[:2])
