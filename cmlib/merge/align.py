"""Merge runs that counted different events into one matrix with its IPC: stacked, or aligned by progress.

:func:`stack_runs` and :func:`align_runs` take the counts of each run, DataFrames, and return X (DataFrame with a
column per event) and ipc (Series; instructions per cycle). Stacked, X has the counts of all intervals. Aligned, X
has rates per cycle in steps of progress, the share of a run's instructions that are retired; `per` chooses other
rates. Intervals without instructions or cycles are dropped. Raises an UnfitRecordingError (a ValueError) if a run
lacks instructions or cycles, has gaps, or (to be aligned) did not do the same work.
"""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from cmlib.errors import InputError, UnfitRecordingError
from cmlib.rank.leaks import is_named_leak, require_ipc

_MOST_STEPS = 200


def stack_runs(
    runs: Sequence[pd.DataFrame], *, per: str | None = None, leave_out: Collection[str] = ()
) -> tuple[pd.DataFrame, pd.Series]:
    """Stack runs into one matrix, with zeros for events that a run did not count.

    Every run keeps its own rows and its own IPC. An event counted by several
    runs has one column; the rest of the matrix is filled with zeros, which makes
    it block-diagonal (GBRT paper, §3.1, Eq. 1 and 2, Fig. 3).

    Parameters
    ----------
    runs : sequence of DataFrame
        Cleaned counts of one run each: a row per interval, a column per event, among them
        ``instructions`` and ``cycles``. Columns that are all NaN are taken as not counted.
    per : str, optional
        Event by whose count of the same interval the counts are divided: "cycles", "instructions" or
        another column that every run has. By default none, as in the paper. 0/0 becomes 0.
    leave_out : collection of str, optional
        Events to leave out of X, besides leaks: those whose name says that they count instructions, cycles or something
        in proportion to them (:func:`cmlib.rank.leaks.is_named_leak`).

    Returns
    -------
    X : DataFrame of float, shape (sum of n_intervals, n_events)
        Intervals without instructions or cycles are dropped. Index: ``run`` (position in `runs`) and ``progress``
        (share of the run's instructions retired by the middle of the interval).
    ipc : Series of float
        Instructions per cycle of each row.

    Raises
    ------
    ValueError
        If a run lacks instructions, cycles or `per`, has fewer than 2 intervals, or
        has NaN in an event that it did count (clean it first).
    """
    tables, ipcs = [], []
    for number, run in enumerate(_check_runs(runs)):
        retired = run["instructions"].cumsum() - run["instructions"] / 2
        progress = retired / run["instructions"].sum()
        run = run.set_axis(pd.MultiIndex.from_product([[number], progress], names=["run", "progress"]))
        tables.append(_divide_rates(run, per, leave_out))
        ipcs.append(run["instructions"] / run["cycles"])
    return pd.concat(tables).fillna(0.0), pd.concat(ipcs).rename("ipc")


def align_runs(
    runs: Sequence[pd.DataFrame],
    n_steps: int | None = None,
    *,
    per: str | None = "cycles",
    leave_out: Collection[str] = (),
) -> tuple[pd.DataFrame, pd.Series]:
    """Align runs of one program by progress, and average them step by step of progress.

    A step is an equal share of a run's instructions. All runs did the same work, so the same share is
    the same place in the program. Each run's cumulative counts are interpolated
    at equal shares of its own instructions; the differences, divided by the run's
    own cycles in that step, are the rates of the step. An event that several runs
    counted takes their mean, and so does IPC over all runs.

    Parameters
    ----------
    runs : sequence of DataFrame
        Cleaned counts of one run each: a row per interval, a column per event, among them
        ``instructions`` and ``cycles``. Columns that are all NaN are taken as not counted.
    n_steps : int >= 2, optional
        Rows of the result. By default as many as the shortest run has intervals,
        but 200 at most: with more steps than intervals, neighboring rows are interpolated
        from the same interval.
    per : str or None, default "cycles"
        Event by whose count a step's counts are divided, a column that every run has; with None, X has counts.
    leave_out : collection of str, optional
        Events to leave out of X, besides leaks, as of :func:`stack_runs`.

    Returns
    -------
    X : DataFrame of float, shape (n_steps, n_events)
        Index: ``progress``, the middle of the step [share of instructions, 0–1].
    ipc : Series of float
        Mean over runs of instructions per cycle in the step.

    Raises
    ------
    ValueError
        If a run lacks instructions, cycles or `per`, has fewer than 2 intervals, or has NaN in an
        event that it did count (clean it first); if a run retired less than half or more than twice
        the median run's instructions: then it did not do the same work; or if `n_steps` is below 2.

    Notes
    -----
    The mean IPC by progress hardly changes from pass to pass, so that a model may
    learn the place in the program instead of the events. Compare its error on another pass with
    ``holdout_repeat`` among the baselines of :func:`cmlib.rank.refine`.

    Examples
    --------
    Two runs of gcc that counted different events, cut into twenty steps of equal instructions:

    >>> import gzip
    >>> from cmlib.io import perf
    >>> files = [f"data/recordings/gcc/ocoe-p0-0{run}.csv.gz" for run in range(2)]
    >>> texts = [gzip.open(file, "rt").read() for file in files]
    >>> runs = [perf.series(perf.parse_stat(text))[0] for text in texts]
    >>> X, ipc = align_runs(runs, n_steps=20)
    >>> X.shape, round(float(ipc.mean()), 2)
    ((20, 6), 1.65)
    """
    steps = step_runs(runs, n_steps)
    rates = pd.concat([_divide_rates(step, per, leave_out) for step in steps], axis=1)
    ipc = sum(step["instructions"] / step["cycles"] for step in steps) / len(steps)
    return rates.T.groupby(level=0, sort=False).mean().T, ipc.rename("ipc")


