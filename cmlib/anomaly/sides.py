"""The two sides of a comparison: each a recording that is there, or a command that is recorded now."""

from dataclasses import dataclass
from pathlib import Path

from cmlib.anomaly.compare import FEWEST_GOOD
from cmlib.anomaly.countable import countable
from cmlib.anomaly.counters import usual_events
from cmlib.anomaly.profiles import read_runs
from cmlib.anomaly.recordings import load_recording, save_recording
from cmlib.anomaly.versions import find_version, plan_parts, record_in_turns
from cmlib.errors import CmlibError
from cmlib.machine import census, counters_lock, describe, known_events
from cmlib.machine.host import core_pmus


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes
    ----------
    name : str
        File, or command.
    about : dict
        As the JSON of a recording has it.
    runs : list of DataFrame
        Normalized samples.
    """

    name: str
    about: dict
    runs: list


def open_sides(old, new, *, asked=None, n_runs=20, keep=None, progress=lambda: None):
    """Read the recordings and record the commands.

    Parameters
    ----------
    old, new : str
        The ``.json`` of a recording, or a command in quotes.
    asked : str, optional
        Events with commas between. Default: those of the recording on the other side, else those of
        :func:`cmlib.anomaly.counters.usual_events`.
    n_runs : int, default 20
        Runs of a command.
    keep : path-like, optional
        Folder in which recordings of commands are kept, as ``old.json`` and ``new.json``.
    progress : callable
        Called after each run.

    Returns
    -------
    (Side, Side)

    Raises
    ------
    CmlibError
        If a recording can't be read, a command fails or what is asked can't be counted here.
    """
    given = {"old": old, "new": new}
    sides = {form: _read(name) for form, name in given.items() if name.endswith(".json")}
    commands = {form: name for form, name in given.items() if form not in sides}
    if asked and not commands:
        raise CmlibError("--events is for commands: recordings have the events they were made with")
    if "old" in commands and n_runs < FEWEST_GOOD:
        raise CmlibError(
            f"{n_runs} runs of each command: at least {FEWEST_GOOD} good ones are needed to tell what differs between "
            "good runs"
        )
    if commands:
        recorded = next(iter(sides.values()), None)
        sides |= _recorded(commands, asked, recorded, n_runs, keep, progress)
    return sides["old"], sides["new"]


def _read(name):
    if not Path(name).is_file():
        raise CmlibError(f"there is no recording {name}")
    about, runs = load_recording(name)
    return Side(name, about, list(runs.values()))


def _recorded(commands, asked, recorded, n_runs, keep, progress):
    versions = [find_version(command) for command in commands.values()]
    if len({version.instrumented for version in versions}) > 1:
        have = next(version.command for version in versions if version.instrumented)
        raise CmlibError(f"only `{have}` has regions: build both versions with them, or neither")
    machine = describe()
    wanted = _wanted(asked, recorded, machine)
    if not core_pmus() or not any(event.hardware for event in wanted):
        per, parts = plan_parts(wanted, 0)
        pieces = record_in_turns(versions, parts, per, n_runs=n_runs, progress=progress)
    else:
        with counters_lock("comparing two versions"):
            per, parts = plan_parts(wanted, census().good)
            pieces = record_in_turns(versions, parts, per, n_runs=n_runs, progress=progress)
    sides = {}
    for form, version, texts in zip(commands, versions, pieces, strict=True):
        about = {
            "program": version.command,
            "form": form,
            "regions": version.instrumented,
            "events": [{event.name: event.config for event in part} for part in parts],
            "per": per,
            "machine": machine,
        }
        if keep:
            save_recording(Path(keep) / f"{form}.json", texts, about)
        sides[form] = Side(version.command, about, list(read_runs("".join(texts), per=per).values()))
    return sides


def _wanted(asked, recorded, about):
    if asked:
        return countable(asked, known_events(about))
    if recorded:
        pairs = {event: config for part in recorded.about["events"] for event, config in part.items()}
        # a tracepoint's number is another one on another kernel
        told = (event if ":" in event else f"{event}={config}" for event, config in pairs.items())
        return countable(",".join(told))
    return usual_events(about)
