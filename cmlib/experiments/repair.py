"""Evaluate methods that repair the errors of multiplexed counts.

Multiplexed events take turns on the counters, and perf extrapolates their counts. A repair method gets these counts
and the running shares (the fraction of each interval in which an event was counted). :func:`score_method` compares
the repaired counts with true counts, which are known for three kinds of recordings:

- ``replayed``: every event was counted all the time. A simulated rotation of the events hides a part of the counts.
  The true counts are exact.
- ``second reading``: an event was counted under two names at different times. The method repairs the counts of one
  name. The true counts are those of the other name, with their own error.
- ``few events``: other runs of the same program counted few events, all the time. The true counts are the mean of
  these runs. Their error is estimated from the differences between the runs.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib import clean, places
from cmlib.clean.missing import interpolate
from cmlib.clean.series import FEWEST_SAMPLES
from cmlib.errors import InputError
from cmlib.io import events, perf, public, streams
from cmlib.io.archive import decompress, read_file
from cmlib.io.callgrind import read_series
from cmlib.io.provenance import note_read

__all__ = [
    "BASELINE_METHODS",
    "cases",
    "listed",
    "ratios",
    "score_cases",
    "score_method",
    "straight_lines",
    "twice_counted",
]

# Simulated rotations: number of groups of events, and number of turns per interval. In some rotations, an interval
# contains a whole number of rotations. In others it contains a fraction.
ROTATIONS = ((2, 1), (6, 1), (3, 2), (6, 4), (3, 6), (6, 12), (3, 10), (5, 8), (5, 12))
_HALF_WIDTH_90 = 1.645  # half the width of the 90 % interval of a normal distribution [standard deviations]
_FEWEST_INTERVALS = 20  # of a replayed recording
_MOST_TURNS = 3000  # of a replayed recording
_LEAST_SHARE = 0.5  # of the intervals in which a replayed event must happen
_FEWEST_INSTRUCTIONS = 1e5  # of a run
_LARGEST_DIFFERENCE = 0.05  # relative, between the total counts of two names of the same event
_MOST_PROCESSORS = 256
# Pairs of names of the same event, which were counted in different runs.
_EQUAL_EVENTS = (("L1-dcache-loads", "dTLB-loads"), ("branch-misses", "branch-load-misses"))


@dataclass(frozen=True)
class RepairCase:
    """Multiplexed counts with known true counts.

    All DataFrames have one row per interval and one column per event.

    Attributes
    ----------
    name : str
        How the case was made.
    counts, shares : DataFrame
        Input of a repair method: counts and running shares (0-1).
    truth, error : DataFrame
        True counts and their standard errors, for some of the events.
    """

    name: str
    counts: pd.DataFrame
    shares: pd.DataFrame
    truth: pd.DataFrame
    error: pd.DataFrame


def score_method(
    method: Callable, files: pd.DataFrame | Sequence[str | Path] | None = None, *, name: str = "method"
) -> pd.DataFrame:
    """Compare a repair method with perf, interpolation and CounterMiner.

    Parameters
    ----------
    method : callable
        Function ``method(counts, shares)``. The running share (0-1) is the fraction of the interval in which the event
        was counted, or NaN if it is unknown. A count is NaN if the event was not counted. The function returns the
        repaired counts, or a pair of the repaired counts and their standard errors. All are DataFrames with one row
        per interval and one column per event.
    files : DataFrame from :func:`listed`, or sequence of path, optional
        Recordings with known true counts. Files that are not on this machine are skipped. Default: all recordings for
        judging.
    name : str, default "method"
        Name of the method in the result.

    Returns
    -------
    DataFrame
        One row per file and method, with these columns:

        - ``kind``: kind of the true counts ("replayed", "second reading" or "few events").
        - ``program``, ``file``, ``method``: names. The other methods are ``perf``, ``lines`` and ``counterminer``.
        - ``error``: mean distance from the true counts [% of the mean count], median over the events.
        - ``ratio``: error divided by the error of perf, geometric mean over the events.
        - ``covered``: share of the true counts inside the 90 % intervals [%], or NaN without standard errors.
        - ``noise``: share of the error in the variance of the repaired counts [%]. It is e / (e + v), with the mean
          squared standard error e and the variance v.
        - ``series``: number of events in all cases of the file.

    Raises
    ------
    ValueError
        If no file is on this machine.
    """
    if files is None:
        table = listed("judging")
    elif isinstance(files, pd.DataFrame):
        table = files
    else:
        table = pd.DataFrame({"file": [str(file) for file in files]})
    programs = table.get("program", table["file"])
    scores = []
    for file, program in zip(table["file"], programs, strict=True):
        kind, file_cases = _make_cases(file)
        if file_cases:
            file_scores = score_cases({name: method}, file_cases)
            scores.append(file_scores.assign(kind=kind, program=program, file=file))
    if not scores:
        raise InputError(
            "no file is on this machine. Download the sets by `cmlib fetch`, or set CMLIB_PUBLIC to their folder."
        )
    by_series = pd.concat(scores)
    by_series["ratio"] = np.log(by_series["ratio"].clip(0.01, 100))
    groups = by_series.groupby(["kind", "program", "file", "method"], sort=False)
    summary = groups[["ratio", "covered", "noise"]].mean().assign(series=groups.size())
    summary.insert(0, "error", groups["error"].median())
    return summary.assign(ratio=np.exp(summary["ratio"])).reset_index()


def score_cases(methods: dict[str, Callable], cases: Iterable[RepairCase]) -> pd.DataFrame:
    """Compare repair methods on some cases.

    Parameters
    ----------
    methods : dict of str to callable
        Functions ``method(counts, shares)`` as in :func:`score_method`, keyed by name. The methods ``perf``,
        ``lines`` and ``counterminer`` are always compared.
    cases : iterable of RepairCase
        Multiplexed counts with known true counts.

    Returns
    -------
    DataFrame
        One row per case, method and event, with these columns:

        - ``case``, ``method``, ``event``: names.
        - ``error``: mean distance from the true counts [% of the mean count].
        - ``covered``: share of the true counts inside the 90 % intervals [%], or NaN without standard errors.
        - ``noise``: share of the error in the variance of the repaired counts [%]. It is e / (e + v), with the mean
          squared standard error e and the variance v.
        - ``printed``: error of perf's counts [%].
        - ``ratio``: ``error`` divided by ``printed``, or 1 if ``printed`` is 0.
    """
    rows = []
    for case in cases:
        for name, method in (BASELINE_METHODS | methods).items():
            rows += [(case.name, name, *scores) for scores in _score(method, case)]
    scores = pd.DataFrame(rows, columns=["case", "method", "event", "error", "covered", "noise"])
    printed = scores[scores["method"] == "perf"].set_index(["case", "event"])["error"]
    scores = scores.join(printed.rename("printed"), on=["case", "event"])
    ratio = (scores["error"] / scores["printed"]).where(scores["printed"] > 0, 1.0)
    return scores.assign(ratio=ratio)


def ratios(judged: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """Summarize the scores of methods over all files.

    Parameters
    ----------
    judged : DataFrame
        Result of :func:`score_method`.
    seed : int, default 0
        Seed of the resampling.

    Returns
    -------
    DataFrame
        One row per kind of true counts and method (index), with these columns:

        - ``programs``, ``files``: numbers.
        - ``ratio``: error divided by the error of perf, geometric mean over the programs.
        - ``low``, ``high``: 90 % interval of the ratio, from resampled programs (bootstrap).
        - ``worst``: largest ratio of a file.
        - ``covered``: share of the true counts inside the 90 % intervals, mean over the files [%].
        - ``least``: the same share, minimum over the files [%].
    """
    rng = np.random.default_rng(seed)
    rows = {}
    for kind_and_method, files in judged.groupby(["kind", "method"], sort=False):
        logs = np.log(files["ratio"]).groupby(files["program"]).mean().to_numpy()
        resampled_means = logs[rng.integers(len(logs), size=(2000, len(logs)))].mean(axis=1)
        low, high = np.exp(np.quantile(resampled_means, [0.05, 0.95]))
        rows[kind_and_method] = {
            "programs": len(logs),
            "files": len(files),
            "ratio": np.exp(logs.mean()),
            "low": low,
            "high": high,
            "worst": files["ratio"].max(),
            "covered": files["covered"].mean(),
            "least": files["covered"].min(),
        }
    table = pd.DataFrame(rows).T.rename_axis(["kind", "method"])
    return table.astype({"programs": int, "files": int})


def listed(purpose: str | None = None) -> pd.DataFrame:
    """List the files with known true counts.

    Parameters
    ----------
    purpose : {"tuning", "judging"}, optional
        Purpose of the files: to set the constants of a method, or to compare methods. Default: both.

    Returns
    -------
    DataFrame
        One row per file. Columns: ``list`` (tuning or judging), ``kind`` (of the true counts), ``set`` (published
        set), ``program`` and ``file``.
    """
    table = pd.read_csv(places.shipped("public") / "repair.csv")
    if purpose is None:
        return table
    return table[table["list"] == purpose].reset_index(drop=True)


def cases(file: str | Path, rotations: Iterable[tuple[int, int]] = ROTATIONS) -> list[RepairCase]:
    """Read a file with known true counts, and make the cases for repair methods.

    Parameters
    ----------
    file : path
        Path, or name of a file in a published set.
    rotations : iterable of (int, int)
        Simulated rotations for recordings without multiplexing. Each is the number of groups of events, and the
        number of turns per interval.

    Returns
    -------
    list of RepairCase
        Multiplexed counts with known true counts. Empty if the file does not exist.
    """
    _, file_cases = _make_cases(str(file), tuple(rotations))
    # Also noted if the cases were read before and are cached.
    if file_cases and str(file) in set(public.files()["file"]):
        note_read(public.provenance_of_file(str(file)))
    return file_cases


def twice_counted(
    counts: pd.DataFrame,
    shares: pd.DataFrame,
    groups: Iterable[Sequence[str]] = (),
    machine: dict | None = None,
) -> Iterator[RepairCase]:
    """Make cases of events that a run counted under two names.

    The method repairs the counts of one name. The counts of the other name are the true counts, which the method does
    not get. The method does not get other events that were counted at the same time as the true counts.

    Parameters
    ----------
    counts, shares : DataFrame
        Counts and running shares (0-1) of the run. One row per interval, one column per event.
    groups : iterable of sequence of str, optional
        Groups of events that were counted at the same time. Default: estimated from the order of the columns.
    machine : dict, optional
        Metadata of the machine.

    Yields
    ------
    RepairCase
        One case for each name of a pair.
    """
    pairs = _find_pairs(counts, machine)
    counts = counts.loc[:, counts.notna().sum() >= FEWEST_SAMPLES]
    for event, other_name in pairs:
        if not {event, other_name} <= set(counts) or not shares[other_name].lt(1).any():
            continue
        shared_time = _estimate_shared_time(shares[counts.columns], other_name, groups)
        visible = [name for name in counts if shared_time.get(name, 0.0) == 0]
        if event not in visible:
            continue
        truth = counts[other_name].where(counts[event].notna())
        error = _estimate_spread(counts[event] - truth) / np.sqrt(2)
        yield RepairCase(
            name=f"{event} by {other_name}",
            counts=counts[visible],
            shares=shares[visible],
            truth=truth.to_frame(event),
            error=error.to_frame(event),
        )


def _find_pairs(counts, machine):
    """Return the pairs of names of the same event, each pair in both orders."""
    total = counts.sum()
    pairs = []
    for pair in events.same_events(counts, machine):
        ratio = total[pair.first] / total[pair.second]
        has_similar_totals = 1 - _LARGEST_DIFFERENCE < ratio < 1 + _LARGEST_DIFFERENCE
        if pair.certain or has_similar_totals:
            pairs.append((pair.first, pair.second))
    pairs += events.second_readings(list(counts)).items()
    return [ordered for first, second in pairs for ordered in ((first, second), (second, first))]


def _estimate_shared_time(shares, event, groups):
    """Estimate the overlap of each event with `event` in time (0-1).

    The groups of events take turns on the counters in the order of the columns. Groups that are near each other in
    this order are counted at the same time if several fit on the counters.
    """
    multiplexed = shares.loc[:, shares.lt(1).any()].fillna(0)
    group_by_name = {name: number for number, group in enumerate(groups) for name in group}
    group_labels = pd.Series({name: group_by_name.get(name, name) for name in multiplexed}, dtype=object)
    position = (group_labels != group_labels.shift()).cumsum()
    n_at_once = max(1, round(multiplexed.T.groupby(position).first().mean(axis=1).sum() + 0.4))
    distance = (position - position[event]).abs()
    distance = np.minimum(distance, position.max() - distance)
    return (1 - distance / n_at_once).clip(lower=0)


def _repair_each(repair, counts, shares):
    """Repair each event separately by ``repair(values, shares)``.

    Events with fewer than three samples are unchanged.
    """
    repaired = {}
    for event in counts.columns[counts.notna().sum() >= FEWEST_SAMPLES]:
        repaired[event] = repair(counts[event].to_numpy(), shares[event].fillna(1.0).to_numpy())
    return counts.assign(**repaired)


def straight_lines(counts: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """Repair counts by linear interpolation.

    Rates are interpolated between the times at which an event was counted.

    Parameters
    ----------
    counts, shares : DataFrame
        Counts and running shares (0-1). One row per interval, one column per event.

    Returns
    -------
    DataFrame
        Repaired counts in the shape of `counts`. Events with fewer than three samples are unchanged.
    """
    return _repair_each(interpolate, counts, shares)


BASELINE_METHODS = {
    "perf": lambda counts, shares: counts,
    "lines": straight_lines,
    "counterminer": functools.partial(
        _repair_each, lambda values, share: clean.clean_series(values, share)[0]
    ),
}


def _score(method, case):
    """Yield (event, error, covered, noise) for each event with true counts.

    The columns of :func:`score_cases` explain the numbers.
    """
    result = method(case.counts.copy(), case.shares.copy())
    repaired, error = result if isinstance(result, tuple) else (result, None)
    for event in case.truth:
        truth = case.truth[event]
        distance = (repaired[event].interpolate(limit_direction="both") - truth).abs()
        covered = noise = np.nan
        if error is not None:
            half_width = _HALF_WIDTH_90 * np.hypot(error[event], case.error[event])
            hidden = truth.notna() & ~(case.shares[event] >= 1)
            covered = 100 * (distance <= half_width)[hidden].mean()
            if len(truth) > 1:
                variance = np.nan_to_num(repaired[event].var())
                squared_error = (error[event] ** 2).mean()
                noise = 100 * squared_error / max(squared_error + variance, 1e-300)
        yield event, 100 * distance.mean() / truth.mean(), covered, noise


@functools.lru_cache(maxsize=256)
def _make_cases(name, rotations=ROTATIONS):
    """Return the kind of true counts in a file, and its cases (list of RepairCase).

    The kind is found by the name and the contents of the file. If the file does not exist, ("", []) is returned.
    """
    text = _read_text(name)
    if text is None:
        return "", []
    if "per_1_time" in name:
        return "few events", list(_compare_with_few_events(name, text))
    if text.startswith(("PERF_COUNT", "#PERF_COUNT")):
        samples = streams.parse_stream(text, name).diff().iloc[1:]
        return "replayed", list(_replay(samples, rotations))
    if "callgrind" in name:
        return "replayed", list(_replay(read_series(text)[0], rotations, pinned=["sim.instructions"]))
    frame = perf.parse_stat(text)
    if frame["time_s"].isna().all():
        return "second reading", list(_compare_with_processors(name, frame))
    counts, shares = perf.series(frame)
    if (shares.fillna(1) >= 1).all(axis=None):
        return "replayed", list(_replay(counts, rotations, pinned=["cycles"]))
    full_runs = _read_full_runs(name)
    if full_runs:
        return "few events", list(_compare_with_full_runs(counts, shares, full_runs))
    return "second reading", list(twice_counted(counts, shares))


def _read_text(name):
    """Return the text of a file of the data or of a published set, or None."""
    for path in (Path(name), places.data_dir() / name):
        if path.is_file():
            return decompress(read_file(path), path).decode("latin-1")
    if name not in set(public.files()["file"]):
        return None
    content = public.read(name)
    return None if content is None else content.decode("latin-1")


def _replay(counted, rotations, pinned=("instructions",)):
    """Yield a case for each simulated rotation, from a recording without multiplexing.

    The `pinned` events do not take turns. Rotations for which the recording is too short are skipped.
    """
    counted = counted.iloc[:_MOST_TURNS]
    pinned = [event for event in pinned if event in counted]
    frequent = counted.columns[(counted > 0).mean() >= _LEAST_SHARE]
    turning = [event for event in frequent if event not in pinned]
    for n_groups, turns_per_interval in rotations:
        if len(counted) // turns_per_interval >= _FEWEST_INTERVALS:
            groups = [turning[number::n_groups] for number in range(n_groups)]
            hidden = clean.replay(counted[[*pinned, *turning]], groups, slots=turns_per_interval)
            truth = hidden.truth[turning]
            name = f"{n_groups} groups, {turns_per_interval} slots"
            yield RepairCase(name, hidden.counts, hidden.running, truth, 0.0 * truth)


def _compare_with_processors(name, frame):
    """Yield a case of total counts over all processors.

    Other perf processes counted each processor. The sum of their counts is the truth.
    """
    stem, dot, suffix = name.partition(".out")
    texts = [_read_text(f"{stem}_{number}{dot}{suffix}") for number in range(_MOST_PROCESSORS)]
    counts_of_processors = [
        perf.parse_stat(text).set_index("event")["value"] for text in texts if text is not None
    ]
    if not counts_of_processors:
        return
    whole = frame.set_index("event")
    total = sum(counts_of_processors)
    error = total * _estimate_spread(np.log(whole["value"] / total), reach=len(total)) / np.sqrt(2)
    yield _make_single("sum of its processors", whole["value"], whole["running"], total, error)


def _compare_with_few_events(name, text):
    """Yield a case for each row of a table with total counts.

    In this table, a row is a run with all events, multiplexed. Another table contains runs of the same programs
    that counted four events each. Its counts are the truth.
    """
    many = pd.read_csv(io.StringIO(text)).drop(columns="label")
    few_text = _read_text(name.replace("20_per_1_time", "4_per_5_times"))
    few = pd.read_csv(io.StringIO(few_text)).drop(columns="label")
    is_busy = (many["instructions"] >= _FEWEST_INSTRUCTIONS) & (few["instructions"] >= _FEWEST_INSTRUCTIONS)
    many = many[is_busy].replace(0, np.nan).astype(float)
    few = few[is_busy].replace(0, np.nan).astype(float)
    errors = [_estimate_spread(np.log(few[first] / few[second])) for first, second in _EQUAL_EVENTS]
    error = np.hypot(*errors) / np.sqrt(2)
    for row in many.index:
        is_counted = many.loc[row].notna()
        truth = few.loc[row].where(is_counted)
        shares = is_counted.map({True: np.nan, False: 0.0})
        yield _make_single(f"line {row}", many.loc[row], shares, truth, truth * error[row])


def _make_single(name, counts, shares, truth, error):
    """Make a case with one interval from Series that are indexed by event name."""
    frames = [
        values.astype(float).to_frame().T.reset_index(drop=True) for values in (counts, shares, truth, error)
    ]
    return RepairCase(name, *frames)


def _read_full_runs(name):
    """Return the counts and running shares of runs without multiplexing.

    The runs are of the same program, and their files are in the same folder.
    """
    folder_name, _, file = name.rpartition("/")
    folders = [path for path in (Path(folder_name), places.data_dir() / folder_name) if path.is_dir()]
    if not folders:
        return []
    runs = sorted(folders[0].glob("*ocoe*.csv*"))
    program, is_named_after_program, _ = file.partition(".mlpx")
    if is_named_after_program:
        runs = [run for run in runs if run.name.startswith(f"{program}.ocoe")]
    return [perf.series(perf.parse_stat(_read_text(str(run)))) for run in runs]


def _compare_with_full_runs(counts, shares, runs):
    """Yield a case for each event of a multiplexed run.

    The truth is the mean of two runs without multiplexing. Intervals are matched by the share of executed
    instructions.
    """
    progress = _compute_progress(counts)
    for event in counts.columns[shares.lt(1).any()]:
        with_event = [run for run, _ in runs if event in run]
        if len(with_event) < 2:
            continue
        first, second = (_count_at_progress(run, event, progress, counts.index) for run in with_event[:2])
        truth = (first + second) / 2
        error = _estimate_spread(first - second) * np.sqrt(3) / 2
        yield RepairCase("run", counts, shares, truth.to_frame(event), error.to_frame(event))


def _count_at_progress(run, event, progress, index):
    """Return the counts of an event between given shares of executed instructions."""
    total = np.append(0, run[event].fillna(0).cumsum())
    steps = np.diff(np.interp(progress, _compute_progress(run), total))
    return pd.Series(steps, index)


def _compute_progress(counts):
    """Return the share of executed instructions at each interval boundary."""
    executed = np.append(0, counts["instructions"].fillna(0).cumsum())
    return executed / executed[-1]


def _estimate_spread(differences, *, reach=4):
    """Estimate the standard deviation of each difference from its neighbors.

    The estimates are scaled so that 90 % of the differences lie within 1.645 standard deviations.

    Parameters
    ----------
    differences : Series
        Differences between two measurements.
    reach : int, default 4
        Number of neighbors on each side.
    """
    squares = (differences**2).fillna(0).to_numpy()
    is_known = differences.notna().to_numpy()
    weights = np.ones(2 * reach + 1)
    weights[reach] = 0
    sums = np.convolve(squares, weights)[reach:-reach]
    n_known = np.convolve(is_known.astype(float), weights)[reach:-reach]
    smallest = max(1e-3 * squares[is_known].mean(), 1e-300)
    local = np.sqrt(np.maximum(sums / np.maximum(n_known, 1), smallest))
    scale = np.quantile(np.sqrt(squares[is_known]) / local[is_known], 0.9) / _HALF_WIDTH_90
    return pd.Series(local * scale, differences.index)
