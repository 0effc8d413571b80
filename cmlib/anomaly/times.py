"""Times of runs: of each function, and of the whole program, in elapsed and in processor time."""

import io

import numpy as np
import pandas as pd

from cmlib.anomaly.profiles import read_regions

WHOLE = "whole program"
ELAPSED, PROCESSOR = "elapsed time", "processor time"
MEASURES = (ELAPSED, PROCESSOR)


def heading(run, part, elapsed_s, processor_s):
    """The line above what one execution's regions wrote.

    Parameters
    ----------
    run, part : int
    elapsed_s, processor_s : float
        Of the whole program [s].

    Returns
    -------
    str
    """
    return f"# run={run:03d} part={part} elapsed_s={elapsed_s:.9f} processor_s={processor_s:.9f}\n"


def read_times(text):
    """How long the functions of each run of a recording took, and the runs themselves where that was noted.

    Parameters
    ----------
    text : str
        As :func:`cmlib.anomaly.profiles.read_runs` takes it. A heading may tell elapsed_s and processor_s.

    Returns
    -------
    DataFrame
        A row a run, in the order of recording; columns function and measure: "elapsed time" and "processor
        time" [s; s per unit of work where the program tells its work], the mean of the run's parts. Processor
        time of functions is there where task-clock was counted; NaN where it was not or the function not
        passed.
    """
    rows = []
    for piece in text.split("# run=")[1:]:
        heading, _, table = piece.partition("\n")
        run, *pairs = heading.split()
        rows.append({"run": run, **_of_functions(read_regions(io.StringIO(table))), **_of_whole(pairs)})
    frame = pd.DataFrame(rows)
    frame = frame.groupby("run", sort=False).mean()
    frame.columns = pd.MultiIndex.from_tuples(frame.columns, names=["function", "measure"])
    return frame


def _of_whole(pairs):
    measured = dict(pair.partition("=")[::2] for pair in pairs)
    return {
        (WHOLE, measure): float(measured[key])
        for measure, key in zip(MEASURES, ("elapsed_s", "processor_s"), strict=True)
        if key in measured
    }


def _of_functions(samples):
    times = {}
    for function, own in samples.groupby("function", sort=False):
        work = own["work"].sum() if (own["work"] != 1).any() else 1
        times[function, ELAPSED] = own["seconds"].sum() / work
        clock = own.get("task-clock")
        times[function, PROCESSOR] = np.nan if clock is None else clock.sum(skipna=False) / 1e9 / work
    return times