def step_runs(runs: Sequence[pd.DataFrame], n_steps: int | None = None) -> list[pd.DataFrame]:
    """Cut each run into steps of equal progress, the share of its instructions that are retired.

    The counts of an interval are assumed to be spread evenly over its instructions.

    Parameters
    ----------
    runs : sequence of DataFrame, shape (n_intervals, n_events)
        Counts of each run of one program (no NaN in an event that was counted), ``instructions`` and ``cycles``
        among them; runs may differ in both numbers.
    n_steps : int >= 2, optional
        Number of steps. By default as many as the shortest run has intervals, but 200 at most.

    Returns
    -------
    list of DataFrame, shape (n_steps, n_events counted)
        Of each run its counts in each step, which add up to those of its intervals with instructions and cycles.
        Index: ``progress``, the middle of the step [share of instructions, 0–1].

    Raises
    ------
    ValueError
        If a run lacks instructions or cycles, has gaps or fewer than 2 intervals, or retired less than half or more
        than twice the median run's instructions; if `n_steps` is below 2.
    """
    runs = _check_runs(runs)
    _require_same_work(runs)
    n_steps = min(_MOST_STEPS, *map(len, runs)) if n_steps is None else n_steps
    if n_steps < 2:
        raise InputError(f"n_steps is {n_steps}; at least 2 steps are needed.")
    return [_interpolate_progress(run, n_steps) for run in runs]


def align_passes(runs, passes, **options):
    """Align the runs of each pass over the events separately, so that a model of one can be tested on another.

    Parameters
    ----------
    runs : sequence of DataFrame
        Cleaned counts of one run each: a row per interval, a column per event, among them
        ``instructions`` and ``cycles``.
    passes : sequence of hashable, shape (n_runs,)
        The pass (runs that together count all events once) that each run belongs to.
    **options
        `per` (by default "cycles") and `leave_out` of :func:`align_runs`.

    Returns
    -------
    dict of hashable to (DataFrame, Series)
        By pass: X, a row per step, a column per event that all passes counted, and ipc, as of :func:`align_runs`. There
        are as many steps as the shortest run has intervals, but 200 at most.

    Raises
    ------
    ValueError
        If no event was counted in every pass, or as for :func:`align_runs`, whose median run is that of each pass.
    """
    n_steps = min(_MOST_STEPS, *map(len, _check_runs(runs)))
    by_pass = {}
    for run, name in zip(runs, passes, strict=True):
        by_pass.setdefault(name, []).append(run)
    matrices = {name: align_runs(group, n_steps, **options) for name, group in by_pass.items()}
    first = next(iter(matrices.values()))[0]
    common = [event for event in first if all(event in X for X, _ in matrices.values())]
    if not common:
        raise UnfitRecordingError(f"no event was counted in every pass of {list(matrices)}; align one alone.")
    return {name: (X[common], ipc) for name, (X, ipc) in matrices.items()}


def _check_runs(runs):
    """Return the runs without events that they did not count and intervals in which the program did not run.

    Raises the errors of the inputs.
    """
    runs = [_check_run(run, f"run {number}") for number, run in enumerate(runs)]
    if not runs:
        raise UnfitRecordingError("no runs to merge.")
    return runs


def _check_run(run, label):
    """Check and return one run as :func:`_check_runs` does; `label` names it in messages."""
    require_ipc(run, label)
    # An interval without instructions or cycles has no IPC and no rates: the program did not run.
    at_work = (run["instructions"] > 0) & (run["cycles"] > 0)
    run = run.loc[at_work, run.notna().any()].astype(float)
    if len(run) < 2:
        raise UnfitRecordingError(f"{label} has {len(run)} interval(s) with work; merging needs at least 2.")
    holes = run.isna().sum()
    if holes.any():
        event = holes.idxmax()
        raise UnfitRecordingError(
            f"{label}: event {event!r} has no count in {holes[event]} of {len(run)} intervals; fill the gaps "
            "first, with cmlib.clean.clean_run."
        )
    return run


def _require_same_work(runs):
    """Raise an UnfitRecordingError if a run retired less than half or more than twice the median run's instructions."""
    retired = np.array([run["instructions"].sum() for run in runs])
    ratio = retired / np.median(retired)
    for number in np.flatnonzero((ratio < 0.5) | (ratio > 2)):
        raise UnfitRecordingError(
            f"run {number} retired {retired[number]:.3g} instructions, {ratio[number]:.2g} times the median "
            "run's; it was cut off or is of another program or input, and can't be aligned with the rest."
        )


def _interpolate_progress(run, n_steps):
    """Interpolate a run's cumulative counts linearly, and return its counts in n steps of equal instructions."""
    cumulative = np.vstack([np.zeros(run.shape[1]), np.cumsum(run.to_numpy(), axis=0)])
    retired = cumulative[:, run.columns.get_loc("instructions")]
    share = retired / retired[-1]
    edges = np.linspace(0.0, 1.0, n_steps + 1)
    at_edges = np.column_stack([np.interp(edges, share, column) for column in cumulative.T])
    middle = pd.Index((edges[:-1] + edges[1:]) / 2, name="progress")
    return pd.DataFrame(np.diff(at_edges, axis=0), index=middle, columns=run.columns)


def _divide_rates(run, per, leave_out):
    """Return the events of a run without leaks, divided by the column `per` if it is given."""
    if per is not None and per not in run:
        raise InputError(f'per is {per!r}; it is "cycles", "instructions", None or a column of every run.')
    chosen = [event for event in run if not is_named_leak(event) and event not in leave_out]
    return run[chosen] if per is None else run[chosen].div(run[per], axis=0)
