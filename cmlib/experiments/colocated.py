"""Compare programs that ran alone and programs with a neighbor on the same socket.

The data are the public set ``colocated``, which others recorded. It has no license, so that it is not shipped:
``cmlib fetch colocated`` downloads it. :func:`read_runs` reads the runs. :func:`match_pairs` and
:func:`match_mixes` select the intervals with the same work with and without a neighbor. :func:`predict_quiet`
predicts the speed without a neighbor.

Tables with results are shipped, and :func:`read_table` reads them. The script ``tools/make_colocated_tables.py``
computes them.

The set has three settings, on machines with two sockets:

- ``alone``: one program.
- ``pair``: a program and the program SP of the NAS benchmarks, on the same socket. The program was also recorded
  alone.
- ``mix``: four programs, two on each socket. These recordings are from another study. They are compared with each
  other, not with ``alone``.
"""

from __future__ import annotations

import io
import math
import re

import numpy as np
import pandas as pd

from cmlib import places, rank
from cmlib.errors import CmlibError
from cmlib.io import public
from cmlib.io.provenance import OTHERS_HARDWARE, Provenance, note_read
from cmlib.rank.boosting import Boosting, predict_held_out, regressor

__all__ = [
    "COUNTS",
    "EVENTS",
    "find_impossible",
    "interval_rates",
    "judge_model",
    "list_impossible",
    "list_recordings",
    "match_mixes",
    "match_pairs",
    "predict_quiet",
    "read_runs",
    "read_table",
    "total_counts",
]

SET = "colocated"
COUNTS = [
    "instructions",
    "cycles",
    "stall_cycles",
    "l2miss",
    "l3miss",
    "intra_coh",
    "inter_coh",
    "local_mem",
    "remote_mem",
    "wall_cycles",
]
LEVEL = "llc_size"  # bytes of the last-level cache that the program occupies
# Events that explain IPC. Stall cycles are excluded, because they nearly contain IPC.
EVENTS = ["l2miss", "l3miss", "intra_coh", "inter_coh", "local_mem", "remote_mem"]
FEATURES = [*EVENTS, LEVEL]

LARGEST_COUNT = 1e12  # of an interval; larger counts are impossible (8 cores count 1.7e9 cycles in 0.1 s)
REFERENCE_HZ = 2.1e9  # frequency of the column wall_cycles
_FEWEST_ROWS = 20  # of a recording that is used for training
_MOST_ROWS = 500  # of a matrix for a ranking; neighboring intervals are added up
_MOST_TRAINING_ROWS = 300  # of each program for the model of quiet machines
_LEAST_WORK = 0.2  # share of a program's instructions in a comparison of mixes
_LEAST_CYCLES = 0.1  # of an interval, relative to the median interval; other intervals are idle
FEWEST_MISSES = 1e-3  # per instruction, of programs that estimate the cost of a miss
_MOST_CACHE = 0.1  # share of the intervals of a recording for the candidate "most cache"
COVERAGE = 0.9  # nominal coverage of prediction intervals
QUICK = Boosting(trees=60, learning_rate=0.15, rows_per_leaf=5)
_N_BLOCKS, _N_FOLDS = 12, 4
_NAMES = {"sc": "streamcluster"}


def read_table(name: str) -> pd.DataFrame:
    """Read a shipped table of results.

    Parameters
    ----------
    name : {"totals", "impossible", "shared", "importances", "models", "quiet"}
        Name of the table.

    Returns
    -------
    DataFrame
        The file ``data/colocated/README.md`` describes the columns.
    """
    text_columns = {"recording": str, "program": str, "neighbor": str, "setting": str}
    table = pd.read_csv(places.shipped("colocated") / f"{name}.csv", dtype=text_columns)
    name_columns = [column for column in ("neighbor", "other_socket") if column in table]
    programs = tuple(table["program"].unique()) if "program" in table else ()
    note_read(Provenance(OTHERS_HARDWARE, programs, public_set=SET))
    return table.fillna(dict.fromkeys(name_columns, ""))


def list_recordings() -> pd.DataFrame:
    """List all recordings of the public set ``colocated``.

    Recordings that are not on this machine are listed, too.

    Returns
    -------
    DataFrame
        One row per recording of a program, with these columns:

        - ``file``: name of the file.
        - ``setting``: "alone", "pair" or "mix".
        - ``recording``: name of the programs that ran at the same time.
        - ``program``: name of the recorded program.
        - ``neighbor``: program on the same socket, or "".
        - ``other_socket``: programs on the other socket, joined by "+".
    """
    return pd.DataFrame([_describe_file(file) for file in public.files(SET)["file"]])


