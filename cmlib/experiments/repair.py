"""Compare methods that repair multiplexed counts with true counts of three kinds.

Multiplexed events take turns on the counters, and perf scales the counts. A method gets the scaled counts and the
running shares (share of each interval in which an event was counted, 0-1). :func:`score_method` takes such a method and
files, and returns a table of its errors. The true counts are of three kinds:

- ``replayed``: runs that counted every event all the time. A simulated rotation of the events hides a part of their
  counts; the truth is exact.
- ``second reading``: runs that counted one event under two names at different times. One reading is repaired without
  the other. The other is the truth, as perf printed it, with an error of its own.
- ``few events``: runs of the same program that counted few events, all the time. Their mean is the truth; its error is
  estimated from the differences between runs.
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

# Simulated rotations: number of groups, and slots per interval. Some rotations take more than one interval; in others,
# an interval has a whole number of rotations, or a number that is not whole.
ROTATIONS = ((2, 1), (6, 1), (3, 2), (6, 4), (3, 6), (6, 12), (3, 10), (5, 8), (5, 12))
NINE_TENTHS = 1.645  # half-width of a Gaussian's 90 % interval [standard deviations]
_FEWEST_INTERVALS, _MOST_SLOTS = 20, 3000
_HAPPENS_IN = 0.5  # events that happen in a smaller share of the slots are not replayed
_IDLE = 1e5  # runs with fewer instructions are left out
_SAME_TOTAL = 0.05  # largest relative difference between the totals of two names that may be one event
_MOST_PROCESSORS = 256
# Pairs of names of one event, which runs of few events counted in different runs.
_TWINS = (("L1-dcache-loads", "dTLB-loads"), ("branch-misses", "branch-load-misses"))


@dataclass(frozen=True)
class RepairCase:
    """One test of a method that repairs multiplexed counts.

    All frames have one row per interval and one column per event.

    Attributes
    ----------
    name : str
        How the case was made.
    counts, shares : DataFrame
        Input of the method: counts, and running shares (0-1).
    truth, error : DataFrame
        True counts and their standard errors; only the tested events are columns.
    """

    name: str
    counts: pd.DataFrame
    shares: pd.DataFrame
    truth: pd.DataFrame
    error: pd.DataFrame


def score_method(
    method: Callable, files: pd.DataFrame | Sequence[str | Path] | None = None, *, name: str = "method"
) -> pd.DataFrame:
    """Score a method of repairing multiplexed counts beside perf's counts, interpolation and CounterMiner.

    Parameters
    ----------
    method : callable
        ``method(counts, shares)``: frames of one run, one row per interval, one column per event. A count is NaN where
        nothing was counted, a share is NaN where it is not known. It returns the repaired counts, or a tuple of these
        and their standard errors.
    files : DataFrame of :func:`listed`, or sequence of str or path, optional
        Recordings of one of the three kinds; missing files are left out. Default: the judging list.
    name : str, default "method"
        Name of the method in the table.

    Returns
    -------
    DataFrame
        One row per file and method (``perf``, ``lines``, ``counterminer`` and `name`):

        - ``kind``; ``program`` (the file, if `files` is a sequence); ``file``; ``method``.
        - ``error``: mean distance from the truth [% of the mean count], median over the file's series.
        - ``ratio``: error as a multiple of that of perf's counts, geometric mean over the series.
        - ``covered``: share of the true counts in 90 % intervals [%]; NaN without standard errors.
        - ``noise``: squared standard error, divided by the sum of itself and the variance of the repaired series [%].
        - ``series``: their number.

        Gaps in perf's counts are filled by a straight line in time.

    Raises
    ------
    ValueError
        If none of the files is there.
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
        raise InputError("none of the files is there: `cmlib fetch` has them, CMLIB_PUBLIC their folder.")
    by_series = pd.concat(scores)
    by_series["ratio"] = np.log(by_series["ratio"].clip(0.01, 100))
    groups = by_series.groupby(["kind", "program", "file", "method"], sort=False)
    summary = groups[["ratio", "covered", "noise"]].mean().assign(series=groups.size())
    summary.insert(0, "error", groups["error"].median())
    return summary.assign(ratio=np.exp(summary["ratio"])).reset_index()


