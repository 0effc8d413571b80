"""Read the history of a program from a CSV: its metrics, such as run times, by commit.

:func:`read_history` returns a DataFrame with one row per commit and one column per metric, and the commits' subject
lines. CmlibError for a file that is not a history, has no values, or is too large.
"""

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError
from cmlib.io.archive import decompress, errors_as, parse_csv, read_file, reading_errors_as

_MOST_BYTES = 64 << 20
_MOST_COLUMNS = 10_000  # of the CSV: pandas takes minutes for many more
_MOST_COMMITS = 10_000
_MOST_METRICS = 10_000
_MOST_VALUES = 4_000_000  # commits times metrics
_VALUE_COLUMNS = {"commit", "benchmark", "value"}  # of a CSV with one row per value
# Ends the error messages for files here, and for folders in cmlib.compare.kept.
FORMATS_HINT = (
    "A history is a CSV or a folder. The CSV has one row per commit, oldest first: a column `commit`, optionally "
    "`subject`, and a column per metric. Or it has one row per value: the columns commit, benchmark and value, "
    "optionally series (a machine), date and subject. The folder has a folder per commit, each written by `cmlib "
    "compare --keep`."
)


def read_history(file):
    """Read a history, oldest commit first.

    Parameters
    ----------
    file : path
        A CSV, compressed or not. It has one row per commit (and one column per metric), or one row per value (columns
        ``commit``, ``benchmark``, ``value``). If there is a column ``date`` in ISO 8601, commits are ordered by their
        earliest date, and those without a valid date come last, in the order of the file. Otherwise, commits keep the
        order of the file.

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
    table = _sort_by_date(_read_table(file))
    if "subject" in table:
        subject_lines = table["subject"].fillna("")
    else:
        subject_lines = pd.Series("", table.index)
    subject_by_commit = subject_lines.groupby(table["commit"], sort=False).first()
    if set(table) >= _VALUE_COLUMNS:
        values = _pivot_values(table, file)
    else:
        values = _parse_metrics(table, file)
    values = values.replace([np.inf, -np.inf], np.nan)
    history = values.groupby(level="commit", sort=False).median().dropna(axis="columns", how="all")
    check_history(history, file)
    return history, list(subject_by_commit.reindex(history.index))


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
        raise CmlibError(f"{path}: it has no value of any metric. {FORMATS_HINT}")
    n_commits, n_metrics = history.shape
    if n_commits > _MOST_COMMITS or n_metrics > _MOST_METRICS or history.size > _MOST_VALUES:
        raise CmlibError(
            f"{path} is refused: {n_commits:,} commits by {n_metrics:,} metrics; {_MOST_COMMITS:,} commits, "
            f"{_MOST_METRICS:,} metrics and {_MOST_VALUES:,} values are the most. Give the latest ones, or fewer."
        )


def _read_table(file):
    """Read a CSV with a column `commit`; CmlibError if it is not one or has no rows."""
    with errors_as(CmlibError, file):
        content = decompress(read_file(file, most=_MOST_BYTES), file)
    with reading_errors_as(
        CmlibError, f"{file}: it is not a CSV", hint=FORMATS_HINT, errors=(ValueError, OverflowError)
    ):
        table = parse_csv(content, most_columns=_MOST_COLUMNS, dtype={"commit": str, "subject": str})
    if "commit" not in table or table.empty:
        raise CmlibError(f"{file}: it has no column `commit`, or no rows. {FORMATS_HINT}")
    return table.assign(commit=table["commit"].fillna(""))


def _sort_by_date(table):
    """Sort the rows by the column `date`, if there is one; rows without a valid date come last."""
    if "date" not in table:
        return table
    dates = pd.to_datetime(table["date"], utc=True, errors="coerce", format="ISO8601")
    return table.assign(date=dates).sort_values("date", kind="stable", na_position="last")


def _parse_metrics(table, file):
    """Parse the metrics in a table with one column per metric: a DataFrame of numbers, with the commits as index."""
    metrics = table.drop(columns=["commit", "date", "subject"], errors="ignore")
    text_columns = metrics.select_dtypes(exclude=["number", "bool"])
    metrics = metrics.assign(**{name: _parse_numbers(texts, file) for name, texts in text_columns.items()})
    return metrics.set_axis(pd.Index(table["commit"], name="commit"))


def _parse_numbers(texts, file):
    """Parse a column (Series of str) to numbers, NaN for other texts; CmlibError if a number is too large."""
    with reading_errors_as(CmlibError, f"{file}: a value of {texts.name} is too large", hint=FORMATS_HINT):
        return pd.to_numeric(texts, errors="coerce")


def _pivot_values(table, file):
    """Turn a table with one row per value into one with one row per commit, in the order of their first rows.

    The index of the result contains the commits. There is one column per benchmark, or per series and benchmark.
    Several values of a commit and benchmark become their median. CmlibError if there would be more than 4 million
    values.
    """
    metric_names = table["benchmark"].astype(str)
    if "series" in table:
        metric_names = table["series"].astype(str) + " · " + metric_names
    if table["commit"].nunique() * metric_names.nunique() > _MOST_VALUES:
        raise CmlibError(f"{file} is refused: commits by benchmarks are more than {_MOST_VALUES:,} values.")
    values = _parse_numbers(table["value"], file)
    medians = values.groupby([table["commit"], metric_names]).median().unstack()
    return medians.reindex(table["commit"].unique()).rename_axis("commit")
