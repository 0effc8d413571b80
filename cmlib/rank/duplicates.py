"""Find events with the same counts as another event.

:func:`find_duplicates` takes a DataFrame of events and returns the events to leave out. A model cannot decide which of
two equal events matters, so a ranking needs only one of them.
"""

import numpy as np
import pandas as pd

__all__ = ["find_duplicates"]

_TOLERANCE = 1e-9  # relative difference of equal rates, due to rounding


def find_duplicates(X: pd.DataFrame) -> pd.Series:
    """Find the columns that are equal or proportional to an earlier column.

    For example, ``minor-faults`` equals ``page-faults`` in a program that reads no file. Columns of zeros are ignored.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Counts or rates of events, without gaps.

    Returns
    -------
    Series of str
        Name of the earlier column; index: name of the duplicate. Empty if all columns differ.

    Examples
    --------
    >>> find_duplicates(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 1.0], "c": [2.0, 4.0]})).to_dict()
    {'c': 'a'}
    """
    counted = X.loc[:, (X != 0).any()]
    names = list(counted)
    columns = (counted / counted.abs().max()).to_numpy().T
    sums_of_squares = (columns**2).sum(axis=1)
    original_by_duplicate = {}
    for position, name in enumerate(names):
        # Comparing sums of squares first keeps the time short, because few columns have the same sum.
        same_sum = np.isclose(sums_of_squares[:position], sums_of_squares[position], rtol=10 * _TOLERANCE)
        for earlier in np.flatnonzero(same_sum):
            if np.allclose(columns[earlier], columns[position], rtol=_TOLERANCE, atol=0):
                original_by_duplicate[name] = names[earlier]
                break
    return pd.Series(original_by_duplicate, dtype=str, name="same as")
