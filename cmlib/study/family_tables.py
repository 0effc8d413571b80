"""Tables of families of events: how far they can be trusted, and what goes along with them."""

import numpy as np
import pandas as pd

from cmlib import fuse, topdown

_FLAT = 0.2  # rank correlation below which nothing is said of a direction


def judge_families(found, core=None):
    """How stable the first families of each program are, and how far their model errs.

    Parameters
    ----------
    found : dict of str to Families
        By program.
    core : dict of str to Families, optional
        The same of the core events alone, of which there is a second pass; gives the last columns.

    Returns
    -------
    DataFrame
        A row a program: its families, the ``distance`` up to which events were joined, the ``overlap`` of
        the first five between resampled models, ``random rankings``, and ``members alike`` where each
        resample groups for itself [0–1]; errors of cycles per instruction [%] on held-out blocks, of the
        ``families``, of ``single events`` and of the ``mean``; and of core events, the overlap ``between
        passes`` and the errors on another pass.
    """
    rows = {}
    for program, one in found.items():
        own = _errors(one, "held-out blocks")
        rows[program] = one.stability.drop(columns="between passes").iloc[0].to_dict()
        rows[program] |= {f"error, {name}": error for name, error in own.items()}
        if core and len(core[program].errors) > 1:
            other = _errors(core[program], "another pass")
            rows[program]["core events: between passes"] = core[program].stability["between passes"].iloc[0]
            rows[program] |= {f"another pass: {name}": error for name, error in other.items()}
    return pd.DataFrame(rows).T.rename_axis("program").astype({"families": int}).reset_index()


def compare_with_account(found):
    """Whether the first family of stalls or misses goes with the category that takes most of the varying cycles.

    Parameters
    ----------
    found : dict of str to Families

    Returns
    -------
    DataFrame
        A row a program that has both: ``family``, its ``cycles`` per 1,000 instructions, the ``goes with`` category and
        their correlation ``r``; the account's ``largest`` category by what it takes more in busy than in quiet
        steps, with its ``cycles of that``; and whether they ``agree``.
    """
    rows = []
    for program, one in found.items():
        losses = one.table[one.table["class"].isin(["stall", "miss"])]
        if losses.empty or one.categories.empty:
            continue
        first, largest = losses.iloc[0], one.categories.loc[one.categories["cycles"].idxmax()]
        rows.append(
            {
                "program": program,
                "family": first["name"],
                "cycles": first["cycles_per_kilo_instruction"],
                "goes with": first["category"],
                "r": first["category_r"],
                "largest": largest["category"],
                "cycles of that": largest["cycles"],
                "agree": bool(first["category"] == largest["category"]),
            }
        )
    return pd.DataFrame(rows)


def directions(X, cpi):
    """Whether there are more or fewer of each event where cycles per instruction are high.

    Returns
    -------
    Series of str
        By event: "more", "fewer", or empty where the rank correlation is weaker than 0.2.
    """
    along = X.rank().corrwith(cpi.rank())
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


def _errors(found, test):
    return found.errors.set_index("test").loc[test]
