"""Rows of a published recording, and what models of them explain."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib import rank
from cmlib.events.leaks import is_named_leak
from cmlib.rank.boosting import Boosting
from cmlib.study.public.reading import lengths

_BLOCKS, _FOLDS = 12, 4
_MOST_ROWS = 500
_UOPS = ("UOPS_RETIRED_ALL", "RETIRED_UOPS")  # retired instructions by another name
# Fewer trees than usual, for there are many programs.
QUICK = Boosting(trees=60, learning_rate=0.15, rows_per_leaf=3)


@dataclass(frozen=True)
class Recorded:
    """All runs of a program on a processor, one below the other.

    Attributes
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Events per instruction. Index: number of the row.
    ipc : Series, shape (n_rows,)
    counts : DataFrame
        Counts of the same rows, and ``seconds``, how long they took.
    runs : int
    """

    X: pd.DataFrame
    ipc: pd.Series
    counts: pd.DataFrame
    runs: int

    @property
    def y(self):
        """What models explain: log IPC, so that errors of fast and slow rows weigh alike, as in Eq. 14."""
        return np.log(self.ipc)

    @property
    def fold(self):
        """Fold of each row: twelve stretches of rows in four folds."""
        return rank.blocks(self.X.index, _BLOCKS) % _FOLDS


def pooled(runs):
    """Put runs one below the other, at most 500 rows: of more, neighbours are added up.

    Parameters
    ----------
    runs : sequence of DataFrame
        Counts, as of :func:`cmlib.study.public.reading.counts_of`. Rows with a gap are left out.

    Returns
    -------
    Recorded
    """
    timed = [counts.assign(seconds=lengths(counts)) for counts in runs]
    counts = pd.concat(timed).reset_index(drop=True).dropna()
    counts = counts.groupby(np.arange(len(counts)) // -(-len(counts) // _MOST_ROWS)).sum()
    counts = counts[(counts["instructions"] > 0) & (counts["cycles"] > 0)].reset_index(drop=True)
    hidden = {"instructions", "cycles", "seconds", *_UOPS}
    kept = [event for event in counts if event not in hidden and not is_named_leak(event)]
    ipc = (counts["instructions"] / counts["cycles"]).rename("ipc")
    return Recorded(counts[kept].div(counts["instructions"], axis=0), ipc, counts, len(runs))
