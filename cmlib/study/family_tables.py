"""What goes along with families of events: the sign of cycles per instruction, categories of the top-down account."""

import numpy as np
import pandas as pd

_FLAT = 0.2  # rank correlation below which nothing is said of a direction


def directions(X, cpi):
    """Whether there are more or fewer of each event where cycles per instruction are high.

    Returns
    -------
    Series of str
        By event: "more", "fewer", or empty where the rank correlation is weaker than 0.2.
    """
    along = X.corrwith(cpi, method="spearman")
    return pd.Series(np.select([along >= _FLAT, along <= -_FLAT], ["more", "fewer"], ""), index=X.columns)


def category_of(contributions, cycles):
    """The category of an account that goes with each family.

    Parameters
    ----------
    contributions : DataFrame, shape (n_steps, n_families)
        Cycles per instruction that each family adds. Index: progress.
    cycles : DataFrame, shape (n_steps, n_categories)
        From :func:`category_cycles`; without a column where there is no account.

    Returns
    -------
    DataFrame
        Index: family. Columns ``category``, the one whose cycles per instruction are most correlated with the family's,
        and ``category_r``.
    """
    if cycles.empty:
        return pd.DataFrame({"category": "", "category_r": np.nan}, index=contributions.columns)
    along = pd.DataFrame({name: contributions.corrwith(cycles[name]) for name in cycles}).fillna(-1.0)
    return pd.DataFrame({"category": along.idxmax(axis=1), "category_r": along.max(axis=1)})


def category_cycles(account, progress):
    """Cycles per instruction of every category on level 1 of an account, at places of progress.

    Parameters
    ----------
    account : ProgramAccount
    progress : Index of float

    Returns
    -------
    DataFrame, shape (n_steps, n_categories)
    """
    level = account.account.level().div(account.ipc, axis=0)
    level = level.loc[:, level.std() > 0]
    return pd.DataFrame(
        {name: np.interp(progress, level.index, values) for name, values in level.items()}, index=progress
    )
