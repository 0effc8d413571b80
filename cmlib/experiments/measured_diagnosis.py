"""Find the bottlenecks of a measured run.

:func:`profile_run` cuts the run into time slices. A decision tree predicts the class of each slice: a bottleneck (for
example ``P_CPU``), or ``N`` for none. A phase is a series of neighboring slices with the same class.
:func:`answer_measured` returns the result as a JSON-serializable dict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from cmlib.errors import InputError
from cmlib.fingerprint.diagnosis import advice, label_slices, phases

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

    from cmlib.experiments.micro.recordings import Series

HEALTHY = "N"  # class without a bottleneck
SLICE_S = 0.4  # length of a slice [s]


@dataclass(frozen=True)
class Profile:
    """Bottlenecks of a measured run.

    Attributes
    ----------
    labelled : DataFrame
        One row per slice (index: its end [s]). Columns: ``label`` (class) and ``rule`` (conditions of the tree that
        led to the class).
    pace : Series
        Instructions per cycle of each slice.
    phases : DataFrame
        One row per phase: neighboring slices with the same label and rule. Columns: start_s, end_s, n_slices, label
        and rule.
    shares : Series
        Share of the slices of each class [%], the largest first.
    """

    labelled: pd.DataFrame
    pace: pd.Series
    phases: pd.DataFrame
    shares: pd.Series


def profile_run(model: ClassifierMixin, series: Series, *, slice_s: float = SLICE_S) -> Profile:
    """Classify the time slices of a measured run.

    Parameters
    ----------
    model : classifier
        Fitted decision tree of :mod:`cmlib.fingerprint`.
    series : cmlib.experiments.micro.recordings.Series
        The run.
    slice_s : float, default 0.4
        Length of a slice [s].

    Returns
    -------
    Profile
        Class of each slice, and phases.

    Raises
    ------
    InputError
        If the run has no complete slice, or did not count all events of the tree.
    """
    rates = series.rates(slice_s)
    events = model.feature_names_in_
    missing = [event for event in events if event not in rates]
    if missing:
        raise InputError(
            f"the run did not count {len(missing)} of the {len(events)} key events, for example {missing[0]}. "
            "Run the program longer, or record a run with these events."
        )
    labelled = label_slices(model, rates[events])
    shares = 100 * labelled["label"].value_counts(normalize=True).rename("share")
    return Profile(labelled, series.pace(slice_s), phases(labelled), shares)


def profiles(
    model: ClassifierMixin, series: Sequence[Series], *, slice_s: float = SLICE_S
) -> dict[str, Profile]:
    """Classify the time slices of several programs.

    If a program was run several times, the first run is used.

    Parameters
    ----------
    model : classifier
        Fitted decision tree of :mod:`cmlib.fingerprint`.
    series : sequence of cmlib.experiments.micro.recordings.Series
        Runs, sorted by time.
    slice_s : float, default 0.4
        Length of a slice [s].

    Returns
    -------
    dict of str to Profile
        Result for each program, sorted by name.

    Raises
    ------
    InputError
        If a run has no complete slice, or did not count all events of the tree.
    """
    first_runs = {run.program: run for run in reversed(series)}
    return {name: profile_run(model, run, slice_s=slice_s) for name, run in sorted(first_runs.items())}


def explain(profile: Profile) -> pd.DataFrame:
    """Explain the phases of a measured run.

    Parameters
    ----------
    profile : Profile
        Class of each slice, and phases. For example, a value of the result of :func:`profiles`.

    Returns
    -------
    DataFrame
        One row per phase. Columns: start_s, end_s, label, rule, ``meaning`` (of the class) and ``remedy`` (what to
        try).
    """
    explained = profile.phases.drop(columns="n_slices")
    advised = [advice(label) for label in explained["label"]]
    return explained.join(pd.DataFrame(advised, explained.index, columns=["meaning", "remedy"]))


def answer_measured(name: str, profile: Profile, caveat: str = "") -> dict[str, Any]:
    """Return the diagnosis of a measured run as a JSON-serializable dict.

    Parameters
    ----------
    name : str
        Name of the program.
    profile : Profile
        Bottlenecks of the run.
    caveat : str, default ""
        Sentence on how the counts were made, in Markdown.

    Returns
    -------
    dict
        Contains these keys:

        - ``schema``: version of the format.
        - ``name``: name of the program.
        - ``simulated``: False.
        - ``caveat``: the sentence without markup.
        - ``slices``: number of slices.
        - ``classes``: list of dicts with the keys name, percent, meaning, remedy and rules.
        - ``phases``: list of dicts with the keys start_s, end_s, label and rule.
    """
    explained = explain(profile)
    classes = []
    for label, percent in profile.shares.items():
        class_phases = explained[explained["label"] == label]
        row = {"name": label, "percent": percent, **class_phases[["meaning", "remedy"]].iloc[0]}
        classes.append(row | {"rules": class_phases["rule"].unique().tolist()})
    return {
        "schema": 1,
        "name": name,
        "simulated": False,
        "caveat": caveat.replace("**", ""),
        "slices": len(profile.labelled),
        "classes": classes,
        "phases": explained[["start_s", "end_s", "label", "rule"]].to_dict("records"),
    }
