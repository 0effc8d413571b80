"""Changes in a history of metrics by commit: as a dict, and as an HTML page with a small chart for each metric.

A history is a table of a program's metrics (such as seconds), one row per commit. :mod:`cmlib.compare.change_points`
finds the commits at which metrics change. Nothing is checked here: :mod:`cmlib.compare.histories` refuses histories
without values.
"""

import numpy as np

from cmlib.templates import template

_WIDTH, _HEIGHT = 240, 36


def summarize_history(history, subjects, groups, *, alpha, smallest):
    """The changes in a history as a dict for text, JSON and page.

    Parameters
    ----------
    history : DataFrame
        A row per commit, oldest first (index: its name), a column per metric.
    subjects : list of str
        Subject lines of the commits.
    groups : list of cmlib.compare.change_points.Group
        Metrics that change at one commit, as :func:`cmlib.compare.change_points.find_groups` gives them.
    alpha, smallest : float
        What find_groups was called with: the false-alarm probability, and the smallest relevant change (0.01 is 1 %).

    Returns
    -------
    dict
        ``commits`` and ``metrics`` (their numbers), ``alpha``, ``smallest_change``, and ``groups``, dicts of
        ``commit`` and ``subject`` (str), ``first`` and ``last`` (the commits between which the change may be: dicts
        of commit and subject), ``candidates`` (the number of these commits) and ``steps`` (dicts of ``metric``,
        ``ratio``, after over before, and ``p_value``; None if missing).
    """

    def commit(row):
        """Name and subject (dict) of the commit in a row."""
        return {"commit": str(history.index[row]), "subject": subjects[row]}

    def describe(group):
        """A Group as a dict for JSON."""
        steps = group.steps[["metric", "ratio", "p_value"]]
        ends = {"first": commit(group.first), "last": commit(group.last)}
        rows = steps.astype(object).where(steps.notna(), None).to_dict("records")
        return commit(group.row) | ends | {"candidates": group.last - group.first + 1, "steps": rows}

    numbers = {"commits": len(history), "metrics": history.shape[1]}
    limits = {"alpha": alpha, "smallest_change": smallest}
    return numbers | limits | {"groups": list(map(describe, groups))}


def history_page(title, history, summary, groups):
    """The HTML page (str) of a history: groups of changes, and charts of metrics, those that changed last first.

    `title` is a str, `history` and `groups` are those of :func:`summarize_history`, `summary` its result. Each metric
    needs at least one finite value (IndexError).
    """
    steps = {metric: [] for metric in history}
    for number, group in enumerate(groups):
        for metric in group.steps["metric"]:
            steps[metric].append((number, group.row))
    latest = sorted(history, key=lambda metric: -max((row for _, row in steps[metric]), default=-1))
    pictures = [_picture(metric, history[metric].to_numpy(float), steps[metric]) for metric in latest]
    page = template("cmlib.compare", "history.html.j2", autoescape=True)
    return page.render(summary, title=title, pictures=pictures, width=_WIDTH, height=_HEIGHT)


def _picture(metric, values, steps):
    """Points and steps of a metric's chart (dict), whose height is the middle 98 % of the `values` (array).

    `steps` is a list of (number of the group from 0, row at which the metric changes).
    """
    rows = np.flatnonzero(np.isfinite(values))
    low, high = np.quantile(values[rows], [0.01, 0.99])
    x = _WIDTH * np.arange(len(values)) / max(1, len(values) - 1)
    share = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
    y = _HEIGHT * (1 - np.clip(share, 0, 1))
    return {
        "metric": metric,
        "points": " ".join(f"{x[row]:.1f},{y[row]:.1f}" for row in rows),
        "steps": [{"group": number + 1, "x": f"{x[row]:.1f}"} for number, row in steps],
        "first": values[rows[0]],
        "last": values[rows[-1]],
    }
