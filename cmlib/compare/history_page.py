"""Describe the changes in a history of metrics by commit, as a dict and as an HTML page with a chart for each metric.

A history is a table of a program's metrics (such as seconds), one row per commit. :mod:`cmlib.compare.change_points`
finds the commits at which metrics change. The functions here do not check their arguments;
:mod:`cmlib.compare.histories` refuses histories without values.
"""

import numpy as np

from cmlib.templates import template

_WIDTH, _HEIGHT = 240, 36


def summarize_history(history, subjects, groups, *, alpha, smallest):
    """Summarize the changes in a history as a dict for text, JSON and page.

    Parameters
    ----------
    history : DataFrame
        One row per commit, oldest first (index: its name), one column per metric.
    subjects : list of str
        Subject lines of the commits.
    groups : list of cmlib.compare.change_points.Group
        Metrics that change at one commit, from :func:`cmlib.compare.change_points.find_groups`.
    alpha, smallest : float
        Arguments of find_groups: probability of a false alarm, and smallest relevant change (0.01 is 1 %).

    Returns
    -------
    dict
        ``commits`` and ``metrics`` (their numbers), ``alpha``, ``smallest_change``, and ``groups``, dicts of
        ``commit`` and ``subject`` (str), ``first`` and ``last`` (the first and last commit at which the change may be:
        dicts of commit and subject), ``candidates`` (the number of these commits) and ``steps`` (dicts of ``metric``,
        ``ratio``, after over before, and ``p_value``; None if missing).
    """
    commits = [
        {"commit": str(name), "subject": subject}
        for name, subject in zip(history.index, subjects, strict=True)
    ]
    return {
        "commits": len(history),
        "metrics": history.shape[1],
        "alpha": alpha,
        "smallest_change": smallest,
        "groups": [_describe_group(group, commits) for group in groups],
    }


def _describe_group(group, commits):
    """Return a Group as a dict for JSON; `commits` has the name and subject (dict) of each row."""
    steps = group.steps[["metric", "ratio", "p_value"]]
    return commits[group.row] | {
        "first": commits[group.first],
        "last": commits[group.last],
        "candidates": group.last - group.first + 1,
        "steps": steps.astype(object).where(steps.notna(), None).to_dict("records"),
    }


def history_page(title, history, summary, groups):
    """Return the HTML page of a history: groups of changes, and charts of metrics, those that changed last first.

    Parameters
    ----------
    title : str
    history : DataFrame
        One row per commit, oldest first, one column per metric.
    summary : dict
        Result of :func:`summarize_history`.
    groups : list of cmlib.compare.change_points.Group
        Metrics that change at one commit.

    Returns
    -------
    str

    Raises
    ------
    IndexError
        If a metric has no finite value.
    """
    steps_by_metric = {metric: [] for metric in history}
    for number, group in enumerate(groups):
        for metric in group.steps["metric"]:
            steps_by_metric[metric].append((number, group.row))
    last_row = {
        metric: max((row for _, row in steps), default=-1) for metric, steps in steps_by_metric.items()
    }
    latest_first = sorted(history, key=lambda metric: -last_row[metric])
    pictures = [
        _draw_chart(metric, history[metric].to_numpy(float), steps_by_metric[metric])
        for metric in latest_first
    ]
    page = template("cmlib.compare", "history.html.j2", autoescape=True)
    return page.render(summary, title=title, pictures=pictures, width=_WIDTH, height=_HEIGHT)


def _draw_chart(metric, values, steps):
    """Return the points and steps of a metric's chart (dict); its height shows the middle 98 % of the `values` (array).

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
