"""Read programs that others recorded alone and beside neighbors, and compare both: the public set ``colocated``.

The set has no licence, so it is fetched (``cmlib fetch colocated``) and not shipped. The tables that
``tools/make_colocated_tables.py`` computes from it are shipped in ``data/colocated``; :func:`read_table` reads them.

There are three settings, each on a machine with two sockets:

- ``alone``: one program on one socket;
- ``pair``: a program and NPB's SP on one socket. The same program also ran alone;
- ``mix``: four programs, two on each socket. Mixes come from another study with another setup. They are compared with
  each other, never with ``alone``.
"""

import io
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
    "cut_to_time",
    "cut_to_work",
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
LEVEL = "llc_size"  # bytes of the last-level cache that the program holds: no count, so its mean is taken
# Events that explain IPC. Stall cycles are left out: stall cycles per cycle are nearly the target itself.
EVENTS = ["l2miss", "l3miss", "intra_coh", "inter_coh", "local_mem", "remote_mem"]
FEATURES = [*EVENTS, LEVEL]

LARGEST_COUNT = 1e12  # of one interval; 8 cores at 2.1 GHz count 1.7e9 cycles in 0.1 s
REFERENCE_HZ = 2.1e9  # frequency of the column wall_cycles
FEWEST_ROWS = 20  # shorter recordings are not modeled
MOST_ROWS = 500  # rows of a matrix for a ranking; neighboring intervals are added up
MOST_TRAINING_ROWS = 300  # rows of each program in the model of quiet machines
LEAST_WORK = 0.2  # share of a program's instructions over which mixes are compared
LEAST_CYCLES = 0.1  # intervals with a smaller share of the median interval's cycles are left out
FEWEST_MISSES = 1e-3  # per instruction, of programs from which the usual cost of a miss is learned
MOST_CACHE = 0.1  # share of a recording's intervals: those with the most cache
COVERAGE = 0.9  # nominal coverage of the intervals
QUICK = Boosting(trees=60, learning_rate=0.15, rows_per_leaf=5)
N_BLOCKS, N_FOLDS = 12, 4
_NAMES = {"sc": "streamcluster"}


def read_table(name: str) -> pd.DataFrame:
    """Read a shipped table.

    Parameters
    ----------
    name : {"totals", "impossible", "shared", "importances", "models", "quiet"}
        Name of the table.

    Returns
    -------
    DataFrame
        ``data/colocated/README.md`` describes its columns.
    """
    text_columns = {"recording": str, "program": str, "neighbor": str, "setting": str}
    table = pd.read_csv(places.shipped("colocated") / f"{name}.csv", dtype=text_columns)
    name_columns = [column for column in ("neighbor", "other_socket") if column in table]
    programs = tuple(table["program"].unique()) if "program" in table else ()
    note_read(Provenance(OTHERS_HARDWARE, programs, public_set=SET))
    return table.fillna(dict.fromkeys(name_columns, ""))


def list_recordings() -> pd.DataFrame:
    """List the recordings of the set, whether or not they are here.

    Returns
    -------
    DataFrame
        One row per recording: ``file`` (name in the set), ``setting`` (alone, pair or mix), ``recording`` (name of
        the programs that ran together), ``program``, ``neighbor`` (program on the same socket, "" if there is none) and
        ``other_socket`` (programs on the other socket, joined by "+").
    """
    return pd.DataFrame([_describe_file(file) for file in public.files(SET)["file"]])


def _describe_file(file):
    """Return a row (dict) of :func:`list_recordings`, from the name of a file such as ``pair/canneal+SP.SP.csv``."""
    folder, name = file.split("/")[1:]
    name = name.removesuffix(".csv")
    row = {"file": file, "neighbor": "", "other_socket": ""}
    if folder == "alone":  # NPB-SP
        return row | {"setting": "alone", "recording": name, "program": name.split("-", 1)[1]}
    group, program = name.rsplit(".", 1)  # canneal+SP.SP, or sc+MG.D-nn+canneal.MG
    sockets = [[_NAMES.get(part, part) for part in socket.split("+")] for socket in group.split("-")]
    (socket,) = [programs for programs in sockets if program in _without_sizes(programs)]
    position = _without_sizes(socket).index(program)
    row["program"] = socket[position]
    row["neighbor"] = socket[1 - position]
    row["other_socket"] = "+".join(
        name_on_other for programs in sockets if programs is not socket for name_on_other in programs
    )
    return row | {"setting": "pair" if len(sockets) == 1 else "mix", "recording": group}