def score_cases(methods: dict[str, Callable], cases: Iterable[RepairCase]) -> pd.DataFrame:
    """Score methods and the baselines on cases.

    Parameters
    ----------
    methods : dict of str to callable
        Methods by name, ``method(counts, shares)`` as in :func:`score_method`.
    cases : iterable of RepairCase
        Counts with known truth.

    Returns
    -------
    DataFrame
        One row for each case, method and event: ``case``, ``method``, ``event``; ``error``, mean distance from the
        truth [% of the mean count]; ``covered``, share of the true counts in 90 % intervals [%], NaN without standard
        errors; ``noise`` [%]; ``printed``, error of perf's counts [%]; ``ratio``, error divided by printed (1 if that
        is 0).
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
    """Summarize the scores of methods by kind of truth.

    Parameters
    ----------
    judged : DataFrame
        Result of :func:`score_method`.
    seed : int, default 0
        Seed of the bootstrap over programs.

    Returns
    -------
    DataFrame
        One row per kind of truth and method (index): ``programs`` and ``files`` (numbers); ``ratio``, error as a
        multiple of that of perf's counts, geometric mean over programs; ``low`` and ``high``, the range of 90 % of the
        resamplings of programs; ``worst``, the largest ratio of a file; ``covered`` and ``least``, mean and minimum
        over files of the share of true counts in 90 % intervals [%].
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


def listed(which: str | None = None) -> pd.DataFrame:
    """List the files with known true counts.

    Parameters
    ----------
    which : {"tuning", "judging"}, optional
        "tuning" for the files on which constants of methods are set, "judging" for the files on which methods are
        compared. Default: both.

    Returns
    -------
    DataFrame
        One row per file, with the columns list, kind (of truth), set, program and file.
    """
    table = pd.read_csv(places.shipped("public") / "repair.csv")
    return table if which is None else table[table["list"] == which].reset_index(drop=True)


def cases(file: str | Path, rotations: Iterable[tuple[int, int]] = ROTATIONS) -> list[RepairCase]:
    """Make the cases of one file.

    Parameters
    ----------
    file : str or path
        Path, or name in a published set.
    rotations : iterable of (int, int)
        Rotations to simulate if counts are replayed: pairs of the number of groups and of slots per interval.

    Returns
    -------
    list of RepairCase
        Empty if the file is not there.
    """
    _, file_cases = _make_cases(str(file), tuple(rotations))
    if file_cases and str(file) in set(public.files()["file"]):  # also if the cases come from the cache
        note_read(public.provenance_of_file(str(file)))
    return file_cases


def twice_counted(
    counts: pd.DataFrame,
    shares: pd.DataFrame,
    groups: Iterable[Sequence[str]] = (),
    machine: dict | None = None,
) -> Iterator[RepairCase]:
    """Yield the cases of a run that counted events under two names at different times.

    The method gets the reading under one name; the reading under the other name is the truth. It is not given to the
    method, and neither are the events that were counted together with it. Each name is the truth of one case.

    Parameters
    ----------
    counts, shares : DataFrame
        Counts and running shares (0-1) of the run, one row per interval, one column per event.
    groups : iterable of sequence of str
        Groups of events that were counted together. Default: found by the order of the columns.
    machine : dict, optional
        Metadata of the machine.

    Yields
    ------
    RepairCase
    """
    pairs = _find_pairs(counts, machine)
    counts = counts.loc[:, counts.notna().sum() >= FEWEST_SAMPLES]
    for event, other in pairs:
        if not {event, other} <= set(counts) or not shares[other].lt(1).any():
            continue
        shared_time = _estimate_shared_time(shares[counts.columns], other, groups)
        separate = [name for name in counts if shared_time.get(name, 0.0) == 0]
        if event not in separate:
            continue
        truth = counts[other].where(counts[event].notna())
        error = _estimate_spread(counts[event] - truth) / np.sqrt(2)
        yield RepairCase(
            name=f"{event} by {other}",
            counts=counts[separate],
            shares=shares[separate],
            truth=truth.to_frame(event),
            error=error.to_frame(event),
        )


