"""Define the Matrix: the event rates of a program, and the rate that they explain."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import pandas as pd
from numpy.typing import ArrayLike

from cmlib.experiments.targets import IPC, Target
from cmlib.rank.refinement import error_of_mean, relative_error
from cmlib.rank.variation import LEAST_VARIATION, relative_deviation


@dataclass(frozen=True)
class Matrix:
    """The event rates of a program and the target that they explain.

    Attributes
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of the events. A rate is a count divided by the count of another event (usually cycles), or by the time
        [s].
    ipc : Series, shape (n_rows,)
        Values of the target: IPC, or the rate that `target` describes.
    holdout : (DataFrame, Series) or None
        Test data: X and target values of a second measurement. None if there is only one measurement.
    target : cmlib.experiments.targets.Target
        Definition of the target.
    ticking : Series of float
        Events that were removed from X because they happen at a constant rate in time, for example timer interrupts.
        The index is the event name. The value is the rate [1/s].
    aliases : DataFrame, shape (n_rows, n_aliases)
        Rates of the aliases. An alias is an event that measures the target itself under another name. It was removed
        from X.
    alias_rules : Series of str
        Reasons why events are aliases. The index is the event name.
    duplicates : Series of str
        Events that were removed from X because another event has the same counts. The index is the event name. The
        value is the name of the other event.
    ends : (int, int)
        Number of rows removed at the start of the process, and number of rows removed at its exit.
    """

    X: pd.DataFrame
    ipc: pd.Series
    holdout: tuple | None
    target: Target = IPC
    ticking: pd.Series = field(default_factory=partial(pd.Series, dtype=float))
    aliases: pd.DataFrame = field(default_factory=pd.DataFrame)
    alias_rules: pd.Series = field(default_factory=partial(pd.Series, dtype=str))
    duplicates: pd.Series = field(default_factory=partial(pd.Series, dtype=str))
    ends: tuple[int, int] = (0, 0)

    @property
    def all_events(self) -> pd.DataFrame:
        """Rates of all events, including aliases but not duplicates."""
        return self.X.join(self.aliases) if self.aliases.shape[1] else self.X

    @property
    def varies(self) -> bool:
        """True if the standard deviation of the target is at least 2 % of its mean."""
        return relative_deviation(self.ipc) >= LEAST_VARIATION

    @property
    def in_time(self) -> bool:
        """True if rows are intervals of time, False if they are steps."""
        return "progress" not in self.X.index.names

    def error(self, measured: ArrayLike, predicted: ArrayLike) -> float:
        """Compute the mean error of predictions.

        Parameters
        ----------
        measured, predicted : array-like of float, shape (n_rows,)
            Values of the target.

        Returns
        -------
        float
            Mean error [%]. It is relative to the measured value if the target is IPC (CounterMiner, Eq. 14). For other
            targets it is relative to the mean, because single values can be 0.
        """
        if self.target == IPC:
            return relative_error(measured, predicted)
        return error_of_mean(measured, predicted, mean=self.ipc.mean())


def describe_steady_target(data: Matrix) -> str:
    """Return the error message for a Matrix with a target that does not vary.

    Parameters
    ----------
    data : Matrix
        Rates of the events and the target.

    Returns
    -------
    str
        A sentence with the standard deviation of the target.
    """
    percent = 100 * relative_deviation(data.ipc)
    scope = " without start and exit" if any(data.ends) else ""
    return (
        f"the standard deviation of {data.target.name}{scope} is {percent:.1f} % of its mean. "
        f"{data.target.name} hardly varies, so no event is ranked. A ranking needs at least "
        f"{100 * LEAST_VARIATION:.0f} %."
    )
