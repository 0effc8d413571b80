"""How far multiplexed counts can be believed where nothing else is known: shares, standard errors, what to record."""

import numpy as np
import pandas as pd

from cmlib import clean, store
from cmlib.errors import UnfitRecordingError
from cmlib.schedule import PINNED
from cmlib.study.commands import command_for_groups
from cmlib.study.data import FEWEST_INTERVALS, interval_runs, programs, whole_intervals
from cmlib.study.event_tables import known_sums
from cmlib.study.simulated_programs import EXACT, refuse_simulated

_THIN = 25.0  # share of an event's variance [%] from which on noise is too much,
_EXACT = 1.0  # unless the standard error is below this share of its mean [%]
_NAMED = 6


def multiplexed_runs(url, program="all"):
    """The multiplexed run of each program that counted most events.

    Parameters
    ----------
    url : str
    program : str, default "all"
        Names separated by commas, or ``all``.

    Returns
    -------
    dict of str to cmlib.store.Run

    Raises
    ------
    UnfitRecordingError
        If none of the programs has a multiplexed run of 20 intervals or more; says what it has instead.
    """
    names = programs(url, program)
    refuse_simulated(url, names, EXACT)
    runs = interval_runs(url, names)
    long = runs[(runs["mode"] == "mlpx") & (runs["n_intervals"] >= FEWEST_INTERVALS)]
    found = (
        long.sort_values(["n_events", "run_id"], ascending=[False, True]).groupby("program")["run_id"].first()
    )
    if found.empty:
        raise UnfitRecordingError(_say_none(names, runs))
    return {name: store.load(url, run_id) for name, run_id in found.items()}


def judge_counts(run):
    """How thinly each event of a run was counted, what cleaning does to it, and how much of it is error.

    Parameters
    ----------
    run : cmlib.store.Run

    Returns
    -------
    cleaned : DataFrame
        Counts after joint cleaning, a row an interval.
    standard_errors : DataFrame
        Of these counts (:func:`cmlib.clean.joint_estimates`).
    judged : DataFrame
        A row an event that was counted in three intervals or more, the least certain first: ``share``, the mean running
        share [%]; ``seen``, intervals in which it was counted at all [%]; ``replaced``, samples that CounterMiner's
        cleaning changes [%]; ``moved``, by how much joint cleaning moves a count, and ``error``, the standard error
        that is left [% of the mean count]; ``noise``, the mean squared standard error as a share of the
        variance over time [%]; and ``thin``, whether this is a quarter or more, and the error 1 % or more.
    """
    counts, running = whole_intervals(run)
    counts = counts.loc[:, counts.notna().sum() >= 3]
    running = running[counts.columns]
    cleaned, errors = clean.joint_estimates(counts, running, sums=known_sums(run))
    _, changed = clean.clean_run(counts, running, method="counterminer")
    mean, variance = cleaned.mean().replace(0, np.nan), cleaned.var()
    judged = pd.DataFrame(
        {
            "share": 100 * running.mean(),
            "seen": 100 * counts.notna().mean(),
            "replaced": 100 * changed.mean(),
            "moved": 100 * (cleaned - counts).abs().mean() / mean,
            "error": 100 * errors.median() / mean,
            "noise": (100 * (errors**2).mean() / variance.replace(0, np.nan)).clip(upper=100).fillna(0),
        }
    ).rename_axis("event")
    judged["thin"] = (judged["noise"] >= _THIN) & (judged["error"] >= _EXACT)
    return cleaned, errors, judged.sort_values("noise", ascending=False, kind="stable")


def only_multiplexed(url, program, judged):
    """The rows of events that no other run of the program counted all the time.

    Parameters
    ----------
    url, program : str
    judged : DataFrame
        The last of what :func:`judge_counts` gives.

    Returns
    -------
    DataFrame
        As `judged`.
    """
    runs = interval_runs(url, [program]).query("mode == 'ocoe'")
    alone = {event for names in runs["events"] for event in names} - set(PINNED)
    return judged[~judged.index.isin(alone)]


def say_counts(judged):
    """Which events are too thinly counted to be believed from interval to interval.

    Parameters
    ----------
    judged : DataFrame
        The last of what :func:`judge_counts` gives.

    Returns
    -------
    str
        A clause without its full stop.
    """
    multiplexed, thin = judged[judged["share"] < 100], judged[judged["thin"]]
    shares = [f"{share:.0f}" for share in (multiplexed["share"].min(), multiplexed["share"].max())]
    shares = " to ".join(dict.fromkeys(shares))
    counted = f"{len(multiplexed)} events took turns on the counters, each for {shares} % of the time"
    if len(turns := [event for event in PINNED if event in multiplexed.index]):
        also = " and ".join(turns)
        counted += f"; {also} as well, so that an error of theirs is in IPC and in all rates (pin them: `:D`)"
    if thin.empty:
        return f"{counted}; of none is a quarter or more of what it does over time error of extrapolation"
    named = [f"`{event}` ({row['share']:.0f} % of the time)" for event, row in thin.head(_NAMED).iterrows()]
    return (
        f"{counted}. Too thinly counted to be believed from interval to interval, as a quarter or more of what they do "
        f"over time is error of extrapolation: {_listed(named, len(thin))}"
    )


def say_next(run, judged):
    """What to record next, so that thinly counted events are counted all the time: a command line.

    Parameters
    ----------
    run : cmlib.store.Run
    judged : DataFrame

    Returns
    -------
    str
        A clause without its full stop, which ends in the command as code; empty where no event is too thin.
    """
    thin = list(judged.index[judged["thin"] & ~judged.index.isin(PINNED)])
    if not thin:
        return ""
    size = _at_a_time(judged)
    groups = [thin[start : start + size] for start in range(0, len(thin), size)]
    beside = [event for event in PINNED if event in run.counts]
    command = command_for_groups(run.meta, groups, beside)
    return f"record these events alone, so that none takes turns: ``{command}``"


def with_shares(judged):
    """Names of events with their running shares, for bars.

    Parameters
    ----------
    judged : DataFrame
        As :func:`judge_counts` gives it, with its index as the column ``event``.

    Returns
    -------
    list of str
    """
    return [f"{row.event} ({row.share:.0f} %)" for row in judged.itertuples()]


def _at_a_time(judged):
    """How many events were on the counters at a time, as their shares add up, less instructions and cycles."""
    turns = judged[judged["share"] < 100]
    counters = int(np.ceil(turns["share"].sum() / 100 - 0.1))
    return max(1, counters - len(turns.index.intersection(PINNED)))


def _say_none(names, runs):
    said = ", ".join(names)
    if not runs["running_shares"].all():
        return (
            f"the files of {said} tell no running shares, so that it is not known how much was extrapolated, and "
            "nothing is cleaned. `perf stat -x,` writes them since Linux 3.13."
        )
    if (runs["mode"] == "ocoe").all():
        return (
            f"every event of {said} was on a counter all the time: nothing was extrapolated, and there is nothing to "
            "clean. Counts are as perf printed them."
        )
    most = int(runs["n_intervals"].max())
    return f"no multiplexed run of {said} has {FEWEST_INTERVALS} intervals; the longest has {most}: record longer."


def _listed(named, n):
    return ", ".join(named) + (f" and {n - len(named)} more" if n > len(named) else "")
