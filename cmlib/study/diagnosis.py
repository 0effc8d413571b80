"""What a program's slices say: profiles, in the notebook, on the command line and on a page."""

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.fingerprint.diagnosis import advice, label_slices, phases, shares
from cmlib.fingerprint.observe import observe
from cmlib.fingerprint.page import render
from cmlib.plot.fingerprint import phase_timeline
from cmlib.study.fingerprint import SLICE_S
from cmlib.workloads.micro import selection as recorded


@dataclass(frozen=True)
class Profile:
    """What a program does, slice by slice.

    Attributes
    ----------
    labelled : DataFrame
        Index ``time_s``, the end of each slice [s], or ``interval``, its last one; columns ``label`` and ``rule``.
    pace : Series
        Same index: ``IPC``, or of a simulated run ``misses and mispredictions per 1,000 instructions``.
    phases : DataFrame
        From :func:`cmlib.fingerprint.diagnosis.phases`.
    shares : Series
        By label [percent].
    """

    labelled: pd.DataFrame
    pace: pd.Series
    phases: pd.DataFrame
    shares: pd.Series


def profile(model, series, *, slice_s=SLICE_S):
    """Label the slices of one run.

    Parameters
    ----------
    model : UnknownRejector
        From :func:`cmlib.study.fingerprint.train`.
    series : cmlib.workloads.micro.selection.Series
    slice_s : float, default 0.4
        Length of a slice [s; of a simulated run intervals].

    Returns
    -------
    Profile

    Raises
    ------
    ValueError
        If the run is shorter than two slices, or lacks an event that the tree was trained on.
    """
    rates = series.rates(slice_s)
    lacking = [event for event in model.feature_names_in_ if event not in rates]
    if lacking or not len(rates):
        raise ValueError(
            f"the run has no slice with {len(lacking) or 'all'} of the {len(model.feature_names_in_)} key events"
            f"{', the first is ' + lacking[0] if lacking else ''}: run the program longer, or take longer slices."
        )
    labelled = label_slices(model, rates[model.feature_names_in_])
    return Profile(labelled, series.pace(rates), phases(labelled), shares(labelled["label"]))


def profiles(model, series, *, slice_s=SLICE_S):
    """Profile of the first pass of each program.

    Returns
    -------
    dict of str to Profile
        By the recording's name.
    """
    first = {one.program: one for one in reversed(series)}
    return {name: profile(model, one, slice_s=slice_s) for name, one in sorted(first.items())}


def choose(by_program, program="all"):
    """The profile to look at: the one that is named, else the one of most kinds of phases.

    Parameters
    ----------
    by_program : dict of str to Profile
    program : str, default "all"
        Name of a recording, such as ``cpu-bzip2``, or the part after the first hyphen.

    Returns
    -------
    str
        Its name in `by_program`.

    Raises
    ------
    NothingRecordedError
        If nothing is recorded, or not this program.
    """
    named = require(by_program, program)
    if named is not None:
        return named
    if not by_program:
        raise NothingRecordedError(
            f"nothing recorded yet of a program's key events: run `{recorded.COMMAND}`"
        )
    return max(by_program, key=lambda name: (len(by_program[name].shares), len(by_program[name].phases)))


def require(names, program):
    """The recording of a program that is named, asked for before anything is computed.

    Parameters
    ----------
    names : iterable of str
        Of recordings.
    program : str
        As of :func:`choose`.

    Returns
    -------
    str or None
        None of ``all``.

    Raises
    ------
    NothingRecordedError
        If there is none.
    """
    name = _find(program, names)
    if name is None and program != "all":
        raise NothingRecordedError(
            f"nothing recorded yet of the key events of {program!r}: run `cmlib diagnose --keep {program} -- COMMAND`"
        )
    return name


def explain(profile):
    """Phases of a program with what each class means and what to do about it.

    Parameters
    ----------
    profile : Profile

    Returns
    -------
    DataFrame
        ``start_s``, ``end_s``, ``label``, ``rule`` and, by :func:`cmlib.fingerprint.diagnosis.advice`,
        ``meaning`` and ``remedy``.
    """
    advised = [advice(label) for label in profile.phases["label"]]
    return profile.phases.drop(columns="n_slices").assign(
        meaning=[meaning for meaning, _ in advised], remedy=[remedy for _, remedy in advised]
    )


def recorded_run(name, folder=None):
    """The first recorded run of a program with the key events.

    Parameters
    ----------
    name : str
        Of the recording, such as ``cpu-bzip2``, or what it was kept under by `cmlib diagnose --keep`.
    folder : path-like, optional
        Of all recordings.

    Returns
    -------
    cmlib.workloads.micro.selection.Series

    Raises
    ------
    NothingRecordedError
        If there is none; the message lists what there is.
    """
    place = Path(folder or places.recordings_dir()) / recorded.FOLDER
    known = sorted(path.name for path in place.glob("*/"))
    run = _find(name, known)
    if run is not None:
        for one in recorded.read_series(place, recorded.KEY, run.partition("-")[0], only=run):
            return one
    raise NothingRecordedError(
        f"nothing recorded yet of the key events of {name!r}: run `cmlib diagnose --keep {name} -- COMMAND`. "
        f"Recorded: {', '.join(known) or 'none'}."
    )


def new_run(command, trained, *, keep=None, wait=False):
    """Run a command with the key events: see :func:`cmlib.fingerprint.observe.observe`.

    Parameters
    ----------
    command : list of str
    trained : dict
        `Fingerprints.meta`.
    keep : str, optional
        Name to keep the run under.
    wait : bool

    Returns
    -------
    cmlib.workloads.micro.selection.Series
    """
    about = {"label": keep, "size": None, "kind": "own"}
    kept = {
        "keep_in": places.recordings_dir() / recorded.FOLDER,
        "name": f"own-{keep}",
        "note": json.dumps(about),
    }
    counts, running = observe(command, trained, wait=wait, **(kept if keep is not None else {}))
    return recorded.Series(f"own-{keep}", 0, about, counts, running)


def page(title, diagnosed, trained):
    """A program's diagnosis as a page: see :func:`cmlib.fingerprint.page.render`.

    Parameters
    ----------
    title : str
    diagnosed : Profile
    trained : Fingerprints

    Returns
    -------
    str
        HTML.
    """
    events = sum(map(len, trained.meta["groups"]))
    n_runs = len(trained.key["micro"])
    about = (
        f"{len(diagnosed.labelled)} slices. Labelled by a decision tree over {events} key events, trained "
        f"on {n_runs} runs of "
        f"micro-benchmarks on {trained.meta['machine']['microarchitecture']}."
    )
    figure, _ = phase_timeline(diagnosed.labelled, diagnosed.pace)
    caveat = trained.caveat.replace("**", "").strip()
    return render(title, diagnosed, explain(diagnosed), figure, about=about, caveat=caveat)


def _find(name, recordings):
    """The recording of this name, or of this name behind its first hyphen; None if there is none."""
    return next((known for known in recordings if name in (known, known.partition("-")[2])), None)
