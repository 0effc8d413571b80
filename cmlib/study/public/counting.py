"""Programs whose events were counted by hand, on eighteen machines: which events are exact."""

import pandas as pd

from cmlib import places

_FILE = "totals/deterministic/expected.csv"


def measured():
    """What was counted and what should have been (Weaver; deater/deterministic).

    Returns
    -------
    DataFrame or None
        A row a machine and event: ``machine``, ``event``, ``expected``, ``measured`` and ``spread`` of ten runs
        [events]. None where the table is not in the folder CMLIB_PUBLIC.
    """
    folder = places.elsewhere_dir()
    files = (folder / _FILE, folder / f"{_FILE}.gz") if folder else ()
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        return None
    table = pd.read_csv(found)
    known = table[table["expected"] > 0]
    values = known["all_values"].str.split(";").map(lambda texts: pd.Series(texts, dtype=float))
    return pd.DataFrame(
        {
            "machine": known["machine"],
            "event": known["section"],
            "expected": known["expected"],
            "measured": known["raw_average"],
            "spread": values.map(lambda counts: counts.max() - counts.min()),
        }
    ).reset_index(drop=True)


def exactness(table):
    """By event: on how many machines it is exact, and by how much it is off elsewhere.

    Parameters
    ----------
    table : DataFrame
        As of :func:`measured`.

    Returns
    -------
    DataFrame
        Index: event. Columns: ``machines``; ``exact``, on which every run counted what was expected; ``repeatable``, on
        which runs differ by a millionth at most; ``too many``, median of what is counted beyond, and ``worst``, by its
        size [parts per million].
    """
    off = 1e6 * (table["measured"] / table["expected"] - 1)
    told = table.assign(
        off=off,
        exact=(table["measured"] == table["expected"]) & (table["spread"] == 0),
        repeatable=table["spread"] <= 1e-6 * table["expected"],
    )
    grouped = told.groupby("event")
    return pd.DataFrame(
        {
            "machines": grouped.size(),
            "exact": grouped["exact"].sum(),
            "repeatable": grouped["repeatable"].sum(),
            "too many": grouped["off"].median(),
            "worst": grouped["off"].agg(lambda values: values[values.abs().idxmax()]),
        }
    ).sort_values("too many")
