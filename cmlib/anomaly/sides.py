"""The two sides of a comparison: each a recording that is there, or a command that is recorded now."""

import contextlib
import functools
import math
import random
import secrets
from dataclasses import dataclass
from pathlib import Path

from cmlib.anomaly.counters import usual_events
from cmlib.anomaly.profiles import read_runs
from cmlib.anomaly.recordings import in_recording, read_recording, save_recording
from cmlib.anomaly.times import read_times
from cmlib.anomaly.versions import find_version, plan_parts, record_run
from cmlib.errors import CmlibError
from cmlib.machine import census, counters_lock, describe, known_events
from cmlib.machine.countable import countable
from cmlib.machine.host import core_pmus

FORMS = ("old", "new")


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes
    ----------
    name : str
        File, or command.
    about : dict
        As the JSON of a recording has it.
    text : str
        What the regions wrote in all runs.
    """

    name: str
    about: dict
    text: str

    @functools.cached_property
    def runs(self):
        """Normalized samples, a frame a run."""
        return list(in_recording(self.name, read_runs, self.text, per=self.about["per"]).values())

    @functools.cached_property
    def times(self):
        """A row a run, as :func:`cmlib.anomaly.times.read_times` has it."""
        return in_recording(self.name, read_times, self.text)


@dataclass(frozen=True)
class Sides:
    """What there is to judge.

    Attributes
    ----------
    old, new : Side
    paired : bool
        Whether run k of both was recorded together.
    n_looks : int
        How often it will have been judged when all is recorded.
    """

    old: Side
    new: Side
    paired: bool
    n_looks: int


def open_sides(
    old, new, *, asked=None, n_runs=40, alpha=0.002, timeout=None, seed=0, tell=print, progress=lambda: None
):
    """Read the recordings and record the commands.

    Two commands are run in pairs, in an order within each pair that is drawn at random.

    Parameters
    ----------
    old, new : str
        The ``.json`` of a recording, or a command in quotes.
    asked : str, optional
        Events with commas between. Default: those of the recording on the other side, else those of
        :func:`cmlib.anomaly.counters.usual_events`.
    n_runs : int, default 40
        Of a command at most.
    alpha : float, default 0.002
        At which a change is to be significant: so many runs are made before the first look.
    timeout : float, optional
        Of one execution [s].
    seed : int
        Of the order within pairs.
    tell : callable
        Called with how long it will take, before it begins.
    progress : callable
        Called after each run.

    Yields
    ------
    Sides
        As soon as there are enough runs for a verdict, and then, unless closed, with twice as many.

    Raises
    ------
    CmlibError
        If a recording can't be read, a command fails or what is asked can't be counted here.
    """
    given = dict(zip(FORMS, (old, new), strict=True))
    sides = {form: _read(name) for form, name in given.items() if name.endswith(".json")}
    if len(sides) == 2:
        if asked:
            raise CmlibError("--events is for commands: recordings have the events they were made with")
        one, other = (side.about.get("session") for side in sides.values())
        yield Sides(**sides, paired=one is not None and one == other, n_looks=1)
        return
    versions = {
        form: find_version(name, timeout=timeout) for form, name in given.items() if form not in sides
    }
    if len({bool(version.functions) for version in versions.values()}) > 1:
        have = next(version.command for version in versions.values() if version.functions)
        raise CmlibError(f"only `{have}` has regions: build both versions with them, or neither")
    events = _wanted(asked, next(iter(sides.values()), None), describe())
    looks = _looks(n_runs, versions, alpha) if not sides else [n_runs]
    yield from _recorded(versions, sides, events, looks, random.Random(seed), tell, progress)


def check_free(folder):
    """Raise CmlibError if recordings in a folder would be replaced by `save_sides`."""
    there = [
        name
        for form in FORMS
        for name in (f"{form}.json", f"{form}.csv.gz")
        if (Path(folder) / name).exists()
    ]
    if there:
        raise CmlibError(
            f"{folder} holds {', '.join(there)} already, and recordings are not replaced: give --keep "
            "another folder, or "
            "move them away"
        )


def save_sides(sides, folder):
    """Keep what was recorded, as ``old.json`` and ``new.json``."""
    for form in FORMS:
        side = getattr(sides, form)
        if not side.name.endswith(".json"):
            save_recording(Path(folder) / f"{form}.json", [side.text], side.about)


def _read(name):
    if not Path(name).is_file():
        raise CmlibError(f"there is no recording {name}")
    about, text = read_recording(name)
    return Side(name, {"per": "instructions"} | about, text)


def _looks(n_runs, versions, alpha):
    """Numbers of pairs at which the verdict is asked for: a quarter, half and all, but none too early."""
    n_tests = 2 * (1 + max(len(version.functions) for version in versions.values()))
    fewest = math.ceil(math.log2(n_tests / alpha))
    if n_runs < fewest:
        raise CmlibError(
            f"{n_runs} runs of each command: at least {fewest} are needed for a change to be significant at {alpha:g}"
        )
    first = math.ceil(math.log2(3 * n_tests / alpha))
    return sorted({min(n_runs, max(first, n_runs // part)) for part in (4, 2, 1)})


def _recorded(versions, sides, events, looks, rng, tell, progress):
    machine, session = describe(), secrets.token_hex(8)
    texts = dict.fromkeys(versions, "")
    with _counters(events) as good_counters:
        per, parts = plan_parts(events, good_counters)
        tell(_expected(versions, parts, looks))
        for done, look in zip([0, *looks], looks, strict=False):
            for run in range(done, look):
                for form in rng.sample(sorted(versions), len(versions)):
                    texts[form] += record_run(versions[form], run, parts, per)
                    progress()
            made = {}
            for form, version in versions.items():
                about = {
                    "program": version.command,
                    "form": form,
                    "regions": bool(version.functions),
                    "events": [{event.name: event.config for event in part} for part in parts],
                    "per": per,
                    "machine": machine,
                    "session": session,
                }
                made[form] = Side(version.command, about, texts[form])
            yield Sides(**made | sides, paired=not sides, n_looks=len(looks))


@contextlib.contextmanager
def _counters(events):
    """How many good counters there are; only if one is needed they are looked at, and kept from others."""
    if not core_pmus() or not any(event.hardware for event in events):
        yield 0
        return
    with counters_lock("comparing two versions"):
        yield census().good


def _expected(versions, parts, looks):
    seconds = len(parts) * sum(version.seconds for version in versions.values())
    least, most = (_duration(n * seconds) for n in (looks[0], looks[-1]))
    if least == most:
        return f"{looks[-1]} runs of each command, about {most}."
    return f"{looks[0]} to {looks[-1]} pairs of runs, until the result is clear: about {least} to {most}."


def _duration(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _wanted(asked, recorded, about):
    if asked:
        return countable(asked, known_events(about))
    if recorded:
        pairs = {event: config for part in recorded.about["events"] for event, config in part.items()}
        # a tracepoint's number is another one on another kernel
        names = (event if ":" in event else f"{event}={config}" for event, config in pairs.items())
        return countable(",".join(names))
    return usual_events(about)