def _find_pairs(counts, machine):
    """List the pairs of names of one event in both orders: (name to repair, name of the truth)."""
    total = counts.sum()
    pairs = []
    for pair in events.same_events(counts, machine):
        if pair.certain or 1 - _SAME_TOTAL < total[pair.first] / total[pair.second] < 1 + _SAME_TOTAL:
            pairs.append((pair.first, pair.second))
    pairs += events.second_readings(list(counts)).items()
    return [ordered for first, second in pairs for ordered in ((first, second), (second, first))]


def _estimate_shared_time(shares, event, groups):
    """Estimate the share (0-1) of its time that each multiplexed event was counted together with `event`: a Series.

    It is estimated from the distance of their groups, in the order of the columns or in `groups`.
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
    """Apply ``repair(values, shares)`` to each event with at least three samples, and return all counts."""
    repaired = {}
    for event in counts.columns[counts.notna().sum() >= FEWEST_SAMPLES]:
        repaired[event] = repair(counts[event].to_numpy(), shares[event].fillna(1.0).to_numpy())
    return counts.assign(**repaired)


def straight_lines(counts: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """Interpolate rates linearly between the times in which an event was counted.

    Parameters
    ----------
    counts, shares : DataFrame
        Counts and running shares (0-1), one row per interval, one column per event.

    Returns
    -------
    DataFrame
        Counts in the shape of `counts`; events with fewer than three samples are unchanged.
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
    """Yield (event, error, covered, noise), in percent, for each event in the truth of a case."""
    repaired = method(case.counts.copy(), case.shares.copy())
    repaired, error = repaired if isinstance(repaired, tuple) else (repaired, None)
    for event in case.truth:
        truth = case.truth[event]
        distance = (repaired[event].interpolate(limit_direction="both") - truth).abs()
        covered = noise = np.nan
        if error is not None:
            half_width = NINE_TENTHS * np.hypot(error[event], case.error[event])
            hidden = truth.notna() & ~(case.shares[event] >= 1)
            covered = 100 * (distance <= half_width)[hidden].mean()
            variance = np.nan_to_num(repaired[event].var())
            squares = (error[event] ** 2).mean()
            noise = 100 * squares / max(squares + variance, 1e-300) if len(truth) > 1 else np.nan
        yield event, 100 * distance.mean() / truth.mean(), covered, noise


@functools.lru_cache(maxsize=256)
def _make_cases(name, rotations=ROTATIONS):
    """Make (kind of truth, list of RepairCases) of a file, by its name and contents; ("", []) if it is not there."""
    text = _read_text(name)
    if text is None:
        return "", []
    if "per_1_time" in name:
        return "few events", list(_compare_lines(name, text))
    if text.startswith(("PERF_COUNT", "#PERF_COUNT")):
        samples = streams.parse_stream(text, name).diff().iloc[1:]
        return "replayed", list(_replay(samples, rotations))
    if "callgrind" in name:
        return "replayed", list(_replay(read_series(text)[0], rotations, pinned=["sim.instructions"]))
    frame = perf.parse_stat(text)
    if frame["time_s"].isna().all():
        return "second reading", list(_compare_with_parts(name, frame))
    counts, shares = perf.series(frame)
    if (shares.fillna(1) >= 1).all(axis=None):
        return "replayed", list(_replay(counts, rotations, pinned=["cycles"]))
    full_runs = _read_full_runs(name)
    if full_runs:
        return "few events", list(_align_with_full_runs(counts, shares, full_runs))
    return "second reading", list(twice_counted(counts, shares))


def _read_text(name):
    """Read the text of a file by its path, from the data or from published sets; None if it is not there."""
    for place in (Path(name), places.data_dir() / name):
        if place.is_file():
            return decompress(read_file(place), place).decode("latin-1")
    content = public.read(name) if name in set(public.files()["file"]) else None
    return None if content is None else content.decode("latin-1")


def _replay(counted, rotations, pinned=("instructions",)):
    """Yield a RepairCase for each rotation for which a recording without multiplexing is long enough."""
    counted = counted.iloc[:_MOST_SLOTS]
    pinned = [event for event in pinned if event in counted]
    happens = counted.columns[(counted > 0).mean() >= _HAPPENS_IN]
    turning = [event for event in happens if event not in pinned]
    for n, slots in rotations:
        if len(counted) // slots >= _FEWEST_INTERVALS:
            groups = [turning[number::n] for number in range(n)]
            hidden = clean.replay(counted[[*pinned, *turning]], groups, slots=slots)
            truth = hidden.truth[turning]
            yield RepairCase(f"{n} groups, {slots} slots", hidden.counts, hidden.running, truth, 0.0 * truth)


