"""Summarize what limits the speed of a simulated program.

:func:`summarize_simulated` returns a dict with the same keys as the summary of a measured program, so that both are
shown on the same page. Valgrind simulates caches and branches. It counts no cycles, but their number can be
estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cmlib.experiments.measured_diagnosis import HEALTHY
from cmlib.experiments.simulated_classes import classify_phases
from cmlib.experiments.simulated_diagnosis import answer_simulated, simulated_profile
from cmlib.experiments.simulated_runs import read_simulated_run
from cmlib.fingerprint.phases import INSTRUCTIONS, INSTRUCTIONS_ONLY, penalty_shares
from cmlib.io.events import simulated_events
from cmlib.shell import as_code, command_line, recorded_words
from cmlib.topdown import describe_misses
from cmlib.topdown.cycle_costs import format_number
from cmlib.topdown.summary import SUMMARY_VERSION

if TYPE_CHECKING:
    from cmlib.experiments.simulated_diagnosis import SimulatedProfile
    from cmlib.io.recording import Recording

_LEAST_SHARE = 0.1  # of the estimated cycles, of a class of phases with advice
_MOST_CLASSES = 3  # described in sentences


def summarize_simulated(name: str, recordings: Sequence[Recording]) -> dict[str, Any]:
    """Summarize what limits the speed of a simulated program.

    Parameters
    ----------
    name : str
        Name of the program.
    recordings : sequence of cmlib.io.recording.Recording
        Simulated runs of the program. The first run is summarized.

    Returns
    -------
    dict
        Summary. The file docs/summary.md describes its keys. Values that need measurements are None or empty.
    """
    meta = recordings[0].meta
    profile = simulated_profile(*read_simulated_run(name), classify=classify_phases)
    return _build_summary(name, meta, profile, n_runs=len(recordings))


def _build_summary(name, meta, profile, *, n_runs):
    """Return the summary of a simulated program from its metadata and phases."""
    answer = answer_simulated(name, profile)
    totals = profile.counts.sum()
    words = recorded_words(meta["command"])
    saved_cycles = _find_saved_cycles(profile)
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
        "misses": saved_cycles,
        "misses_text": describe_misses(saved_cycles, noun="estimated cycles"),
        "remarks": [answer["caveat"], answer["about"]],
    }


def _find_saved_cycles(profile):
    """Return the share of the cycles that would be saved without cache misses.

    The list has one dict for misses of the last cache level, and one for misses of any level. It is empty without
    misses.
    """
    shares = penalty_shares(profile.counts.sum().to_frame().T, simulated_events()["weight"]).iloc[0]
    last_level = 100 * shares["last-level data misses"]
    first_level = 100 * shares["first-level data misses"]
    saved = {"last-level data misses": last_level, "data misses of any level": last_level + first_level}
    unknown = {"event": "", "low": None, "high": None, "reason": ""}
    return [{"without": name, "percent": percent} | unknown for name, percent in saved.items() if percent]


def advise(answer: dict[str, Any], profile: SimulatedProfile) -> list[dict[str, Any]]:
    """Return advice on the bottlenecks with a tenth of the cycles or more.

    Parameters
    ----------
    answer : dict
        Diagnosis from :func:`cmlib.experiments.simulated_diagnosis.answer_simulated`.
    profile : cmlib.experiments.simulated_diagnosis.SimulatedProfile
        Phases of the program.

    Returns
    -------
    list of dict
        Dicts with the keys category, action, at_most (most that can be saved [% of the cycles], or None) and text.
        Empty if neither cache misses nor mispredictions cost much.
    """
    if answer["limited_by"] == INSTRUCTIONS:
        return []
    is_large = profile.classes["share"] >= _LEAST_SHARE
    bottlenecks = set(profile.classes["name"][is_large]) - {INSTRUCTIONS_ONLY, HEALTHY}
    entries = []
    for row in answer["advice"]:
        if row["name"] in bottlenecks:
            action = row["remedy"].rstrip(".")
            text = f"{row['name']}: {action}"
            at_most = answer["split"].get(row["name"])
            entries.append({"category": row["name"], "action": action, "at_most": at_most, "text": text})
    return entries


def _write_headline(answer):
    """Return a sentence on the largest cost."""
    largest = answer["limited_by"]
    if largest == INSTRUCTIONS:
        loss = f"{answer['split'][largest]:.0f} % of the cycles are for instructions alone"
    else:
        shares = {row["name"]: row["percent"] for row in answer["classes"]} | answer["split"]
        loss = f"{shares[largest]:.0f} % of the cycles go to {largest}, the largest loss"
    return f"By estimate, {loss}; no cycles were counted."


def _describe_classes(answer):
    """Return one sentence for each of the largest classes of phases."""
    sentences = []
    for row in answer["classes"][:_MOST_CLASSES]:
        is_healthy = row["name"] in (HEALTHY, INSTRUCTIONS_ONLY)
        phases = "Phases without a large loss" if is_healthy else f"Phases with many {row['name']}"
        sentences.append(
            f"{phases} have {row['percent']:.0f} % of the estimated cycles (`{row['functions']}`)."
        )
    return sentences


def _suggest_diagnosis(words):
    """Return a sentence that suggests a diagnosis by simulation."""
    diagnose = as_code(command_line("cmlib", "diagnose", "--simulate", "--", *words))
    return f"Without counters, {diagnose} shows the bottleneck of each phase and function."


def _list_shares(split):
    """Return the causes of the estimated cycles in the form of a summary."""
    shares = dict(split)
    other_share = 100 - sum(shares.values())
    if other_share >= 0.5:
        shares["other"] = other_share
    return [
        {"name": name, "label": name, "low": percent, "high": percent, "events": []}
        for name, percent in shares.items()
    ]
