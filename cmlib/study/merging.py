"""Runs that counted different events, and programs, put together: the study of the GBRT paper."""

import numpy as np
import pandas as pd

from cmlib import fuse, rank
from cmlib.errors import UnfitRecordingError
from cmlib.rank.boosting import STACKED, predict_held_out, regressor
from cmlib.study.data import FEWEST_INTERVALS, interval_runs, programs
from cmlib.study.matrices import Matrix
from cmlib.study.simulated_programs import refuse_simulated
from cmlib.study.targets import IPC

# A tree must find the run before it can look at the run's events, so that stacked runs want larger trees.


def mergeable(url, program="all"):
    """Programs with runs that counted different events, which progress can put side by side.

    Parameters
    ----------
    url : str
    program : str, default "all"
        Names separated by commas, or ``all``.

    Returns
    -------
    list of str

    Raises
    ------
    UnfitRecordingError
        If one that was named has no such runs, or none has.
    """
    names = programs(url, program)
    refuse_simulated(
        url, names, "each of its runs counts all events, so that none are merged. Notebook 03 ranks them."
    )
    runs = interval_runs(url, names)
    able = runs[IPC.counted_in(runs) & (runs["n_intervals"] >= FEWEST_INTERVALS)]
    parts = able.groupby("program")["events"].nunique().reindex(names, fill_value=0)
    found = [name for name in names if parts[name] > 1]
    if not found or (program != "all" and len(found) < len(names)):
        name = next(name for name in names if parts[name] < 2)
        count = int(parts[name])
        raise UnfitRecordingError(
            f"merging takes runs that counted different events beside instructions and cycles, {FEWEST_INTERVALS} "
            f"intervals at least, and {name!r} has {count or 'no'} such run{'s' * (count != 1)}. One run "
            "needs no merging: notebook 03 ranks its events as they are. A second run with other events, imported "
            "under the same name, is merged with it."
        )
    return found


def run_times(url, programs):
    """How long every run of some programs lasted.

    Parameters
    ----------
    url : str
    programs : list of str

    Returns
    -------
    DataFrame
        A row a run: program, set, run, seconds.
    """
    runs = interval_runs(url, programs)
    return runs[["program", "set", "run", "duration_s"]].rename(columns={"duration_s": "seconds"})


def run_time_spread(times):
    """Mean and variance of run times (GBRT paper, §3.1, Fig. 2).

    Parameters
    ----------
    times : DataFrame
        Result of :func:`run_times`.

    Returns
    -------
    DataFrame
        A row a program: runs, mean [s], variance [s²], standard deviation as a share of the mean [%], least
        and greatest [s].
    """
    seconds = times.groupby("program")["seconds"]
    spread = seconds.agg(["size", "mean", "var", "min", "max"])
    spread.insert(3, "sd [% of mean]", 100 * seconds.std() / spread["mean"])
    names = {
        "size": "runs",
        "mean": "mean [s]",
        "var": "variance [s²]",
        "min": "least [s]",
        "max": "most [s]",
    }
    return spread.rename(columns=names).reset_index()


def merged(runs):
    """All runs of a program, stacked and aligned, each event scaled to 0–1 (Eq. 3).

    Parameters
    ----------
    runs : DataFrame
        Result of :func:`cmlib.study.cleaned_runs`.

    Returns
    -------
    dict of str to DataFrame
        ``stacked`` (GBRT paper, Fig. 3 c) and ``aligned``, with the same columns in
        the order in which runs counted them first.
    """
    counts = list(runs["counts"])
    stacked, aligned = fuse.stack_runs(counts)[0], fuse.align_runs(counts)[0]
    return {
        "stacked": fuse.scale_to_unit(stacked),
        "aligned": fuse.scale_to_unit(aligned[list(stacked)]),
    }


def merged_shape(runs):
    """Sizes of the matrices of :func:`merged` (GBRT paper, Eq. 1 and 2).

    Parameters
    ----------
    runs : DataFrame
        Result of :func:`cmlib.study.cleaned_runs`.

    Returns
    -------
    Series
        ``runs`` (m), ``events a run`` (q_i, least to greatest), ``events`` (q = card(E)), rows stacked
        (p = Σ t_i) and aligned, events that several runs counted, and the share of each matrix that holds
        counts and not filling [%].
    """
    counts = list(runs["counts"])
    stacked, aligned = fuse.stack_runs(counts)[0], fuse.align_runs(counts)[0]
    events = [[event for event in run if event in stacked and run[event].notna().any()] for run in counts]
    measured = sum(len(run) * len(own) for run, own in zip(counts, events, strict=True))
    sizes = [len(own) for own in events]
    times = pd.Series([event for own in events for event in own]).value_counts()
    return pd.Series(
        {
            "runs": len(counts),
            "events a run": f"{min(sizes)}–{max(sizes)}",
            "events": stacked.shape[1],
            "in several runs": int((times > 1).sum()),
            "rows, stacked": len(stacked),
            "rows, aligned": len(aligned),
            "filled, stacked [%]": 100 * measured / stacked.size,
            "filled, aligned [%]": 100 * aligned.notna().to_numpy().mean(),
        }
    )


