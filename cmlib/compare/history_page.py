"""Describe the changes of metrics over commits as a dict and as an HTML page.

:func:`summarize_history` returns the dict, and :func:`history_page` the page with one chart per metric. A
history is a DataFrame of metrics (for example, run times) with one row per commit. The changes are found by
:func:`cmlib.compare.change_points.find_groups`.
"""

import numpy as np
import pandas as pd

from cmlib.compare.change_points import Group
from cmlib.templates import template

_WIDTH = 240  # of a chart [px]
_HEIGHT = 36  # of a chart [px]


def summarize_history(
    history: pd.DataFrame, subjects: list[str], groups: list[Group], *, alpha: float, smallest: float
) -> dict:
    """Summarize the changes in a history.

    Parameters
    ----------
    history : DataFrame
        Metrics, one row per commit, oldest first.
    subjects : list of str
        Subject lines of the commits.
    groups : list of Group
        Result of :func:`cmlib.compare.change_points.find_groups`.
    alpha : float
        Probability of a false alarm.
    smallest : float
        Smallest relevant change, as a fraction.

    Returns
    -------
    dict
        ``commits`` and ``metrics`` (their numbers), ``alpha``, ``smallest_change`` and ``groups``. A group is
        a dict with the following keys:

        - ``commit``, ``subject``: name and subject line of the commit
        - ``first``, ``last``: first and last commit at which the change can be
        - ``candidates``: number of these commits
        - ``steps``: list of dicts with ``metric``, ``ratio`` and ``p_value``
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


def _describe_group(group: Group, commits: list[dict]) -> dict:
    """Convert a group to a dict for JSON. `commits` contains name and subject of each row."""
    steps = group.steps[["metric", "ratio", "p_value"]]
    return commits[group.row] | {
        "first": commits[group.first],
        "last": commits[group.last],
        "candidates": group.last - group.first + 1,
        "steps": steps.astype(object).where(steps.notna(), None).to_dict("records"),
    }


def history_page(title: str, history: pd.DataFrame, summary: dict, groups: list[Group]) -> str:
    """Render the HTML page of a history.

    Metrics with the latest changes come first.

    Parameters
    ----------
    title : str
        Title of the page.
    history : DataFrame
        Metrics, one row per commit, oldest first. Each metric needs a finite value.
    summary : dict
        Result of :func:`summarize_history`.
    groups : list of Group
        Result of :func:`cmlib.compare.change_points.find_groups`.

    Returns
    -------
    str
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


def _draw_chart(metric: str, values: np.ndarray, steps: list[tuple[int, int]]) -> dict:
    """Return the points and steps of a metric's chart.

    The chart shows the middle 98 % of the values. `steps` contains the number of each group, and the row at
    which the metric changes.
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
