"""Fill the cards of programs on the report's first page: what limits each, how sure that is, what to try, a picture.

:func:`add_cards` takes a notebook's results and the recordings of programs; the sentences are those of
:mod:`cmlib.experiments.first_page`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from cmlib import plot, topdown
from cmlib.experiments import diagnosis, first_page
from cmlib.experiments.simulated_classes import classify_phases
from cmlib.experiments.summary import summarize_recordings
from cmlib.fingerprint.phases import contributions
from cmlib.io.archive import readable
from cmlib.io.events import simulated_events
from cmlib.io.recording import by_instructions
from cmlib.plot.slots import series_card
from cmlib.plot.style import card

if TYPE_CHECKING:
    from cmlib.io.recording import Recording
    from cmlib.report.results import Results

_MODES = ("ocoe", "mlpx", "unknown")  # runs without multiplexing are drawn where there are any
_N_LEADING = 3  # events that stand for a program without IPC


def add_cards(
    results: Results, recordings: dict[str, list[Recording]], *, processor: str | None = None
) -> dict[str, dict]:
    """Add a card for each program, and summarize those that were measured.

    Parameters
    ----------
    results : cmlib.report.results.Results
    recordings : dict of str to list of cmlib.io.recording.Recording
        The runs of each program, either all measured or all simulated.
    processor : str, optional
        Name of the processor where the recordings do not say it.

    Returns
    -------
    dict of str to dict
        By program, what :func:`cmlib.experiments.summary.summarize_recordings` returns; empty for simulated programs.
    """
    if any(runs[0].simulated for runs in recordings.values()):
        _add_simulated_cards(results, recordings)
        return {}
    summaries = {}
    for name, runs in recordings.items():
        summary = summarize_recordings(name, runs, processor=processor)
        if summary["account"]:
            _add_account_card(results, name, runs, summary)
        else:
            _add_rates_card(results, name, runs, summary["untold_text"])
        results.overview_summary(name, summary)
        summaries[name] = summary
    return summaries


def _add_account_card(results, name, runs, summary):
    """Add the card of a program whose slots or cycles are bounded, with IPC over time."""
    results.overview(name, **first_page.describe_account(summary))
    ipc = _ipc_by_run(runs)
    if any(len(line) > 1 for line in ipc.values()):
        figure, _ = series_card({"IPC": _with_phases(ipc)})
        results.overview_picture(name, figure, f"{name}: IPC over time, one line per run.")


def _ipc_by_run(runs):
    """IPC in whole intervals of each run; of runs without multiplexing where there are any."""
    counted = [run for run in runs if {"instructions", "cycles"} <= set(run.counts) and not run.holds_totals]
    for mode in _MODES:
        chosen = [run.whole()[0] for run in counted if run.meta["mode"] == mode]
        if chosen:
            return {
                f"run {n}": counts["instructions"] / counts["cycles"] for n, counts in enumerate(chosen, 1)
            }
    return {}


def _with_phases(lines):
    """Add the mean of each phase to the line of a single run."""
    if len(lines) != 1:
        return lines
    (series,) = lines.values()
    phases = topdown.series_phases(series)
    position = phases["start"].searchsorted(series.index, side="right") - 1
    means = pd.Series(phases["level"].to_numpy()[position.clip(0)], series.index)
    return lines | {"phases": means}


def _add_rates_card(results, name, runs, untold):
    """Add the card of a program without IPC: its most frequent events, over time."""
    means = pd.DataFrame([run.rates().mean() for run in runs]).mean().nlargest(_N_LEADING)
    by_event = {}
    for event in means.index:
        by_run = {run.meta["run"]: run.rates()[event] for run in runs if event in run.counts}
        by_event[event] = {run: rate for run, rate in by_run.items() if rate.sum() > 0}
    by_event = {event: by_run for event, by_run in by_event.items() if by_run}
    results.overview(name, **first_page.summarize_rates(means, by_event, runs, untold))
    is_line = any(len(rate) > 1 for by_run in by_event.values() for rate in by_run.values())
    if is_line and not runs[0].holds_totals:
        lines = {f"{event} {runs[0].axis.rate}": _with_phases(by_run) for event, by_run in by_event.items()}
        figure, _ = series_card(lines)
        results.overview_picture(name, figure, f"{name}: its most frequent events over time.")


def _add_simulated_cards(results, recordings):
    """Add the cards of simulated programs: KCachegrind's estimate of the cycles over the instructions executed."""
    profiles = readable(_read_profile, list(recordings))
    weights = simulated_events()["weight"]
    for name, profile in profiles.items():
        answer = diagnosis.answer_simulated(name, profile)
        saved = first_page.describe_saved_misses(profile) | {"limited_by": answer["limited_by"]}
        results.overview_summary(name, saved)
        sentences = first_page.describe_estimate(answer, profile)
        sentences |= first_page.describe_simulation(recordings[name][0].meta)
        results.overview(name, **sentences)
        estimate = by_instructions(contributions(profile.counts, weights))
        figure, _ = _simulated_card(estimate, list(1000 * profile.phases["start"]))
        results.overview_picture(name, figure, f"{name}: estimated cycles by what they are charged for.")


def _read_profile(name):
    return diagnosis.simulated_profile(*diagnosis.simulated_text(name), classify=classify_phases)


@plot.styled
def _simulated_card(estimate, starts):
    figure, (ax,) = card(3.2, 1)
    plot.stack_estimate(ax, estimate, starts)
    ax.set(title="estimated cycles per instruction")
    plot.legend_below(figure, ax, 2)
    return figure, ax
