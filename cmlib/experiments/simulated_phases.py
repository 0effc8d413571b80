"""What notebook 01 shows of a simulated program beside its counts: phases, by where the estimated cycles go."""

import pandas as pd

from cmlib.experiments.data import is_simulated
from cmlib.experiments.diagnosis import explain_simulated, simulated_profile, simulated_text
from cmlib.fingerprint.diagnosis import advice
from cmlib.fingerprint.phases import NAMED_FROM, NOTHING_ELSE, added_shares, contributions
from cmlib.io.events import simulated_events
from cmlib.io.recording import by_instructions
from cmlib.topdown.answers import describe_misses

_NAMED_FROM = 0.01


def simulated_profiles(url, programs):
    """Phases of the first run of each simulated program."""
    if not is_simulated(url, programs):
        return {}
    return {name: simulated_profile(*simulated_text(name)) for name in programs}


def estimated_parts(profile):
    """Estimated cycles per instruction by what they are charged for, and where phases begin."""
    return by_instructions(contributions(profile.counts, simulated_events()["weight"])), list(
        1000 * profile.phases["start"]
    )


def phase_table(profiles):
    """The phases of simulated programs."""
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
    named = {name: both for one in profiles.values() for name, *both in explain_simulated(one.phases)}
    rows = [(name, meaning, remedy.replace("`", "")) for name, (meaning, remedy) in named.items()]
    return pd.DataFrame(rows, columns=["what stands out", "meaning", "what to try"])


def describe_estimate(profile):
    """Where the estimated cycles of a simulated program go, and what to do about it."""
    totals = profile.counts.sum().to_frame().T
    shares = added_shares(totals, simulated_events()["weight"]).iloc[0].sort_values(ascending=False)
    charged = "".join(
        f", {100 * share:.0f} % {name}" for name, share in shares.items() if share >= _NAMED_FROM
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
    named = ", ".join(f"{name} {100 * share:.0f} %" for name, share in classes.nlargest(len(classes)).items())
    by_class = f". By class, as the tree of the micro-benchmarks tells it: {named}" if named else ""
    level = f"no cycles were counted. Of KCachegrind's estimate {executed:.0f} % are instructions{charged}"
    return {"limits": f"{level}; {standing}{where}{by_class}", "advice": advice(label)[1].rstrip(".")}


def estimated_misses(profile):
    """What a simulated program would save of its estimated cycles without misses, which the estimate charges for."""
    shares = added_shares(profile.counts.sum().to_frame().T, simulated_events()["weight"]).iloc[0]
    last, first = (100 * float(shares.get(f"{level}-level data misses", 0.0)) for level in ("last", "first"))
    saved = {"last-level data misses": last, "data misses of any level": last + first}
    named = {"event": "", "low": None, "high": None, "reason": ""}
    found = [{"without": name, "percent": percent} | named for name, percent in saved.items() if percent]
    return {"misses": found, "misses_text": describe_misses(found, of="estimated cycles")}


def _largest(phases):
    """What stands out beside instructions in phases of a tenth of the estimated cycles or more, their share,
    and the functions of the longest."""
    shares = phases.groupby("label")["share"].sum().drop(NOTHING_ELSE, errors="ignore")
    stands_out = len(shares) and shares.max() >= NAMED_FROM
    label = shares.idxmax() if stands_out else NOTHING_ELSE
    own = phases[phases["label"] == label] if stands_out else phases
    return label, own.loc[own["share"].idxmax(), "functions"], own["share"].sum()
