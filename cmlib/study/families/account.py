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
        Event table of their machine; where it has no table of categories, the one that their events fit is taken.
    progress : Index of float
        Middles of equal steps.

    Returns
    -------
    DataFrame, shape (n_steps, n_categories)
        Without a column where the events of no category were counted.
    """
    rates, ipc = topdown.merge_steps(fuse.step_runs(list(runs["counts"]), len(progress)))
    known = table_name in topdown.tables()
    table = topdown.read_table(table_name) if known else topdown.choose_table(rates.columns)
    if table is None:
        return pd.DataFrame(index=progress)
    level = topdown.account(rates, table).level().div(ipc, axis=0)
    return level.loc[:, level.std() > 0].set_axis(progress, axis=0)