def _describe_file(file):
    """Return the row of :func:`list_recordings` for a file.

    Examples of names are alone/NPB-SP.csv, pair/canneal+SP.SP.csv and mix/sc+MG.D-nn+canneal.MG.csv. A "+" joins the
    programs on a socket, a "-" joins the sockets, and the last part is the recorded program.
    """
    folder, name = file.split("/")[1:]
    name = name.removesuffix(".csv")
    row = {"file": file, "neighbor": "", "other_socket": ""}
    if folder == "alone":
        return row | {"setting": "alone", "recording": name, "program": name.split("-", 1)[1]}
    group, program = name.rsplit(".", 1)
    sockets = [[_NAMES.get(part, part) for part in socket.split("+")] for socket in group.split("-")]
    (socket,) = [programs for programs in sockets if program in _remove_sizes(programs)]
    position = _remove_sizes(socket).index(program)
    row["program"] = socket[position]
    row["neighbor"] = socket[1 - position]
    row["other_socket"] = "+".join(
        name_on_other for programs in sockets if programs is not socket for name_on_other in programs
    )
    return row | {"setting": "pair" if len(sockets) == 1 else "mix", "recording": group}


def _remove_sizes(programs):
    """Remove the class of the input size from program names.

    For example, MG.D becomes MG.
    """
    return [re.sub(r"\.[A-Z]$", "", program) for program in programs]


def read_runs() -> dict[str, pd.DataFrame]:
    """Read the counts of all recordings of the public set ``colocated``.

    Intervals with an impossible count are removed (:func:`find_impossible`).

    Returns
    -------
    dict of str to DataFrame
        Counts in each file. One row per interval. Columns: the events in ``COUNTS``, and ``llc_size`` [bytes].
        Empty if the set is not on this machine.

    Raises
    ------
    CmlibError
        If only some files of the set are on this machine.
    """
    runs = {}
    for file, intervals in _read_intervals().items():
        possible = ~find_impossible(intervals).any(axis=1)
        runs[file] = intervals[possible].reset_index(drop=True)
    return runs


def list_impossible() -> pd.DataFrame:
    """List the impossible counts of the public set ``colocated``.

    See :func:`find_impossible`.

    Returns
    -------
    DataFrame
        One row per count. Columns: ``file``, ``interval`` (row number in the file), ``event`` and ``count``. Empty
        if the set is not on this machine.
    """
    rows = []
    for file, intervals in _read_intervals().items():
        for interval, event in np.argwhere(find_impossible(intervals).to_numpy()):
            count = intervals.iat[interval, event]
            rows.append(
                {"file": file, "interval": interval, "event": intervals.columns[event], "count": count}
            )
    return pd.DataFrame(rows, columns=["file", "interval", "event", "count"])


def _read_intervals():
    """Read all files of the set without changes (dict of DataFrames)."""
    contents = {file: public.read(file) for file in public.files(SET)["file"]}
    absent = [file for file, content in contents.items() if content is None]
    if len(absent) == len(contents):
        return {}
    if absent:
        raise CmlibError(
            f"set {SET!r}: {len(absent)} of {len(contents)} files are missing, for example {absent[0]}. "
            "Fetch them with `cmlib fetch colocated`."
        )
    return {file: pd.read_csv(io.BytesIO(content), dtype=float) for file, content in contents.items()}


def find_impossible(intervals: pd.DataFrame) -> pd.DataFrame:
    """Find impossible counts, for example counts near 2**64.

    Parameters
    ----------
    intervals : DataFrame
        Counts, one row per interval.

    Returns
    -------
    DataFrame of bool
        True if a count is negative or above ``LARGEST_COUNT``.
    """
    return (intervals < 0) | (intervals > LARGEST_COUNT)


def total_counts(run: pd.DataFrame) -> pd.Series:
    """Compute the total counts of a run.

    Parameters
    ----------
    run : DataFrame
        Counts of a run, from :func:`read_runs`.

    Returns
    -------
    Series
        Contains these values:

        - total count of each event in ``COUNTS``;
        - ``llc_size``: mean occupied size of the last-level cache [bytes];
        - ``seconds``: duration of the run [s];
        - ``cores``: mean number of busy cores;
        - ``intervals``: number of intervals.
    """
    totals = run[COUNTS].sum()
    totals[LEVEL] = run[LEVEL].mean()
    totals["seconds"] = totals["wall_cycles"] / REFERENCE_HZ
    totals["cores"] = totals["cycles"] / totals["wall_cycles"]
    totals["intervals"] = len(run)
    return totals


