"""Write what the report's first page says of a program: of measured ones, of simulated ones, and of those without IPC.

IPC is instructions per cycle. Functions take what was computed (an answer, a profile, rates by event), and return
dicts of sentences, in Markdown and without a full stop, by the heading that they stand under: limits (what limits
the program), varies (what changes over time), sure (how sure that is), advice, and lacking (what it takes to know
more). A sentence is "" where there is nothing to say; what is taken is not checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cmlib.experiments.commands import command_again
from cmlib.experiments.diagnosis import HEALTHY
from cmlib.experiments.targets import CLOCKS
from cmlib.fingerprint.phases import INSTRUCTIONS, NOTHING_ELSE, added_shares
from cmlib.io.events import simulated_events, simulated_kind
from cmlib.shell import as_code, command_code, command_line, recorded_words
from cmlib.templates import template
from cmlib.topdown import describe_misses, series_phases
from cmlib.units import unit_of

if TYPE_CHECKING:
    from cmlib.rank.refinement import Refinement

_OFTEN = 10  # intervals from which on rates are cut into phases
_CHANGED, _MOST_NAMED = 1.25, 3
_SENTENCES = template("cmlib.experiments", "first_page.j2").module
_MUCH = 0.1  # share of the estimated cycles from which on there is something to do


def _unit(event):
    """Return the unit of an event's counts with a blank before it (str); "" for a plain number."""
    unit = unit_of(event)
    return f" {unit}" if unit else ""


def _format_rate(event, rate, per):
    """Return a rate as text: ``61 ms a second`` for a clock, ``1,200 times a second`` for a plain number."""
    return f"{rate:,.0f}{_unit(event) or ' times'} {per}"


def _describe_change(event, rate):
    """Describe the phase of a rate (Series) that differs most from the longest phase, and that phase, in order of time.

    Returns a dict of change (|log ratio|) and text.
    """
    phases = series_phases(rate).query("level > 0")
    longest = (phases["end"] - phases["start"]).idxmax()
    change = np.log(phases["level"] / phases.at[longest, "level"]).abs()
    compared = phases.loc[sorted({longest, change.idxmax()})]
    spans = [
        f"{row.level:,.3g}{_unit(event)} a second from {row.start:,.0f} to {row.end:,.0f} s"
        for row in compared.itertuples()
    ]
    return {"change": change.max(), "text": f"`{event}` {', then '.join(spans)}"}


def _describe_changes(runs):
    """The three rates of the first of the `runs` (Recordings) that change most, by a quarter or more, as text; "" if
    none.
    """
    rates = runs[0].rates().drop(columns=list(CLOCKS), errors="ignore")
    rates = rates.loc[:, rates.max() > 0]
    if len(rates) <= _OFTEN or rates.empty:
        return ""
    changes = pd.DataFrame([_describe_change(event, rate) for event, rate in rates.items()])
    largest = changes[changes["change"] > np.log(_CHANGED)].nlargest(_MOST_NAMED, "change")
    contrast = "; ".join(largest["text"])
    return f"in the first of {len(runs)} runs, {contrast}" if contrast and len(runs) > 1 else contrast


def _summarize_agreement(by_event):
    """Sentence: how far the runs' rates of the first event that several runs counted are apart.

    `by_event` is a dict from event to a dict from run to its rate (Series).
    """
    for event, by_run in by_event.items():
        means = [rate.mean() for rate in by_run.values()]
        if len(means) > 1:
            apart = 100 * (max(means) - min(means)) / np.mean(means)
            return _SENTENCES.agreement(event, apart, len(means))
    return _SENTENCES.agreement("", 0, 0)


def _suggest_recording(meta):
    """Sentence: what it takes to know IPC, of a program with this metadata of a run (dict)."""
    imported = meta.get("imported")
    command = command_code("cmlib", "import", meta["program"], "FILE") if imported else None
    return _SENTENCES.to_know_ipc(imported, command or as_code(command_again(meta | {"command": ""})))


def summarize_rates(often, by_event, runs, untold):
    """Sentences on a program without IPC: a dict of varies, sure and lacking.

    `often` is a dict from event to its mean rate, those to name if nothing changes; `by_event` a dict from event to a
    dict from run to the event's rate (Series); `runs` the program's runs (list of
    :class:`cmlib.io.recording.Recording`, counts with metadata); `untold` says why they conclude nothing, or is "".
    """
    per = runs[0].axis.rate.replace("per", "a")
    named = ", ".join(f"`{event}` {_format_rate(event, rate, per)}" for event, rate in often.items())
    changes = _describe_changes(runs) if not runs[0].holds_totals else ""
    return {
        "varies": untold or changes or f"nothing stands out; most often: {named or 'nothing'}",
        "sure": _summarize_agreement(by_event),
        "lacking": "" if untold else _suggest_recording(runs[0].meta),
    }