def _without_sizes(programs):
    """Return the programs' names as file names have them: MG.D, a larger MG, is called MG there."""
    return [re.sub(r"\.[A-Z]$", "", program) for program in programs]


def read_runs() -> dict[str, pd.DataFrame]:
    """Read all recordings of the set.

    Returns
    -------
    dict of str to DataFrame
        Intervals by name of the file, one row per interval in order of time, with the columns ``COUNTS`` and
        ``llc_size`` [bytes]. Intervals with an impossible count are left out (:func:`find_impossible`). Empty if the
        set is not here.

    Raises
    ------
    CmlibError
        If some files of the set are here and others are not.
    """
    runs = {}
    for file, intervals in _read_intervals().items():
        possible = ~find_impossible(intervals).any(axis=1)
        runs[file] = intervals[possible].reset_index(drop=True)
    return runs


def list_impossible() -> pd.DataFrame:
    """List the impossible counts of the set.

    Returns
    -------
    DataFrame
        One row per count: ``file``, ``interval`` (number of the row in the file, from 0), ``event`` and ``count``.
        Empty if the set is not here.
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
    """Read all files of the set as they were published: a dict of DataFrames, empty if the set is not here."""
    contents = {file: public.read(file) for file in public.files(SET)["file"]}
    absent = [file for file, content in contents.items() if content is None]
    if len(absent) == len(contents):
        return {}
    if absent:
        raise CmlibError(
            f"set {SET!r}: {len(absent)} of {len(contents)} files are missing, such as {absent[0]}. "
            "Fetch them with `cmlib fetch colocated`."
        )
    return {file: pd.read_csv(io.BytesIO(content), dtype=float) for file, content in contents.items()}


def find_impossible(intervals: pd.DataFrame) -> pd.DataFrame:
    """Find counts that no interval can have, such as those just below 2**64.

    Parameters
    ----------
    intervals : DataFrame
        One row per interval.

    Returns
    -------
    DataFrame of bool
        True where a count is negative or above ``LARGEST_COUNT``.
    """
    return (intervals < 0) | (intervals > LARGEST_COUNT)


def total_counts(run: pd.DataFrame) -> pd.Series:
    """Add up the intervals of a run.

    Parameters
    ----------
    run : DataFrame
        Intervals from :func:`read_runs`.

    Returns
    -------
    Series
        The total of each event of ``COUNTS``; ``llc_size``, its mean [bytes]; ``seconds``, the duration of the run;
        ``cores``, its cycles divided by the cycles of one core at 2.1 GHz; and ``intervals``, their number.
    """
    totals = run[COUNTS].sum()
    totals[LEVEL] = run[LEVEL].mean()
    totals["seconds"] = totals["wall_cycles"] / REFERENCE_HZ
    totals["cores"] = totals["cycles"] / totals["wall_cycles"]
    totals["intervals"] = len(run)
    return totals


def cut_to_time(run: pd.DataFrame, seconds: float) -> pd.DataFrame:
    """Return the intervals of a run that end within its first seconds.

    Parameters
    ----------
    run : DataFrame
        Intervals from :func:`read_runs`.
    seconds : float
        Time since the start of the run [s].

    Returns
    -------
    DataFrame
        The first rows of `run`.
    """
    return run[run["wall_cycles"].cumsum() <= seconds * REFERENCE_HZ]


def cut_to_work(run: pd.DataFrame, first: float, last: float) -> pd.DataFrame:
    """Return the intervals of a run that end between two of its instructions.

    Parameters
    ----------
    run : DataFrame
        Intervals from :func:`read_runs`.
    first, last : float
        Numbers of instructions since the start of the run.

    Returns
    -------
    DataFrame
        The rows of `run` at whose end more than `first` and at most `last` instructions had been executed.
    """
    done = run["instructions"].cumsum()
    return run[(done > first) & (done <= last)]


def match_pairs(
    runs: dict[str, pd.DataFrame],
) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Cut the recordings of pairs so that a program is compared over the same work, done while its neighbor ran.

    A program that ends later than its neighbor runs alone at the end, which would dilute the neighbor's effect. Both
    programs are assumed to start at the same time. Both are cut where the shorter of the two ends, and the run of
    each alone is cut to the same number of instructions.

    Parameters
    ----------
    runs : dict of str to DataFrame
        From :func:`read_runs`.

    Returns
    -------
    together, quiet : dict of str to DataFrame
        Intervals by the name of the recording beside a neighbor.
    """
    listed = list_recordings()
    together, quiet = {}, {}
    for row in listed[listed["setting"] == "pair"].itertuples():
        together[row.file] = cut_to_time(runs[row.file], _seconds(runs[_file_of_neighbor(listed, row)]))
        (file_alone,) = listed.loc[
            (listed["setting"] == "alone") & (listed["program"] == row.program), "file"
        ]
        quiet[row.file] = cut_to_work(runs[file_alone], 0, together[row.file]["instructions"].sum())
    return together, quiet