def _cut_to_time(run, seconds):
    """Return the intervals that end within the first seconds of a run."""
    return run[run["wall_cycles"].cumsum() <= seconds * REFERENCE_HZ]


def _cut_to_work(run, first, last):
    """Return the intervals of a run between two numbers of executed instructions."""
    done = run["instructions"].cumsum()
    return run[(done > first) & (done <= last)]


def match_pairs(
    runs: dict[str, pd.DataFrame],
) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Select the same work of a program alone and with a neighbor.

    The recordings are those of the setting ``pair``. Only the time in which both programs of a pair were running is
    used. The run alone is cut to the same number of instructions. Both programs are assumed to start at the same
    time.

    Parameters
    ----------
    runs : dict of str to DataFrame
        Counts in each file, from :func:`read_runs`.

    Returns
    -------
    together, quiet : dict of str to DataFrame
        Counts with the neighbor, and counts alone. The key is the file of the recording with the neighbor.
    """
    recordings = list_recordings()
    alone = recordings[recordings["setting"] == "alone"]
    together = {}
    quiet = {}
    for row in recordings[recordings["setting"] == "pair"].itertuples():
        neighbor_seconds = _compute_seconds(runs[_find_file_of_neighbor(recordings, row)])
        together[row.file] = _cut_to_time(runs[row.file], neighbor_seconds)
        (file_alone,) = alone.loc[alone["program"] == row.program, "file"]
        quiet[row.file] = _cut_to_work(runs[file_alone], 0, together[row.file]["instructions"].sum())
    return together, quiet


def match_mixes(
    runs: dict[str, pd.DataFrame],
) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Select the same work of a program with and without a neighbor.

    In the setting ``mix``, four programs run, two on each socket. In some mixes, the neighbor of a program ends first.
    The last part of such a recording is the work without a neighbor. The work with a neighbor is the same range of
    instructions in another mix of the program.

    All programs of a mix are assumed to start at the same time. A recording is ignored if the compared work is less
    than 20 % of the instructions of the program.

    Parameters
    ----------
    runs : dict of str to DataFrame
        Counts in each file, from :func:`read_runs`.

    Returns
    -------
    together, quiet : dict of str to DataFrame
        Counts with and without the neighbor. The key is the file of the recording with the neighbor. If several
        mixes contain the work without a neighbor, their intervals are joined.
    """
    recordings = list_recordings()
    together = {}
    quiet = {}
    for _, mixes in recordings[recordings["setting"] == "mix"].groupby("program"):
        work_with_neighbor = {}  # instructions until the neighbor ended, for each file
        for row in mixes.itertuples():
            neighbor_seconds = _compute_seconds(runs[_find_file_of_neighbor(recordings, row)])
            beside_neighbor = _cut_to_time(runs[row.file], neighbor_seconds)
            work_with_neighbor[row.file] = beside_neighbor["instructions"].sum()
        for file, last in work_with_neighbor.items():
            least_work = _LEAST_WORK * runs[file]["instructions"].sum()
            quiet_files = [other for other, work in work_with_neighbor.items() if last - work >= least_work]
            if not quiet_files:
                continue
            first = max(work_with_neighbor[other] for other in quiet_files)
            together[file] = _cut_to_work(runs[file], first, last)
            quiet[file] = pd.concat([_cut_to_work(runs[other], first, last) for other in quiet_files])
    return together, quiet


def _find_file_of_neighbor(recordings, row):
    """Return the file in which the neighbor of a program was recorded."""
    is_neighbor = (recordings["recording"] == row.recording) & (recordings["program"] == row.neighbor)
    (file,) = recordings.loc[is_neighbor, "file"]
    return file


def _compute_seconds(run):
    """Return the duration of a run [s]."""
    return run["wall_cycles"].sum() / REFERENCE_HZ


