"""The two versions that are compared: each a recording that is there, or a command that is recorded now."""

import contextlib
import functools
import math
import random
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from cmlib.collect.compare.counters import usual_events
from cmlib.collect.compare.versions import find_version, plan_parts, read_times, record_run
from cmlib.collect.machine import census, counters_lock, describe, known_events
from cmlib.collect.machine.event_names import countable
from cmlib.collect.machine.host import core_pmus
from cmlib.errors import CmlibError
from cmlib.io.regions import in_recording, read_recording, read_runs, save_recording

FORMS = ("old", "new")
_LONG_S = 3


@dataclass(frozen=True)
class VersionRecording:
    """The runs of one version."""

    name: str
    about: dict
    text: str

    @functools.cached_property
    def runs(self):
        """Normalized samples, a frame a run."""
        return list(in_recording(self.name, read_runs, self.text, per=self.about["per"]).values())

    @functools.cached_property
    def times(self):
        """A row a run, as :func:`cmlib.collect.compare.versions.read_times` has it."""
        return in_recording(self.name, read_times, self.text)


@dataclass(frozen=True)
class VersionPair:
    """What there is to judge."""

    old: VersionRecording
    new: VersionRecording
    paired: bool
    n_looks: int


def open_pair(
    old, new, *, asked=None, n_runs=40, alpha=0.002, timeout=None, seed=0, tell=print, progress=lambda: None
):
    """Read the recordings and record the commands."""
    given = dict(zip(FORMS, (old, new), strict=True))
    recordings = {form: _read(name) for form, name in given.items() if name.endswith(".json")}
    if len(recordings) == 2:
        if asked:
            raise CmlibError("--events is for commands: recordings have the events they were made with")
        one, other = (recording.about.get("session") for recording in recordings.values())
        yield VersionPair(**recordings, paired=one is not None and one == other, n_looks=1)
        return
    versions = {
        form: find_version(name, timeout=timeout) for form, name in given.items() if form not in recordings
    }
    if len({bool(version.functions) for version in versions.values()}) > 1:
        have = next(version.command for version in versions.values() if version.functions)
        raise CmlibError(f"only `{have}` has regions: build both versions with them, or neither")
    events = _wanted(asked, next(iter(recordings.values()), None), describe())
    looks = _looks(n_runs, versions, alpha) if not recordings else [n_runs]
    yield from _recorded(versions, recordings, events, looks, random.Random(seed), tell, progress)


def check_free(folder):
    """Raise CmlibError if recordings in a folder would be replaced by `save_pair`."""
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


def save_pair(pair, folder):
    """Keep what was recorded, as ``old.json`` and ``new.json``."""
    for form in FORMS:
        recording = getattr(pair, form)
        if not recording.name.endswith(".json"):
            save_recording(Path(folder) / f"{form}.json", [recording.text], recording.about)


def _read(name):
    if not Path(name).is_file():
        raise CmlibError(f"there is no recording {name}")
    about, text = read_recording(name)
    return VersionRecording(name, {"per": "instructions"} | about, text)


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


def _recorded(versions, recordings, events, looks, rng, tell, progress):
    machine, session = describe(), secrets.token_hex(8)
    texts = dict.fromkeys(versions, "")
    with _counters(events) as good_counters:
        per, parts = plan_parts(events, good_counters)
        seconds = len(parts) * sum(version.seconds for version in versions.values())
        # What starts programs and counts them takes some tenths of a second more.
        pairs_tried = 0 if seconds > _LONG_S else 2
        if not pairs_tried:
            tell(_expected(seconds, looks))
        began = time.monotonic()
        for done, look in zip([0, *looks], looks, strict=False):
            for run in range(done, look):
                for form in rng.sample(sorted(versions), len(versions)):
                    texts[form] += record_run(versions[form], run, parts, per)
                    progress()
                if run + 1 == pairs_tried:
                    tell(_expected((time.monotonic() - began) / pairs_tried, looks))
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
                made[form] = VersionRecording(version.command, about, texts[form])
            yield VersionPair(**made | recordings, paired=not recordings, n_looks=len(looks))


@contextlib.contextmanager
def _counters(events):
    """How many good counters there are; only if one is needed they are looked at, and kept from others."""
    if not core_pmus() or not any(event.hardware for event in events):
        yield 0
        return
    with counters_lock("comparing two versions"):
        yield census().good


def _expected(seconds, looks):
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
