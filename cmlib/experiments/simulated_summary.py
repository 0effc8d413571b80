"""Summarize a simulated program: the causes of its estimated cycles, and what to try.

:func:`summarize_simulated` returns a dict with the keys of a measured program's summary, so that both kinds of programs
have the same page. Nothing in it was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cmlib.experiments.diagnosis import HEALTHY, answer_simulated, simulated_profile, simulated_text
from cmlib.experiments.simulated_classes import classify_phases
from cmlib.fingerprint.phases import INSTRUCTIONS, NOTHING_ELSE, added_shares
from cmlib.io.events import simulated_events
from cmlib.shell import as_code, command_line, recorded_words
from cmlib.topdown import describe_misses
from cmlib.topdown.cycle_costs import format_number
from cmlib.topdown.summary import SUMMARY_VERSION

if TYPE_CHECKING:
    from cmlib.experiments.diagnosis import SimulatedProfile
    from cmlib.io.recording import Recording

_ADVISED = 0.1  # smallest share of the estimated cycles of a class of phases with advice
_MOST_NAMED = 3  # classes of phases


def summarize_simulated(name: str, recordings: Sequence[Recording]) -> dict:
    """Summarize a simulated program.

    Parameters
    ----------
    name : str
        Name of the program.
    recordings : sequence of cmlib.io.recording.Recording
        Its simulated runs, the first of which is summarized.

    Returns
    -------
    dict
        Keys as in docs/summary.md. ``simulated`` is True and ``cycles`` are shares of KCachegrind's estimate; values
        that need measurements are None or empty.
    """
    meta = recordings[0].meta
    profile = simulated_profile(*simulated_text(name), classify=classify_phases)
    return build_simulated_summary(name, meta, profile, n_runs=len(recordings))


def build_simulated_summary(name: str, meta: dict, profile: SimulatedProfile, *, n_runs: int = 1) -> dict:
    """Build the summary of a simulated program.

    Parameters
    ----------
    name : str
        Name of the program.
    meta : dict
        Metadata of a run.
    profile : cmlib.experiments.diagnosis.SimulatedProfile
        Phases of that run.
    n_runs : int, default 1
        Number of simulated runs.

    Returns
    -------
    dict
        As in docs/summary.md.
    """
    answer = answer_simulated(name, profile)
    totals = profile.counts.sum()
    words = recorded_words(meta["command"])
    misses = find_saved_misses(profile)
    return {
        "schema": SUMMARY_VERSION,
        "name": name,
        "simulated": True,
        "processor": None,
        "processors_alike": [],
        "slots_a_cycle": None,
        "core": "",
        "user_mode_only": True,
        "runtime": None,
        "runs": n_runs,
        "intervals": len(profile.counts),
        "events": profile.counts.shape[1],
        "took_turns": None,
        "counted": None,
        "levels": {"instructions": float(totals["sim.instructions"])},
        "levels_text": f"{format_number(totals['sim.instructions'])} instructions",
        "counts": {},
        "counts_text": "",
        "miss_ratios": {},
        "miss_ratios_text": "",
        "first": {
            "kind": "simulated",
            "headline": _write_headline(answer),
            "details": _describe_classes(answer),
            "advice": advise(answer, profile),
            "separate": command_line("cmlib", "record", name, "--", *words),
            "hint": _suggest_diagnosis(words),
        },
        "utilization": None,
        "cycles": _list_shares(answer["split"]),
        "limited_by": answer["limited_by"],
        "account": None,
        "conclusive": True,
        "untold_text": "",
        "phases": [],
        "phases_changed": [],
        "phases_text": "",
        "misses": misses,
        "misses_text": describe_misses(misses, noun="estimated cycles"),
        "remarks": [answer["caveat"], answer["about"]],
    }


def find_saved_misses(profile: SimulatedProfile) -> list[dict]:
    """Find the share of a simulated program's estimated cycles that would be saved without misses.

    Parameters
    ----------
    profile : cmlib.experiments.diagnosis.SimulatedProfile

    Returns
    -------
    list of dict
        One entry for last-level data misses and one for data misses of any level; misses that cost nothing have no
        entry.
        Keys: ``without`` (name of the misses) and ``percent`` [% of the estimated cycles]; ``event`` and ``reason`` are
        empty, ``low`` and ``high`` are None.
    """
    shares = added_shares(profile.counts.sum().to_frame().T, simulated_events()["weight"]).iloc[0]
    last_level = 100 * shares["last-level data misses"]
    first_level = 100 * shares["first-level data misses"]
    saved = {"last-level data misses": last_level, "data misses of any level": last_level + first_level}
    unknown = {"event": "", "low": None, "high": None, "reason": ""}
    return [{"without": name, "percent": percent} | unknown for name, percent in saved.items() if percent]


def advise(answer: dict, profile: SimulatedProfile) -> list[dict]:
    """Advise on the classes of phases with a tenth of the estimated cycles or more.

    Parameters
    ----------
    answer : dict
        Result of :func:`cmlib.experiments.diagnosis.answer_simulated`.
    profile : cmlib.experiments.diagnosis.SimulatedProfile

    Returns
    -------
    list of dict
        Entries like those of a measured program; empty if neither misses nor mispredictions cost much.
    """
    if answer["limited_by"] == INSTRUCTIONS:
        return []
    large = set(profile.classes["name"][profile.classes["share"] >= _ADVISED]) - {NOTHING_ELSE, HEALTHY}
    entries = []
    for row in answer["advice"]:
        if row["name"] in large:
            action = row["remedy"].rstrip(".")
            text = f"{row['name']}: {action}"
            at_most = answer["split"].get(row["name"])
            entries.append({"category": row["name"], "action": action, "at_most": at_most, "text": text})
    return entries


def _write_headline(answer):
    """Return the headline: the largest loss of the estimated cycles."""
    charged = answer["limited_by"]
    if charged == INSTRUCTIONS:
        loss = f"{answer['split'][charged]:.0f} % of the cycles are for instructions alone"
    else:
        shares = {row["name"]: row["percent"] for row in answer["classes"]} | answer["split"]
        loss = f"{shares[charged]:.0f} % of the cycles go to {charged}, the largest loss"
    return f"By estimate, {loss}; no cycles were counted."


def _describe_classes(answer):
    """Return one sentence on each of the largest classes of phases."""
    sentences = []
    for row in answer["classes"][:_MOST_NAMED]:
        is_healthy = row["name"] in (HEALTHY, NOTHING_ELSE)
        phases = "Phases without a large loss" if is_healthy else f"Phases with many {row['name']}"
        sentences.append(
            f"{phases} have {row['percent']:.0f} % of the estimated cycles (`{row['functions']}`)."
        )
    return sentences


def _suggest_diagnosis(words):
    """Return a sentence on what the simulation can still show without counters."""
    diagnose = as_code(command_line("cmlib", "diagnose", "--simulate", "--", *words))
    return f"Without counters, {diagnose} shows the bottleneck of each phase and function."


def _list_shares(split):
    """Return the shares of the estimated cycles as entries of a summary's ``cycles``."""
    shares = dict(split)
    other_share = 100 - sum(shares.values())
    if other_share >= 0.5:
        shares["other"] = other_share
    return [
        {"name": name, "label": name, "low": percent, "high": percent, "events": []}
        for name, percent in shares.items()
    ]
