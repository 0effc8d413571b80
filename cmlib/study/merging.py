"""Runs that counted different events, and programs, put together: the study of the GBRT paper."""

import pandas as pd

from cmlib import fuse, rank
from cmlib.boosting import Boosting, regressor
from cmlib.study.data import Matrix, interval_runs

# A tree must find the run before it can look at the run's events. Half the trees of cmlib.study.ranking at a higher
# rate err alike, in half the time: here a model is fitted at every number of events.
_STACKED = Boosting(trees=100, learning_rate=0.15, leaves=31)


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
    found = interval_runs(url, programs)
    return found[["program", "set", "run", "duration_s"]].rename(columns={"duration_s": "seconds"})


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


def refine_both(runs, *, step=10, test_share=0.2, seed=0):
    """Refinement as the GBRT paper has it (Fig. 5), on stacked and on aligned runs.

    Errors are taken on a random share of the rows, as in the paper, and no other.

    Parameters
    ----------
    runs : DataFrame
        Result of :func:`cmlib.study.cleaned_runs`.
    step, test_share, seed
        As in :func:`cmlib.rank.refine`.

    Returns
    -------
    DataFrame
        ``n_events`` and the errors [%] ``stacked``, ``aligned`` and, of the mean
        alone on stacked rows, ``trivial``.
    """
    counts, histories = _first_pass(runs), {}
    for name, fused in (("stacked", fuse.stack_runs(counts)), ("aligned", fuse.align_runs(counts))):
        X, ipc = fused
        options = {"step": step, "test_share": test_share, "select": "random", "n_folds": 0, "seed": seed}
        boosting = _STACKED if name == "stacked" else None
        histories[name] = rank.refine(fuse.scale_to_unit(X), ipc, boosting=boosting, **options).history
    history = histories["stacked"][["n_events", "error", "trivial"]].rename(columns={"error": "stacked"})
    return history.assign(aligned=histories["aligned"]["error"])


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


def mixed_errors(data, events, *, n_blocks=10, n_folds=5, seed=0):
    """How well one model of all programs tells the IPC of each.

    Parameters
    ----------
    data : Matrix
        Result of :func:`mixed`.
    events : list of str
        Those of the model.
    n_blocks, n_folds : int
        Every program's rows are cut into blocks of progress, held out in folds.
    seed : int, default 0

    Returns
    -------
    DataFrame
        A row a program, mean relative errors of IPC [%] on rows held out: ``of all programs``
        (the mixed model), ``of its own`` (a model of this program's rows alone), ``its own mean``;
        and with the whole program held out, of a model of the others, ``of the others``, and of
        their mean, ``mean of the others`` (NaN if there are none).
    """
    programs = data.ipc.index.get_level_values("program")
    progress = data.ipc.index.get_level_values("progress").to_numpy()
    fold = pd.Series((progress * n_blocks).astype(int).clip(max=n_blocks - 1) % n_folds, data.ipc.index)
    X, ipc, rows = data.X[events], data.ipc, []
    blocks = [(fold != k, fold == k) for k in range(n_folds)]
    everywhere = _predicted(X, ipc, blocks, seed)
    for name in dict.fromkeys(programs):
        own = programs == name
        row = {"program": name, "of all programs": rank.relative_error(ipc[own], everywhere[own])}
        inside = [(train[own], test[own]) for train, test in blocks]
        row["of its own"] = rank.relative_error(ipc[own], _predicted(X[own], ipc[own], inside, seed))
        row["its own mean"] = rank.relative_error(ipc[own], ipc[own].mean())
        if not own.all():
            others = _model(seed).fit(X[~own], ipc[~own])
            row["of the others"] = rank.relative_error(ipc[own], others.predict(X[own]))
            row["mean of the others"] = rank.relative_error(ipc[own], ipc[~own].mean())
        rows.append(row)
    columns = [
        "program",
        "of all programs",
        "of its own",
        "its own mean",
        "of the others",
        "mean of the others",
    ]
    return pd.DataFrame(rows, columns=columns)


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
        f"of one program by {errors['of its own'].mean():.1f} %. Of a program it never saw, a model of the others tells "
        f"IPC within {best['of the others']:.1f} % at best ({best['program']}) and "
        f"{worst['of the others']:.1f} % at worst ({worst['program']}); their mean would err by "
        f"{best['mean of the others']:.0f} and {worst['mean of the others']:.0f} %."
    )


def _first_pass(runs):
    return list(runs[runs["pass"] == runs["pass"].min()]["counts"])


def _predicted(X, ipc, folds, seed):
    parts = [
        pd.Series(_model(seed).fit(X[a], ipc[a]).predict(X[b]), ipc.index[b]) for a, b in folds if b.any()
    ]
    return pd.concat(parts).reindex(ipc.index)


def _model(seed):
    return regressor(boosting=None, seed=seed)
