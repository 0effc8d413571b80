"""Pairs of events of one program, by both measures of interaction."""

import pandas as pd

from cmlib import events, interact, synthetic

MEASURES = ("h_statistic", "residual_variance")


def pairs(matrix_and_model, *, table, n_events=10, seed=0):
    """Rank the pairs of a program's most important events by both measures.

    Parameters
    ----------
    matrix_and_model : tuple (Matrix, Refinement)
    table : DataFrame
        Event table, for the labels.
    n_events : int, default 10
        Most important events that are paired.
    seed : int, default 0

    Returns
    -------
    dict of str to DataFrame
        Measure to the result of :func:`cmlib.interact.rank_pairs`, with a column
        ``label`` of abbreviations.
    """
    data, refined = matrix_and_model
    chosen = refined.events[:n_events]
    return {
        measure: _labelled(
            interact.rank_pairs(data.X, data.ipc, chosen, method=measure, fitted=refined.model, seed=seed),
            table,
        )
        for measure in MEASURES
    }


def compare_pairs(ranked, table, *, top=10):
    """How the two measures agree on each program, and how often branches are involved.

    Parameters
    ----------
    ranked : dict of str to dict
        Program to the result of :func:`pairs`.
    table : DataFrame
        Event table, whose unit tells branch events.
    top : int, default 10
        Pairs looked at.

    Returns
    -------
    DataFrame
        A row a program.
    """
    branches = [
        name for name in table.index if table.at[name, "unit"] == "branch-prediction" or "_br" in name
    ]
    rows = []
    for program, both in ranked.items():
        orders = [both[measure].set_index("pair")["importance"] for measure in MEASURES]
        row = {"program": program, "rank correlation": orders[0].corr(orders[1], method="spearman")}
        for measure, short in zip(MEASURES, ("H", "Eq. 12"), strict=True):
            row[f"dominant pair, {short}"] = both[measure]["label"].iloc[0]
            row[f"its share, {short} [%]"] = both[measure]["importance"].iloc[0]
            row[f"with branch, {short} [%]"] = (
                100 - interact.involved_share(both[measure], branches, n=top)["none"]
            )
        rows.append(row)
    return pd.DataFrame(rows)


def planted_pairs(seeds):
    """Whether each measure finds the pairs planted in made-up data.

    Parameters
    ----------
    seeds : iterable of int
        A data set each.

    Returns
    -------
    DataFrame
        A row a measure: data sets in which the planted pairs come first, and the
        mean and worst place of the last of them.
    """
    rows, seeds = [], list(seeds)
    for measure in MEASURES:
        last = [_last_place(seed, measure) for seed in seeds]
        first = sum(place == n_planted for place, n_planted in last)
        found = pd.Series([place for place, _ in last])
        rows.append(
            {
                "measure": measure,
                "planted first": first,
                "mean place": found.mean(),
                "worst place": found.max(),
            }
        )
    return pd.DataFrame(rows)


def _last_place(seed, measure):
    data = synthetic.product_pair_data(seed=seed)
    ranking = interact.rank_pairs(data.X, data.ipc, list(data.X), method=measure, seed=seed)
    members = list(zip(ranking["event_a"], ranking["event_b"], strict=True))
    return max(members.index(pair) for pair in data.pairs) + 1, len(data.pairs)


def _labelled(ranked, table):
    names = [events.abbreviate(ranked[side], table) for side in ("event_a", "event_b")]
    return ranked.assign(label=[f"{a}-{b}" for a, b in zip(*names, strict=True)])