def match_mixes(
    runs: dict[str, pd.DataFrame],
) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Cut mixes to the same work of a program, done beside its neighbor in one mix and without it in another.

    No program of a mix was recorded alone with the same setup. But if the neighbor on the same socket ends early, the
    program continues alone on its socket. That last part of one mix is compared with the same instructions in another
    mix of the same program, in which the neighbor was still running. All programs of a mix are assumed to start at the
    same time. Recordings without a common stretch of ``LEAST_WORK`` of the program's instructions are left out.

    Parameters
    ----------
    runs : dict of str to DataFrame
        From :func:`read_runs`.

    Returns
    -------
    together, quiet : dict of str to DataFrame
        Intervals by the name of the recording beside a neighbor; `quiet` contains the intervals of all mixes in which
        the neighbor had ended, one mix after the other.
    """
    listed = list_recordings()
    together, quiet = {}, {}
    for _, mixes in listed[listed["setting"] == "mix"].groupby("program"):
        total = {file: runs[file]["instructions"].sum() for file in mixes["file"]}
        shared = {}  # instructions that the program had done when its neighbor ended
        for row in mixes.itertuples():
            seconds = _seconds(runs[_file_of_neighbor(listed, row)])
            shared[row.file] = cut_to_time(runs[row.file], seconds)["instructions"].sum()
        for file, last in shared.items():
            least = LEAST_WORK * total[file]
            others = [other for other in shared if last - shared[other] >= least]
            if not others:
                continue
            first = max(shared[other] for other in others)
            together[file] = cut_to_work(runs[file], first, last)
            quiet[file] = pd.concat([cut_to_work(runs[other], first, last) for other in others])
    return together, quiet


def _file_of_neighbor(listed, row):
    """Return the file of the neighbor of a row of :func:`list_recordings`."""
    is_neighbor = (listed["recording"] == row.recording) & (listed["program"] == row.neighbor)
    (file,) = listed.loc[is_neighbor, "file"]
    return file


def _seconds(run):
    """Return the length of a run [s]."""
    return run["wall_cycles"].sum() / REFERENCE_HZ


def interval_rates(run: pd.DataFrame, *, most_rows: int = MOST_ROWS) -> tuple[pd.DataFrame, pd.Series]:
    """Make the matrix for a ranking: events per cycle, and IPC.

    The first and the last interval, and intervals with hardly any cycles, are left out. If more than `most_rows`
    intervals are left, neighboring ones are added up.

    Parameters
    ----------
    run : DataFrame
        Intervals from :func:`read_runs`.
    most_rows : int, default 500
        Maximum number of rows.

    Returns
    -------
    X : DataFrame, shape (n_rows, 7)
        ``EVENTS`` per cycle (``local_mem`` and ``remote_mem``: bytes per cycle), and ``llc_size`` [bytes].
    ipc : Series of float, shape (n_rows,)
        Instructions per cycle.
    """
    rows = _add_neighbors(run, most_rows)
    X = rows[EVENTS].div(rows["cycles"], axis=0).assign(**{LEVEL: rows[LEVEL]})
    return X, (rows["instructions"] / rows["cycles"]).rename("ipc")


def _add_neighbors(run, most_rows):
    """Add up neighboring intervals, without the first, the last and idle ones."""
    inner = run.iloc[1:-1]
    enough_cycles = inner["cycles"] >= LEAST_CYCLES * inner["cycles"].median()
    inner = inner[enough_cycles & (inner["instructions"] > 0) & (inner["cycles"] > 0)]
    n_added = -(-len(inner) // most_rows)
    groups = inner.groupby(np.arange(len(inner)) // max(1, n_added))
    rows = groups[COUNTS].sum()
    rows[LEVEL] = groups[LEVEL].mean()
    return rows


def judge_model(X: pd.DataFrame, ipc: pd.Series, *, seed: int = 0) -> dict[str, float]:
    """Measure the errors of three models of IPC on blocks of intervals on which they were not trained.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of the events, from :func:`interval_rates`.
    ipc : Series of float, shape (n_rows,)
        Instructions per cycle.
    seed : int, default 0
        Seed of the models.

    Returns
    -------
    dict of str to float
        Relative errors [%] of the models: ``all events`` (boosted trees), ``one event`` (a straight line through the
        event that correlates best on the training rows) and ``mean`` (of the training rows).
    """
    fold = rank.blocks(X.index, N_BLOCKS) % N_FOLDS
    by_line, by_mean = np.empty(len(ipc)), np.empty(len(ipc))
    for held_out in range(N_FOLDS):
        train, test = fold != held_out, fold == held_out
        varying = X.columns[X[train].std() > 0]
        event = X.loc[train, varying].corrwith(ipc[train]).abs().idxmax()
        slope, intercept = np.polyfit(X.loc[train, event], ipc[train], 1)
        by_line[test] = intercept + slope * X.loc[test, event]
        by_mean[test] = ipc[train].mean()
    predictions = {
        "all events": predict_held_out(X, ipc, fold, seed=seed),
        "one event": by_line,
        "mean": by_mean,
    }
    return {name: rank.relative_error(ipc, predicted) for name, predicted in predictions.items()}


def predict_quiet(
    runs: dict[str, pd.DataFrame], recordings: dict[str, pd.DataFrame], *, seed: int = 0
) -> pd.DataFrame:
    """Predict cycles per instruction (CPI) on a quiet machine from one recording beside a neighbor.

    There are three candidates. They learn only from recordings of programs alone, without the recording of the same
    program alone.

    - ``model``: boosted trees predict CPI from features that a neighbor on the socket can hardly change: misses of the
      private L2, coherence events on the socket, and busy (not stalled) cycles, per instruction.
    - ``usual cost``: misses of the last level cost at most as many stall cycles as in the median program alone.
    - ``most cache``: CPI of the tenth of the recording's own intervals with the largest share of the last-level cache.

    A neighbor never makes a program faster here: a prediction is at most the recorded CPI. The 90 % interval uses the
    errors of the candidate on the programs alone, each predicted without itself (conformal prediction).

    Parameters
    ----------
    runs : dict of str to DataFrame
        All recordings, from :func:`read_runs`.
    recordings : dict of str to DataFrame
        Intervals of the recordings beside a neighbor, by name of the file.
    seed : int, default 0
        Seed of the models.

    Returns
    -------
    DataFrame
        One row per recording and candidate: ``file``, ``candidate``, ``recorded``, ``predicted``, ``low`` and
        ``high`` [cycles per instruction].
    """
    listed = list_recordings().set_index("file")
    alone = {
        listed.at[file, "program"]: run
        for file, run in runs.items()
        if listed.at[file, "setting"] == "alone" and len(run) >= FEWEST_ROWS
    }
    programs = sorted({*alone, *(listed.at[file, "program"] for file in recordings)})
    candidates = {program: _learn_candidates(alone, program, seed) for program in programs}
    errors = {name: [] for name in candidates[programs[0]]}
    for program, run in alone.items():
        for name, predict in candidates[program].items():
            errors[name].append(abs(np.log(_cpi(run) / predict(run))))
    half_widths = {name: _conformal_quantile(values) for name, values in errors.items()}
    rows = []
    for file, run in recordings.items():
        for name, predict in candidates[listed.at[file, "program"]].items():
            row = _bound_prediction(_cpi(run), predict(run), half_widths[name])
            rows.append({"file": file, "candidate": name, **row})
    return pd.DataFrame(rows)


def _bound_prediction(recorded, predicted, half_width):
    """Return a prediction of CPI and its interval (dict), each at most the recorded CPI.

    `half_width` is half the width of the interval of the logarithm.
    """
    factor = np.exp(half_width)
    return {
        "recorded": recorded,
        "predicted": min(predicted, recorded),
        "low": min(predicted / factor, recorded),
        "high": min(predicted * factor, recorded),
    }


def _learn_candidates(alone, left_out, seed):
    """Learn the candidates from all programs alone but one: dict of name to function from a run to CPI."""
    # MG.D is a larger MG: neither is learned from for the other.
    family = _without_sizes([left_out])[0]
    others = {program: run for program, run in alone.items() if program != family}
    model = _fit_model(others.values(), seed)
    usual_cost = _median_cost_of_miss(others)

    def predict_by_model(run):
        X, _, instructions = _invariant_rates(run)
        return np.average(np.exp(model.predict(X)), weights=instructions)

    def predict_by_cost(run):
        totals = run[COUNTS].sum()
        stalls = min(totals["stall_cycles"], usual_cost * totals["l3miss"])
        return (totals["cycles"] - totals["stall_cycles"] + stalls) / totals["instructions"]

    def predict_by_cache(run):
        rows = _add_neighbors(run, MOST_ROWS)
        return _cpi(rows.nlargest(max(1, round(MOST_CACHE * len(rows))), LEVEL))

    return {"model": predict_by_model, "usual cost": predict_by_cost, "most cache": predict_by_cache}


def _fit_model(runs, seed):
    """Fit boosted trees to the logarithm of CPI of some runs, by features that a neighbor hardly changes."""
    tables = [_invariant_rates(run) for run in runs]
    X = pd.concat([features for features, _, _ in tables], ignore_index=True)
    cpi = pd.concat([run_cpi for _, run_cpi, _ in tables], ignore_index=True)
    return regressor(boosting=QUICK, seed=seed).fit(X, np.log(cpi))


def _median_cost_of_miss(runs):
    """Return the stall cycles per miss of the last level in the median of the programs (dict) that miss often."""
    totals = pd.DataFrame({program: run[COUNTS].sum() for program, run in runs.items()}).T
    often = totals[totals["l3miss"] >= FEWEST_MISSES * totals["instructions"]]
    return (often["stall_cycles"] / often["l3miss"]).median()


def _invariant_rates(run):
    """Return features that a neighbor hardly changes, CPI and instructions of each row."""
    rows = _add_neighbors(run, MOST_TRAINING_ROWS)
    instructions = rows["instructions"]
    features = {
        "l2miss": rows["l2miss"] / instructions,
        "intra_coh": rows["intra_coh"] / instructions,
        "busy": (rows["cycles"] - rows["stall_cycles"]) / instructions,
    }
    return pd.DataFrame(features), rows["cycles"] / instructions, instructions


def _cpi(run):
    """Return the cycles per instruction of a run."""
    return run["cycles"].sum() / run["instructions"].sum()


def _conformal_quantile(errors):
    """Return the error below which the nominal share of new errors lies."""
    n = len(errors)
    return np.quantile(errors, min(1.0, np.ceil(COVERAGE * (n + 1)) / n), method="higher")
