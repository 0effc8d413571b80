"""Read the metrics of a program by commit from a CSV file.

:func:`read_history` takes a file and returns a DataFrame with one row per commit and one column per metric. The
subject lines of the commits are returned, too. A metric is, for example, the run time of a benchmark.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError
from cmlib.io.archive import decompress, errors_as, parse_csv, read_file, reading_errors_as

_MOST_BYTES = 64 << 20
_MOST_COLUMNS = 10_000  # pandas takes minutes to read many more columns
_MOST_COMMITS = 10_000
_MOST_METRICS = 10_000
_MOST_VALUES = 4_000_000  # commits times metrics
_VALUE_COLUMNS = {"commit", "benchmark", "value"}  # columns of a CSV with one row per value
# The last sentences of error messages
FORMATS_HINT = (
    "A history is a CSV file or a folder. The CSV file has one row per commit, oldest first, with a column `commit`, "
    "one column per metric, and optionally `subject`. Or it has one row per value, with the columns commit, benchmark "
    "and value, and optionally series (a machine), date and subject. The folder contains one folder per commit, which "
    "`cmlib compare --keep` wrote."
)


def read_history(file: str | Path) -> tuple[pd.DataFrame, list[str]]:
    """Read a history of metrics, oldest commit first.

    The file has one row per commit and one column per metric. Or it has one row per value with the columns
    ``commit``, ``benchmark`` and ``value``. Commits are sorted by the column ``date`` (ISO 8601) if there is
    one. Commits without a valid date come last.

    Parameters
    ----------
    file : path
        A CSV file, which may be compressed.

    Returns
    -------
    history : DataFrame, shape (n_commits, n_metrics)
        Median of each metric, indexed by commit. NaN if a value is missing.
    subjects : list of str
        Subject lines of the commits. Empty if unknown.

    Raises
    ------
    CmlibError
        If the file is not a history or is too large. The limits are 64 MiB, 10,000 commits, 10,000 columns
        and 4 million values.
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


def check_history(history: pd.DataFrame, path: str | Path) -> None:
    """Check that a history has values, and not too many.

    Parameters
    ----------
    history : DataFrame, shape (n_commits, n_metrics)
        Metrics, one row per commit.
    path : path
        File or folder of the history, for the message.

    Raises
    ------
    CmlibError
        If the history is empty or too large.
    """
    if history.empty:
        raise CmlibError(f"{path}: no value of any metric was found. {FORMATS_HINT}")
    n_commits, n_metrics = history.shape
    if n_commits > _MOST_COMMITS or n_metrics > _MOST_METRICS or history.size > _MOST_VALUES:
        raise CmlibError(
            f"{path} is too large: it has {n_commits:,} commits and {n_metrics:,} metrics. The limits are "
            f"{_MOST_COMMITS:,} commits, {_MOST_METRICS:,} metrics and {_MOST_VALUES:,} values. Give only the latest "
            "commits, or fewer metrics."
        )


def _read_table(file: str | Path) -> pd.DataFrame:
    """Read a CSV file with a column ``commit``."""
    with errors_as(CmlibError, file):
        content = decompress(read_file(file, most=_MOST_BYTES), file)
    with reading_errors_as(
        CmlibError, f"{file} is not a CSV file", hint=FORMATS_HINT, errors=(ValueError, OverflowError)
    ):
        table = parse_csv(content, most_columns=_MOST_COLUMNS, dtype={"commit": str, "subject": str})
    if "commit" not in table or table.empty:
        raise CmlibError(f"{file} has no column `commit` or no rows. {FORMATS_HINT}")
    return table.assign(commit=table["commit"].fillna(""))


def _sort_by_date(table: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by the column ``date`` if there is one. Rows without a valid date come last."""
    if "date" not in table:
        return table
    dates = pd.to_datetime(table["date"], utc=True, errors="coerce", format="ISO8601")
    return table.assign(date=dates).sort_values("date", kind="stable", na_position="last")


def _parse_metrics(table: pd.DataFrame, file: str | Path) -> pd.DataFrame:
    """Return the metrics of a table with one column per metric, indexed by commit."""
    metrics = table.drop(columns=["commit", "date", "subject"], errors="ignore")
    text_columns = metrics.select_dtypes(exclude=["number", "bool"])
    metrics = metrics.assign(**{name: _parse_numbers(texts, file) for name, texts in text_columns.items()})
    return metrics.set_axis(pd.Index(table["commit"], name="commit"))


def _parse_numbers(texts: pd.Series, file: str | Path) -> pd.Series:
    """Convert a column to numbers. Texts that are not numbers become NaN."""
    with reading_errors_as(CmlibError, f"{file}: a value of {texts.name} is too large", hint=FORMATS_HINT):
        return pd.to_numeric(texts, errors="coerce")


def _pivot_values(table: pd.DataFrame, file: str | Path) -> pd.DataFrame:
    """Convert a table with one row per value to one with one row per commit.

    There is one column per benchmark, or per series and benchmark. If a commit has several values of a
    benchmark, their median is used.
    """
    metric_names = table["benchmark"].astype(str)
    if "series" in table:
        metric_names = table["series"].astype(str) + " · " + metric_names
    if table["commit"].nunique() * metric_names.nunique() > _MOST_VALUES:
        raise CmlibError(
            f"{file} is too large: its commits and benchmarks have more than {_MOST_VALUES:,} values."
        )
    values = _parse_numbers(table["value"], file)
    medians = values.groupby([table["commit"], metric_names]).median().unstack()
    return medians.reindex(table["commit"].unique()).rename_axis("commit")
