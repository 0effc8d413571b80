"""Cycles per instruction of the categories of the top-down account, by steps of progress."""

import pandas as pd

from cmlib import fuse, topdown


def category_cycles(runs, table_name, progress):
    """Cycles per instruction of every category on level 1 of the top-down account, by steps of progress.

    Parameters
    ----------
    runs : DataFrame
        Cleaned runs (:func:`cmlib.study.cleaned_runs`).
    table_name : str or None
        Event table of their machine, as of :func:`cmlib.topdown.choose_table`.
    progress : Index of float
        Middles of equal steps.

    Returns
    -------
    DataFrame, shape (n_steps, n_categories)
        Without a column where the events of no category were counted.
    """
    rates, ipc = topdown.merge_steps(fuse.step_runs(list(runs["counts"]), len(progress)))
    table = topdown.choose_table(rates.columns, table_name)
    if table is None:
        return pd.DataFrame(index=progress)
    level = topdown.account(rates, table).level().div(ipc, axis=0)
    return level.loc[:, level.std() > 0].set_axis(progress, axis=0)