def describe_account(answer):
    """Describe a measured program: a dict of limits, sure, advice and lacking ("" where there is nothing to say).

    `answer` is a summary (dict) of :func:`cmlib.topdown.summarize` with an ``account`` (shares of the slots by
    category) that is not None. All sentences are those of its ``first`` answer, which the terminal prints.
    """
    account, first = answer["account"], answer["first"]
    widest = max(row["high"] - row["low"] for row in account["categories"] if not row["parent"])
    separate = first["separate"]
    lacking = f"to separate the rest: {as_code(separate)}" if separate else ""
    if lacking and first["hint"]:
        lacking += f". {first['hint'].rstrip('.')}"
    return {
        "limits": " ".join([first["headline"], *first["details"]]).rstrip("."),
        "sure": _SENTENCES.sure(account, np.ceil(round(5 * widest, 6)) / 10),
        "advice": "; ".join(entry["text"] for entry in first["advice"]),
        "lacking": lacking,
    }


def describe_estimate(answer, profile):
    """Where a simulated program's estimated cycles go, and what to try: a dict of limits and advice (str).

    `answer` is the dict of :func:`cmlib.experiments.diagnosis.answer_simulated`, `profile` the SimulatedProfile
    that it was made from (counts by interval, and phases). The text is that of `cmlib diagnose`. Advice is given on a
    class that has a tenth of the estimated cycles, and only if misses or mispredictions cost a tenth of them; else it
    is "".
    """
    cost_little = answer["limited_by"] == INSTRUCTIONS
    much = set(profile.classes["name"][profile.classes["share"] >= _MUCH]) - {NOTHING_ELSE, HEALTHY}
    advised = [] if cost_little else [row for row in answer["advice"] if row["name"] in much]
    return {"limits": answer["text"], "advice": advised[0]["remedy"].rstrip(".") if advised else ""}


def describe_saved_misses(profile):
    """What would be saved of a simulated program's estimated cycles without misses: a dict.

    `profile` is its SimulatedProfile (`counts`, a DataFrame by interval, is used). Keys: misses, a list of dicts of
    without (last-level data misses, or those of any level), percent (of the estimated cycles), event, low, high and
    reason (empty or None); misses_text, the same as a list of clauses (str).
    """
    shares = added_shares(profile.counts.sum().to_frame().T, simulated_events()["weight"]).iloc[0]
    last, first = (100 * shares[f"{level}-level data misses"] for level in ("last", "first"))
    saved = {"last-level data misses": last, "data misses of any level": last + first}
    named = {"event": "", "low": None, "high": None, "reason": ""}
    savings = [{"without": name, "percent": saved[name]} | named for name in saved if saved[name]]
    return {"misses": savings, "misses_text": describe_misses(savings, of="estimated cycles")}


def describe_ranking(
    refined: Refinement, spread: pd.DataFrame, target: str
) -> tuple[pd.DataFrame, str] | None:
    """Bars of the most important events of a program, and their caption; None if the model is worse than the mean.

    Parameters
    ----------
    refined : cmlib.rank.Refinement
        The refined model of the target.
    spread : DataFrame
        Importances of its events, from :func:`cmlib.rank.importance_spread`.
    target : str
        Name of what is explained, such as "IPC".

    Returns
    -------
    tuple of (DataFrame, str) or None
        Rows with name, value, low, high [%] and note, for the five most important events; Markdown.
    """
    if not refined.beats_mean:
        return None
    bars = spread.head(5).rename_axis("name").rename(columns={"mean": "value"}).reset_index()
    notes = []
    for row in bars.itertuples():
        kind = simulated_kind(row.name)
        place = f"rank {row.rank_low} to {row.rank_high}"
        notes.append(f"{kind}, {place}" if kind else place)
    bars["note"] = notes
    return bars[["name", "value", "low", "high", "note"]], _SENTENCES.ranking(refined, target)


def describe_simulation(meta):
    """Sentences on simulated counts: a dict of sure, and lacking (what needs a processor's counters).

    `meta` is the metadata (dict) of a simulated run.
    """
    words = recorded_words(meta["command"])
    diagnose = command_line("cmlib", "diagnose", "--simulate", "--", *words)
    compare = command_line("cmlib", "compare", "--simulate", command_line(*words), "NEW")
    return {
        "sure": _SENTENCES.simulated(meta["simulator"]["caches"]),
        "lacking": _SENTENCES.beyond_simulation(as_code(diagnose), as_code(compare)),
    }