def interval_rates(run: pd.DataFrame, *, most_rows: int = _MOST_ROWS) -> tuple[pd.DataFrame, pd.Series]:
    """Compute the event rates and IPC of a run, for a ranking of the events.

    The first and the last interval and idle intervals are removed. Neighboring intervals are added up to get at
    most `most_rows` rows.

    Parameters
    ----------
    run : DataFrame
        Counts of a run, from :func:`read_runs`.
    most_rows : int, default 500
        Maximum number of rows.

    Returns
    -------
    X : DataFrame, shape (n_rows, 7)
        ``EVENTS`` per cycle, and ``llc_size`` [bytes]. The unit of ``local_mem`` and ``remote_mem`` is bytes per
        cycle.
    ipc : Series of float, shape (n_rows,)
        Instructions per cycle.
    """
    rows = _add_neighbors(run, most_rows)
    X = rows[EVENTS].div(rows["cycles"], axis=0).assign(**{LEVEL: rows[LEVEL]})
    return X, (rows["instructions"] / rows["cycles"]).rename("ipc")


def _add_neighbors(run, most_rows):
    """Add up neighboring intervals, without the first, the last and idle ones."""
    inner = run.iloc[1:-1]
    enough_cycles = inner["cycles"] >= _LEAST_CYCLES * inner["cycles"].median()
    inner = inner[enough_cycles & (inner["instructions"] > 0) & (inner["cycles"] > 0)]
    intervals_per_row = max(1, math.ceil(len(inner) / most_rows))
    groups = inner.groupby(np.arange(len(inner)) // intervals_per_row)
    rows = groups[COUNTS].sum()
    rows[LEVEL] = groups[LEVEL].mean()
    return rows


def judge_model(X: pd.DataFrame, ipc: pd.Series, *, seed: int = 0) -> dict[str, float]:
    """Measure the errors of three models of IPC by cross-validation.

    A fold contains blocks of neighboring rows.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Event rates, from :func:`interval_rates`.
    ipc : Series of float, shape (n_rows,)
        Instructions per cycle.
    seed : int, default 0
        Seed of the models.

    Returns
    -------
    dict of str to float
        Relative error [%] of each model:

        - ``all events``: boosted trees.
        - ``one event``: linear regression on the event with the largest correlation.
        - ``mean``: mean of the training rows.
    """
    fold = rank.blocks(X.index, _N_BLOCKS) % _N_FOLDS
    predicted_by_line = np.empty(len(ipc))
    predicted_by_mean = np.empty(len(ipc))
    for held_out in range(_N_FOLDS):
        train = fold != held_out
        test = fold == held_out
        varying = X.columns[X[train].std() > 0]
        event = X.loc[train, varying].corrwith(ipc[train]).abs().idxmax()
        slope, intercept = np.polyfit(X.loc[train, event], ipc[train], 1)
        predicted_by_line[test] = intercept + slope * X.loc[test, event]
        predicted_by_mean[test] = ipc[train].mean()
    predictions = {
        "all events": predict_held_out(X, ipc, fold, seed=seed),
        "one event": predicted_by_line,
        "mean": predicted_by_mean,
    }
    return {name: rank.relative_error(ipc, predicted) for name, predicted in predictions.items()}


def predict_quiet(
    runs: dict[str, pd.DataFrame], recordings: dict[str, pd.DataFrame], *, seed: int = 0
) -> pd.DataFrame:
    """Predict the cycles per instruction (CPI) without a neighbor.

    Three methods, the candidates, predict CPI from one recording with a neighbor. They learn from the other
    programs that ran alone.

    Parameters
    ----------
    runs : dict of str to DataFrame
        Counts in each file, from :func:`read_runs`.
    recordings : dict of str to DataFrame
        Counts of the recordings with a neighbor. The key is the name of the file.
    seed : int, default 0
        Seed of the models.

    Returns
    -------
    DataFrame
        One row per recording and candidate, with these columns:

        - ``file``, ``candidate``: names.
        - ``recorded``, ``predicted``: CPI with the neighbor, and prediction without it.
        - ``low``, ``high``: limits of the 90 % prediction interval.

    Notes
    -----
    The candidates are:

    - ``model``: boosted trees with features that a neighbor hardly changes. These are misses of the private L2
      cache, coherence events on the socket, and cycles without stalls, all per instruction.
    - ``usual cost``: the stall cycles are at most the number of last-level cache misses, multiplied by the usual cost
      of a miss. The usual cost is the median of the stall cycles per miss over the programs that ran alone.
    - ``most cache``: CPI in the tenth of the intervals in which the program occupied the most last-level cache.

    A prediction is never above the recorded CPI, because a neighbor does not make a program faster. Prediction
    intervals use the errors for the programs that ran alone (conformal prediction).
    """
    table = list_recordings().set_index("file")
    alone = {
        table.at[file, "program"]: run
        for file, run in runs.items()
        if table.at[file, "setting"] == "alone" and len(run) >= _FEWEST_ROWS
    }
    programs = sorted({*alone, *(table.at[file, "program"] for file in recordings)})
    candidates = {program: _learn_candidates(alone, program, seed) for program in programs}
    errors = {name: [] for name in candidates[programs[0]]}
    for program, run in alone.items():
        for name, predict in candidates[program].items():
            errors[name].append(abs(np.log(_compute_cpi(run) / predict(run))))
    half_widths = {name: _conformal_quantile(values) for name, values in errors.items()}
    rows = []
    for file, run in recordings.items():
        for name, predict in candidates[table.at[file, "program"]].items():
            row = _bound_prediction(_compute_cpi(run), predict(run), half_widths[name])
            rows.append({"file": file, "candidate": name, **row})
    return pd.DataFrame(rows)


def _bound_prediction(recorded, predicted, half_width):
    """Return a prediction of CPI with its interval.

    No value is above the recorded CPI. `half_width` is half the width of the interval of the logarithm of CPI.
    """
    factor = np.exp(half_width)
    return {
        "recorded": recorded,
        "predicted": min(predicted, recorded),
        "low": min(predicted / factor, recorded),
        "high": min(predicted * factor, recorded),
    }


def _learn_candidates(alone, left_out, seed):
    """Return the functions that predict CPI, keyed by candidate.

    They learn from all programs that ran alone, except `left_out`. This program is also left out in other sizes.
    """
    family = _remove_sizes([left_out])[0]
    training_runs = {program: run for program, run in alone.items() if program != family}
    model = _fit_model(training_runs.values(), seed)
    usual_cost = _median_cost_of_miss(training_runs)

    def predict_by_model(run):
        X, _, instructions = _invariant_rates(run)
        return np.average(np.exp(model.predict(X)), weights=instructions)

    def predict_by_cost(run):
        totals = run[COUNTS].sum()
        stalls = min(totals["stall_cycles"], usual_cost * totals["l3miss"])
        return (totals["cycles"] - totals["stall_cycles"] + stalls) / totals["instructions"]

    def predict_by_cache(run):
        rows = _add_neighbors(run, _MOST_ROWS)
        n_rows = max(1, round(_MOST_CACHE * len(rows)))
        return _compute_cpi(rows.nlargest(n_rows, LEVEL))

    return {"model": predict_by_model, "usual cost": predict_by_cost, "most cache": predict_by_cache}


def _fit_model(runs, seed):
    """Fit boosted trees to the logarithm of CPI.

    The features are rates that a neighbor hardly changes.
    """
    tables = [_invariant_rates(run) for run in runs]
    X = pd.concat([features for features, _, _ in tables], ignore_index=True)
    cpi = pd.concat([run_cpi for _, run_cpi, _ in tables], ignore_index=True)
    return regressor(boosting=QUICK, seed=seed).fit(X, np.log(cpi))


def _median_cost_of_miss(runs):
    """Return the median cost of a last-level cache miss [stall cycles].

    Only programs that miss often are used.
    """
    totals = pd.DataFrame({program: run[COUNTS].sum() for program, run in runs.items()}).T
    often = totals[totals["l3miss"] >= FEWEST_MISSES * totals["instructions"]]
    return (often["stall_cycles"] / often["l3miss"]).median()


def _invariant_rates(run):
    """Return features that a neighbor hardly changes, CPI and instructions.

    Each has one row per group of neighboring intervals.
    """
    rows = _add_neighbors(run, _MOST_TRAINING_ROWS)
    instructions = rows["instructions"]
    features = {
        "l2miss": rows["l2miss"] / instructions,
        "intra_coh": rows["intra_coh"] / instructions,
        "busy": (rows["cycles"] - rows["stall_cycles"]) / instructions,
    }
    return pd.DataFrame(features), rows["cycles"] / instructions, instructions


def _compute_cpi(run):
    """Return the cycles per instruction of a run."""
    return run["cycles"].sum() / run["instructions"].sum()


def _conformal_quantile(errors):
    """Return the limit that the nominal share of new errors does not exceed."""
    n = len(errors)
    return np.quantile(errors, min(1.0, np.ceil(COVERAGE * (n + 1)) / n), method="higher")
