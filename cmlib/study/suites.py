"""Which important events programs share, and whether programs of one suite are more alike than others."""

import itertools

import pandas as pd

from cmlib.rank import stability
from cmlib.workloads.programs import recipes


def suites(programs):
    """The suite of each program.

    Parameters
    ----------
    programs : iterable of str

    Returns
    -------
    dict of str to str
        ``own`` for those without a recipe.
    """
    known = recipes()
    return {name: known[name].suite if name in known else "own" for name in programs}


def of_suites(programs, wanted):
    """Those of some programs that belong to one of the suites named, in their order.

    What stands beside a paper's mean is the mean of the paper's own programs.

    Parameters
    ----------
    programs : iterable of str
    wanted : collection of str
        Such as ``["HiBench", "CloudSuite 3.0"]``, CounterMiner's.

    Returns
    -------
    list of str
    """
    return [name for name, suite in suites(programs).items() if suite in wanted]


def paper_figures(programs, numbers):
    """What CounterMiner's figures are called that show these programs.

    Parameters
    ----------
    programs : iterable of str
    numbers : dict of str to str
        Suite to the number of the paper's figure that shows its programs.

    Returns
    -------
    str
        Such as ``Figure 9`` or ``Figures 9 and 10``; ``Figure`` where none of the programs is the paper's.
    """
    figures = [number for suite, number in numbers.items() if of_suites(programs, [suite])]
    return f"Figure{'s' * (len(figures) > 1)} {' and '.join(figures)}".strip()


def common_events(draws, suite_of, *, top=10):
    """Events among the most important of some program, and of how many programs of each suite they are.

    Parameters
    ----------
    draws : dict of str to DataFrame
        Program to importances of resampled models [%] (:func:`cmlib.rank.stability.draw_importances`).
    suite_of : dict of str to str
    top : int, default 10

    Returns
    -------
    DataFrame
        Index: event, the most widespread first. A column a suite (programs with the event among their
        first `top`), ``programs`` (all of them), ``importance`` (mean over all programs [%]).
    """
    means = pd.DataFrame({name: each.mean() for name, each in draws.items()}).fillna(0.0)
    leading = {name: means[name].nlargest(top) for name in means}
    among = pd.DataFrame({name: means.index.isin(first[first > 0].index) for name, first in leading.items()})
    among.index = means.index
    table = among.T.groupby(suite_of).sum().T.astype(int)
    table["programs"] = among.sum(axis=1)
    table["importance"] = means.mean(axis=1)
    table = table[table["programs"] > 0].rename_axis("event")
    return table.sort_values(["programs", "importance"], ascending=False, kind="stable")


def likeness(draws, suite_of, *, seed=0):
    """How alike the rankings of every two programs are.

    Parameters
    ----------
    draws : dict of str to DataFrame
        As in :func:`common_events`. An event that a program's model did not keep counts as
        unimportant to it.
    suite_of : dict of str to str

    Returns
    -------
    DataFrame
        A row a pair: ``pair``, ``suites`` (the suite of both, or ``across``), ``shared`` (share of the
        first ten events that both have) and its 90 % interval ``low`` to ``high``.
    """
    everything = sorted(set().union(*(each.columns for each in draws.values())))
    filled = {name: each.reindex(columns=everything, fill_value=0.0) for name, each in draws.items()}
    rows = []
    for one, other in itertools.combinations(draws, 2):
        shared = stability.rank_agreement(filled[one], filled[other], seed=seed).loc["top10_shared"]
        within = suite_of[one] if suite_of[one] == suite_of[other] else "across"
        row = {"pair": f"{one} – {other}", "suites": within, "shared": shared["value"]}
        rows.append(row | {"low": shared["low"], "high": shared["high"]})
    return pd.DataFrame(rows, columns=["pair", "suites", "shared", "low", "high"])
