"""What notebook 01 shows of a simulated program beside its counts: phases, by where the estimated cycles go."""

import pandas as pd

from cmlib.errors import UnfitRecordingError
from cmlib.fingerprint.simulated import NAMED_FROM, NOTHING_ELSE, added_shares, advice, contributions
from cmlib.study.commands import command_to_diagnose
from cmlib.study.simulated_diagnosis import explained, first_simulated, recorded_run, simulated_profile
from cmlib.study.simulated_programs import is_prefetched, simulator
from cmlib.study.units import by_instructions

_TOLD_FROM = 0.01


def simulated_profiles(url, programs):
    """Phases of the first run of each simulated program.

    Parameters
    ----------
    url : str
    programs : list of str
        From :func:`cmlib.study.programs`.

    Returns
    -------
    dict of str to cmlib.study.simulated_diagnosis.SimulatedProfile
        Empty where counts were measured.
    """
    if not simulator(url, programs[0]):
        return {}
    return {name: simulated_profile(*recorded_run(name)) for name in programs}


def estimated_parts(profile):
    """Estimated cycles per instruction by what they are charged for, and where phases begin.

    Parameters
    ----------
    profile : SimulatedProfile

    Returns
    -------
    parts : DataFrame
        Index: progress [million instructions]; a column a contributor.
    starts : list of float
        In the same unit.
    """
    return by_instructions(contributions(profile.counts)), list(1000 * profile.phases["start"])


def phase_table(profiles):
    """The phases of simulated programs.

    Parameters
    ----------
    profiles : dict of str to SimulatedProfile

    Returns
    -------
    DataFrame
        A row a phase: ``program``, ``from`` and ``to`` [million instructions], ``estimated cycles [%]`` (of the
        run's), ``what stands out``, ``functions`` with their shares of the phase, and ``class``, where the tree of
        the micro-benchmarks can be asked.
    """
    rows = []
    for name, profile in profiles.items():
        for phase in profile.phases.to_dict("records"):
            row = {
                "program": name,
                "from": 1000 * phase["start"],
                "to": 1000 * phase["end"],
                "estimated cycles [%]": 100 * phase["share"],
                "what stands out": phase["label"],
                "functions": phase["functions"],
            }
            rows.append(row | ({"class": phase["class"]} if phase["class"] else {}))
    return pd.DataFrame(rows)


def remedies(profiles):
    """What stands out in some phase of simulated programs: its meaning, and what a programmer can do."""
    told = {name: both for one in profiles.values() for name, *both in explained(one.phases)}
    rows = [(name, meaning, remedy.replace("`", "")) for name, (meaning, remedy) in told.items()]
    return pd.DataFrame(rows, columns=["what stands out", "meaning", "what to try"])


def say_estimated(profile):
    """Where the estimated cycles of a simulated program go, and what to do about it.

    Parameters
    ----------
    profile : SimulatedProfile

    Returns
    -------
    dict of str to str
        ``limits`` and ``advice``, as :meth:`cmlib.report.Results.overview` takes them.
    """
    shares = added_shares(profile.counts.sum()).sort_values(ascending=False)
    charged = "".join(
        f", {100 * share:.0f} % {name}" for name, share in shares.items() if share >= _TOLD_FROM
    )
    executed = 100 * (1 - shares.sum())
    label, functions, share = _largest(profile.phases)
    standing = (
        "nothing else stands out in phases of a tenth of it"
        if label == NOTHING_ELSE
        else f"**{label}** stand out in phases with {100 * share:.0f} % of it"
    )
    where = f", the longest in `{functions}`" if functions else ""
    classes = profile.phases.groupby("class")["share"].sum().drop("", errors="ignore")
    told = ", ".join(f"{name} {100 * share:.0f} %" for name, share in classes.nlargest(len(classes)).items())
    by_class = f". By class, as the tree of the micro-benchmarks tells it: {told}" if told else ""
    level = f"no cycles were counted. Of KCachegrind's estimate {executed:.0f} % are instructions{charged}"
    return {"limits": f"{level}; {standing}{where}{by_class}", "advice": advice(label)[1].rstrip(".")}


def refuse_own(program):
    """Leave a simulated program of one's own to notebook 01.

    Parameters
    ----------
    program : str
        As a notebook's parameter has it.

    Raises
    ------
    UnfitRecordingError
        If simulated runs are recorded under this name; says where its phases are, and what names their classes.
    """
    if found := first_simulated(program):
        _, meta = found
        classes = (
            ", with their classes"
            if is_prefetched(meta)
            else ". The tree of this notebook was trained with streams prefetched; "
            f"``{command_to_diagnose(meta)}`` simulates that, and names the class of each phase"
        )
        raise UnfitRecordingError(f"{program} is simulated: its phases are in notebook 01{classes}.")


def _largest(phases):
    """What stands out beside instructions in phases of a tenth of the estimated cycles or more, their share, and the
    functions of the longest."""
    shares = phases.groupby("label")["share"].sum().drop(NOTHING_ELSE, errors="ignore")
    stands_out = len(shares) and shares.max() >= NAMED_FROM
    label = shares.idxmax() if stands_out else NOTHING_ELSE
    own = phases[phases["label"] == label] if stands_out else phases
    return label, own.loc[own["share"].idxmax(), "functions"], own["share"].sum()
