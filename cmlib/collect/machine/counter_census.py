"""Find how many hardware counters this machine offers, and how many of them count correctly.

The same event is counted several times at once: correct counters agree. :func:`census` does so and returns a
:class:`Census`. Without counters, its `complaint` has the reason, and only :meth:`Census.checked` raises a
CmlibError. :func:`supported` lists the events that can be counted at all.
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

_MOST = 16  # copies of an event that are counted together, at most
_REPEATS = 2
_TOLERANCE = 0.01  # of the largest count: copies that are nearer than this agree
# The event that is counted, one that any counter takes; the second where the first is not counted (many ARM cores).
_EVENTS = ("branches:u", "instructions:u")
# Events of caches and memory, loads among them, take only the first four of an Intel core's eight counters.
_NARROW, _ALL_TAKE = "L1-dcache-loads:u", 4
_SPIN = [sys.executable, "-I", "-S", "-c", "for _ in range(500_000): pass"]


@dataclass(frozen=True)
class Census:
    """Result of :func:`census`: how many counters this machine offers, and how many count correctly.

    Attributes
    ----------
    offered : int
        Most copies of an event that the kernel put on counters together.
    good : int
        Most copies whose counts agree, in at least one of two repeats, as do those of all smaller groups.
    copies : tuple of tuple of float
        Counts of each group's copies.
    complaint : str
        Why nothing could be counted; empty if something was.
    without : str
        The event that was asked for first and can't be counted here, if another was counted in its place; else empty.
    """

    offered: int
    good: int
    copies: tuple[tuple[float, ...], ...] = field(default=(), repr=False)
    complaint: str = ""
    without: str = ""

    @property
    def counters(self):
        """The counters as the metadata of recordings note them: a dict of `offered` and `good`."""
        return {"offered": self.offered, "good": self.good}

    def checked(self, advice="`cmlib doctor` explains why."):
        """Return the Census if a hardware event was counted; else raise a CmlibError whose text ends with `advice`."""
        if not self.offered:
            raise CmlibError(f"no hardware event can be counted here: {self.complaint}. {advice}")
        return self


def census(*, events=_EVENTS):
    """Count the counters: one event is counted in groups of 1, 2, … copies while a loop spins; a Census.

    The first of `events` (perf's names) that this machine counts is taken. Each group is counted twice. Without
    perf, or if nothing can be counted, `offered` is 0 and `complaint` says why; nothing is raised.
    """
    if shutil.which("perf") is None:
        return Census(0, 0, complaint="perf is not installed")
    censuses = {}
    for event in events:
        full = censuses[event] = _count_event(event)
        if full.offered:
            without = events[0].partition(":")[0] if event != events[0] else ""
            # Events of a group may all be such as only the first four counters take: no more are promised.
            narrow = _count_event(_NARROW) if full.offered > _ALL_TAKE else full
            return replace(narrow if 0 < narrow.offered < full.offered else full, without=without)
    return censuses[events[0]]


def supported(encodings):
    """List the events that this machine can count, in order; all of them if perf is missing or says nothing.

    `encodings` maps names to perf's encodings.
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
    """Take a Census by copies of one event."""
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
    """Take a Census (its offered, good and copies) from readings of groups of copies of one event.

    `groups` has a list for each group: pairs of (count, running share 0 to 1), one per copy, or an empty list where
    perf refused the group. All groups were counted together while the same work ran.
    """
    sizes = range(1, 1 + max(map(len, groups), default=0))
    offered = max((len(group) for group in groups if _have_run(group)), default=0)
    agreeing = {len(group) for group in groups if _do_agree(group)}
    good = next((size - 1 for size in sizes if size not in agreeing), len(sizes))
    copies = tuple(tuple(count for count, _ in group) for group in groups)
    return Census(offered, good, copies)


def _have_run(group):
    """Return for each copy of a group whether it was counted for some time (list of bool)."""
    return len(group) > 0 and all(share > 0 and not math.isnan(count) for count, share in group)


def _do_agree(group):
    """Return True if each copy was counted all the time, and all counts are within 1 % of the largest."""
    counts = [count for count, _ in group]
    ran_throughout = _have_run(group) and min(share for _, share in group) > 1 - _TOLERANCE
    return ran_throughout and max(counts) > 0 and min(counts) >= (1 - _TOLERANCE) * max(counts)


def _count_copies(event, n_copies):
    """Count copies of an event: a list of (count, running share), one per copy, and perf's first lines of stderr.

    The list is empty if perf refuses.
    """
    text, error = _perf_stat(["-e", "{" + ",".join([event] * n_copies) + "}"], _SPIN)
    if not text.strip():
        return [], error
    frame = perf.parse_stat(text)
    return list(zip(frame["value"], frame["running"], strict=True)), error


def _perf_stat(selected, command):
    """Count a command with perf; return the counts as CSV text, and the first two lines of stderr.

    The text is empty if perf refuses. `selected` are perf's options that name the events.
    """
    with scratch_folder() as folder:
        output = Path(folder) / "counts.csv"
        once = ["perf", "stat", "-x", ",", "-I", "60000", "-o", str(output), *selected, "--", *command]
        done = subprocess.run(once, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        text = output.read_text(encoding="utf-8") if done.returncode == 0 else ""
    return text, " ".join(line.strip() for line in done.stderr.strip().splitlines()[:2])