def _compare_with_parts(name, frame):
    """Yield a case of totals over processors; the truth is the sum of other perf processes, one per processor."""
    stem, dot, suffix = name.partition(".out")
    texts = [_read_text(f"{stem}_{number}{dot}{suffix}") for number in range(_MOST_PROCESSORS)]
    parts = [perf.parse_stat(text).set_index("event")["value"] for text in texts if text is not None]
    if not parts:
        return
    whole = frame.set_index("event")
    total = sum(parts)
    error = total * _estimate_spread(np.log(whole["value"] / total), reach=len(total)) / np.sqrt(2)
    yield _make_single("sum of its processors", whole["value"], whole["running"], total, error)


def _compare_lines(name, text):
    """Yield a case for each run of a table: all events multiplexed, and the truth from runs of four events each."""
    many = pd.read_csv(io.StringIO(text)).drop(columns="label")
    few_text = _read_text(name.replace("20_per_1_time", "4_per_5_times"))
    few = pd.read_csv(io.StringIO(few_text)).drop(columns="label")
    busy = (many["instructions"] >= _IDLE) & (few["instructions"] >= _IDLE)
    many = many[busy].replace(0, np.nan).astype(float)
    few = few[busy].replace(0, np.nan).astype(float)
    errors = [_estimate_spread(np.log(few[first] / few[second])) for first, second in _TWINS]
    error = np.hypot(*errors) / np.sqrt(2)
    for line in many.index:
        is_counted = many.loc[line].notna()
        truth = few.loc[line].where(is_counted)
        shares = is_counted.map({True: np.nan, False: 0.0})
        yield _make_single(f"line {line}", many.loc[line], shares, truth, truth * error[line])


def _make_single(name, *series):
    """Make a case of one interval from Series by event: counts, shares, truth and error."""
    return RepairCase(name, *(values.astype(float).to_frame().T.reset_index(drop=True) for values in series))


def _read_full_runs(name):
    """Read (counts, shares) of the runs without multiplexing of the same program in the file's folder: a list."""
    folder_name, _, file = name.rpartition("/")
    folders = [place for place in (Path(folder_name), places.data_dir() / folder_name) if place.is_dir()]
    if not folders:
        return []
    runs = sorted(folders[0].glob("*ocoe*.csv*"))
    program, is_named_after_program, _ = file.partition(".mlpx")
    if is_named_after_program:
        runs = [run for run in runs if run.name.startswith(f"{program}.ocoe")]
    return [perf.series(perf.parse_stat(_read_text(str(run)))) for run in runs]


def _align_with_full_runs(counts, shares, runs):
    """Yield a case for each event of a multiplexed run; the truth is the mean of two others at the same progress."""
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
    """Interpolate the counts of an event in a run to the intervals between values of progress: a Series."""
    total = np.append(0, run[event].fillna(0).cumsum())
    steps = np.diff(np.interp(progress, _compute_progress(run), total))
    return pd.Series(steps, index)


def _compute_progress(counts):
    """Compute the share of the instructions retired by the end of each interval, after a first 0: an array."""
    retired = np.append(0, counts["instructions"].fillna(0).cumsum())
    return retired / retired[-1]


def _estimate_spread(differences, *, reach=4):
    """Estimate the standard deviation of each of a series of differences from its neighbors.

    It is scaled so that 90 % of the differences are within 1.645 standard deviations. `reach` is the number of
    neighbors on either side.
    """
    squares = (differences**2).fillna(0).to_numpy()
    is_known = differences.notna().to_numpy()
    neighbors = np.ones(2 * reach + 1)
    neighbors[reach] = 0
    sums = np.convolve(squares, neighbors)[reach:-reach]
    n_known = np.convolve(is_known.astype(float), neighbors)[reach:-reach]
    smallest = max(1e-3 * squares[is_known].mean(), 1e-300)
    local = np.sqrt(np.maximum(sums / np.maximum(n_known, 1), smallest))
    scale = np.quantile(np.sqrt(squares[is_known]) / local[is_known], 0.9) / NINE_TENTHS
    return pd.Series(local * scale, differences.index)
