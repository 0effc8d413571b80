"""The programs that costs were learned from: see `data/cost/README.md`."""

from functools import cache

import numpy as np
import pandas as pd

from cmlib import places
from cmlib.cost.pooled import PooledCost

LARGER_CACHE = ("3.5 MiB", "7 MiB", "14 MiB", "19.25 MiB")


def changes(settings=LARGER_CACHE):
    """Twenty programs of SPEC CPU2006 whose misses were changed, and what that changed.

    Parameters
    ----------
    settings : sequence of str
        Sizes of the last-level cache, all prefetchers on, in place of 1.75 MiB; or the prefetchers left on there:
        ``none``, ``DCUI``, ``DCUP``, ``L2A``, ``L2P``.

    Returns
    -------
    X : DataFrame
        What :meth:`PooledCost.fit` takes; ``setting``; and ``stores_change`` of misses of stores per instruction.
    y : Series
        Measured change of cycles per instruction.
    """
    folder = places.cost_dir()
    table = pd.read_csv(folder / "changes.csv").merge(pd.read_csv(folder / "programs.csv"), on="program")
    table = table[table["setting"].isin(list(settings))].reset_index(drop=True)
    return table.drop(columns="cycles_change"), table["cycles_change"]


@cache
def learned(*, elsewhere=False):
    """Costs learned from all these programs and their larger caches: a fitted :class:`PooledCost`.

    Parameters
    ----------
    elsewhere : bool, default False
        For another processor or another kind of misses: what other programs cost tells less there, by as much as it
        differs from another set of recordings (`data/cost/processors.csv`).
    """
    X, y = changes()
    return _fitted(X.drop(columns="stores_change"), y, elsewhere)


def _fitted(X, y, elsewhere):
    model = PooledCost().fit(X, y)
    if elsewhere:
        others = pd.read_csv(places.cost_dir() / "processors.csv")
        centers = np.log([model.center_, *others["center"]])
        within = np.mean(np.square([model.spread_, *others["spread"]]))
        model.center_ = float(np.exp(centers.mean()))
        model.spread_ = float(np.sqrt(within + (1 + 1 / len(centers)) * centers.var(ddof=1)))
        model.calibrate(X, y)
    return model


def held_out(X, y, *, elsewhere=False):
    """Each program's changes foretold by a model that learned from the larger caches of the others.

    Parameters
    ----------
    X, y : as of :func:`changes`
        Where X has no ``stores_change``, misses of stores are taken to change in proportion.
    elsewhere : bool, default False
        As of :func:`learned`.

    Returns
    -------
    DataFrame
        A row as of X: ``program``, ``setting``; ``measured``, ``predicted``, ``low`` and ``high`` in percent of the
        cycles before the change, positive where cycles are saved; and ``cost`` of a miss [cycles].
    """
    learns = X["setting"].isin(LARGER_CACHE)
    parts = []
    for program, rows in X.groupby("program", sort=False):
        rest = learns & (X["program"] != program)
        model = _fitted(X[rest].drop(columns="stores_change", errors="ignore"), y[rest], elsewhere)
        (low, high), scale = model.predict_interval(rows), -100 / rows["cycles"]
        table = {"measured": y[rows.index], "predicted": model.predict(rows), "low": high, "high": low}
        foretold = pd.DataFrame(table, rows.index).mul(scale, axis=0)
        parts.append(rows[["program", "setting"]].join(foretold).assign(cost=model.posterior(rows)["cost"]))
    return pd.concat(parts).sort_index()