def refine_stacked(runs, *, step=10, test_share=0.2, seed=0):
    """Refinement as the GBRT paper has it (Fig. 5): runs stacked, errors on a random share of the rows.

    Parameters
    ----------
    runs : DataFrame
        Result of :func:`cmlib.study.cleaned_runs`; the first pass is taken.
    step, test_share, seed
        As in :func:`cmlib.rank.refine`.

    Returns
    -------
    DataFrame
        As from :func:`cmlib.rank.random_share_errors`.
    """
    X, ipc = fuse.stack_runs(list(runs[runs["pass"] == runs["pass"].min()]["counts"]))
    options = {"step": step, "test_share": test_share, "boosting": STACKED, "seed": seed}
    return rank.random_share_errors(fuse.scale_to_unit(X), ipc, **options)


def mixed(matrices):
    """All programs in one matrix, of the events that each of them has (GBRT paper, Fig. 6, Mix).

    Parameters
    ----------
    matrices : dict of str to Matrix

    Returns
    -------
    Matrix
        Index levels ``program`` and ``progress``; no second pass.
    """
    common = [
        event for event in next(iter(matrices.values())).X if all(event in m.X for m in matrices.values())
    ]
    X = pd.concat({name: data.X[common] for name, data in matrices.items()}, names=["program"])
    ipc = pd.concat({name: data.ipc for name, data in matrices.items()}, names=["program"])
    return Matrix(X, ipc, None)


def mixed_errors(data, *, n_blocks=12, n_folds=4, seed=0):
    """How well one model of all programs tells the IPC of each; all events, so that none was chosen beforehand.

    Parameters
    ----------
    data : Matrix
        Result of :func:`mixed`.
    n_blocks, n_folds : int
        Every program's rows are cut into blocks of neighbouring steps, held out in folds (blocked cross-validation).
    seed : int, default 0

    Returns
    -------
    DataFrame
        A row a program, mean relative errors of IPC [%] on blocks held out: ``of all programs``
        (the mixed model), ``of its own`` (a model of this program's rows alone), ``its own mean``
        (of the other blocks); and with the whole program held out, of a model of the others,
        ``of the others``, and of their mean, ``mean of the others`` (NaN if there are none).
    """
    X, ipc = data.X[sorted(data.X)], data.ipc
    programs = ipc.index.get_level_values("program")
    fold = rank.blocks(ipc.index, n_blocks) % n_folds
    everywhere, rows = predict_held_out(X, ipc, fold, seed=seed), []
    for name in dict.fromkeys(programs):
        own = programs == name
        alone = predict_held_out(X[own], ipc[own], fold[own], seed=seed)
        means = [ipc[own & (fold != held)].mean() for held in fold[own]]
        others = None if own.all() else regressor(seed=seed).fit(X[~own], ipc[~own]).predict(X[own])
        rows.append(
            {
                "program": name,
                "of all programs": rank.relative_error(ipc[own], everywhere[own]),
                "of its own": rank.relative_error(ipc[own], alone),
                "its own mean": rank.relative_error(ipc[own], means),
                "of the others": np.nan if others is None else rank.relative_error(ipc[own], others),
                "mean of the others": np.nan if others is None else _error_of_mean(ipc, own),
            }
        )
    return pd.DataFrame(rows)


def say_mixed(errors):
    """What the errors of :func:`mixed_errors` say, in a sentence for people who know no event by name.

    Returns
    -------
    str
        Markdown; empty if there is but one program.
    """
    if len(errors) < 2:
        return ""
    best = errors.loc[errors["of the others"].idxmin()]
    worst = errors.loc[errors["of the others"].idxmax()]
    return (
        f"One model of all programs errs by {errors['of all programs'].mean():.1f} % on stretches it never saw, models "
        f"of one program by {errors['of its own'].mean():.1f} %. Of a program it never saw, a model "
        "of the others tells "
        f"IPC within {best['of the others']:.1f} % at best ({best['program']}) and "
        f"{worst['of the others']:.1f} % at worst ({worst['program']}); their mean would err by "
        f"{best['mean of the others']:.0f} and {worst['mean of the others']:.0f} %."
    )


def _error_of_mean(ipc, own):
    return rank.relative_error(ipc[own], ipc[~own].mean())
