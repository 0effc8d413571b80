"""Read histories from a CSV: a program's metrics (such as seconds) by commit.

:func:`read_history` returns a DataFrame with one row per commit, and the commits' subject lines. CmlibError for a file
that is not a history, has no values, or is too large.
"""

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError
from cmlib.io.archive import decompress, errors_as, parse_csv, read_file, reading_errors_as

_MOST_BYTES, _MOST_COMMITS, _MOST_CELLS, _MOST_METRICS = 64 << 20, 10_000, 4_000_000, 10_000
_LONG = {"commit", "benchmark", "value"}  # columns of a history with a row for each value
HOW = (
    "A history is a CSV with a column `commit`, optionally `subject`, and a column per metric, oldest first; or with "
    "the columns commit, benchmark and value, optionally series (a machine), date and subject; or a folder with a "
    "folder per commit, each written by `cmlib compare --keep`."
)


def read_history(file):
    """Read a history, oldest commit first.

    Parameters
    ----------
    file : path
        A CSV, compressed or not, with one row per commit (and one column per metric), or one row per value (columns
        ``commit``, ``benchmark``, ``value``). Commits are ordered by their earliest date if there is a column ``date``
        in ISO 8601, else as in the file.

    Returns
    -------
    history : DataFrame, shape (n_commits, n_metrics)
        Medians by commit and metric; NaN where there is none.
    subjects : list of str
        First lines of the commits; empty where unknown.

    Raises
    ------
    CmlibError
        If it is not a history, or has more than 10,000 commits, 10,000 columns, 4 million values or 64 MiB.
    """
    with errors_as(CmlibError, file):
        content = decompress(read_file(file, most=_MOST_BYTES), file)
    with reading_errors_as(CmlibError, f"{file}: it is no CSV", hint=HOW, errors=(ValueError, OverflowError)):
        table = parse_csv(content, most_columns=_MOST_METRICS, dtype={"commit": str, "subject": str})
    if "commit" not in table or not len(table):
        raise CmlibError(f"{file}: it has no column `commit`, or no rows. {HOW}")
    table["commit"] = table["commit"].fillna("")
    if "date" in table:
        dates = pd.to_datetime(table["date"], utc=True, errors="coerce", format="ISO8601")
        table = table.iloc[dates.argsort(kind="stable")]
    subject_lines = table["subject"] if "subject" in table else pd.Series("", table.index)
    subjects = subject_lines.fillna("").groupby(table["commit"], sort=False).first()
    if set(table) >= _LONG:
        metrics = _pivot_values(table, file)
    else:
        metrics = table.drop(columns=["date", "subject"], errors="ignore")
    values = metrics.drop(columns="commit")
    text_columns = values.select_dtypes(exclude=["number", "bool"])
    values = values.assign(**{name: _parse_numbers(texts, file) for name, texts in text_columns.items()})
    values = values.replace([np.inf, -np.inf], np.nan)
    history = values.groupby(metrics["commit"], sort=False).median().dropna(axis="columns", how="all")
    check_history(history, file)
    return history, list(subjects.reindex(history.index))


def check_history(history, path):
    """Check the size of a history.

    Parameters
    ----------
    history : DataFrame, shape (n_commits, n_metrics)
        One row per commit.
    path : path
        File or folder of the history, for the message.

    Raises
    ------
    CmlibError
        If the history has no values, or too many.
    """
    if history.empty:
        raise CmlibError(f"{path}: it has no value of any metric. {HOW}")
    commits, metrics = history.shape
    if commits > _MOST_COMMITS or metrics > _MOST_METRICS or history.size > _MOST_CELLS:
        raise CmlibError(
            f"{path} is refused: {commits:,} commits by {metrics:,} metrics; {_MOST_COMMITS:,} commits, "
            f"{_MOST_METRICS:,} metrics and {_MOST_CELLS:,} values are the most. Give the latest ones, or fewer."
        )


def _parse_numbers(texts, file):
    """Parse a column (Series of str) to numbers, NaN for other texts; CmlibError if a number is too large."""
    with reading_errors_as(CmlibError, f"{file}: a value of {texts.name} is too large", hint=HOW):
        return pd.to_numeric(texts, errors="coerce")


def _pivot_values(table, file):
    """Turn a table with one row per value (commit, benchmark, value) into one with one row per commit.

    Commits keep the order of the file. Several values of a commit and benchmark become their median. CmlibError if
    there would be more than 4 million values.
    """
    metric = table["benchmark"].astype(str)
    if "series" in table:
        metric = table["series"].astype(str) + " · " + metric
    if table["commit"].nunique() * metric.nunique() > _MOST_CELLS:
        raise CmlibError(f"{file} is refused: commits by benchmarks are more than {_MOST_CELLS:,} values.")
    values = _parse_numbers(table["value"], file)
    wide = values.groupby([table["commit"], metric]).median().unstack()
    return wide.reindex(table["commit"].unique()).rename_axis("commit").reset_index()
