"""Benchmark of methods that repair multiplexed counts, with three kinds of true counts.

Multiplexed events take turns on the counters, and perf scales what it counted; a method gets the scaled counts and
the running shares (share of each interval in which an event was counted, 0-1). :func:`score_method` takes such a
method and files, and gives a table of its errors (a DataFrame), or a ValueError if none of the files is there. Kinds
of truth:

- ``replayed``: runs that counted every event all the time, of which simulated rotations hide a part; the truth is
  exact.
- ``second reading``: one event counted twice at different times. One reading is repaired without the other, which is
  then the truth, as perf printed it, with its own error.
- ``few events``: runs of the same program that counted few events, all the time. Their mean is the truth, with the
  differences between runs as its error.
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

# Simulated rotations: number of groups, and slots an interval. A rotation takes more than one interval, or an interval
# has a whole number of rotations, or no whole number.
ROTATIONS = ((2, 1), (6, 1), (3, 2), (6, 4), (3, 6), (6, 12), (3, 10), (5, 8), (5, 12))
NINE_TENTHS = 1.645  # half-width of a Gaussian's 90 % interval [standard deviations]
_FEWEST_INTERVALS, _MOST_SLOTS = 20, 3000
_HAPPENS_IN = 0.5  # least share of the slots in which an event happens, to be replayed
_IDLE = 1e5  # runs with fewer instructions are left out
_ALIKE = 0.05  # relative difference of totals up to which two names that may be one event are taken for one
_MOST_PROCESSORS = 256
# Pairs of names of one event, which the runs of few events counted in different runs.
_TWINS = (("L1-dcache-loads", "dTLB-loads"), ("branch-misses", "branch-load-misses"))


@dataclass(frozen=True)
class RepairCase:
    """One test of a method that repairs multiplexed counts.

    `name` tells how the case was made. `counts` and running `shares` (0-1) are what the method gets, `truth` the true
    counts and `error` their standard error: DataFrames with a row per interval, a column per event; truth and error
    have the columns of those events alone that are tested.
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
        ``method(counts, shares)``: frames of one run, a row per interval, a column per event; a count is NaN where
        nothing was counted, a share where it is not known. Returns the counts, or them and their standard errors.
    files : DataFrame of :func:`listed`, or sequence of str or path, optional
        Recordings of one of the three kinds; missing files are left out. Default: the judging list.
    name : str, default "method"
        Name of the method in the table.

    Returns
    -------
    DataFrame
        A row per file and method (``perf``, ``lines``, ``counterminer`` and `name`): ``kind``, ``program`` (without a
        list, the file), ``file``, ``method``; ``error``, mean distance from the truth [% of the mean count], median of
        the file's series; ``ratio``, that as a multiple of what perf prints, geometric mean of the series; ``covered``,
        true counts in 90 % intervals [%], NaN without standard errors; ``noise``, squared standard error over itself
        plus the variance of the repaired series [%]; ``series``, how many. Where perf printed nothing, a straight line
        in time stands for it.

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
    parts = []
    for file, program in zip(table["file"], programs, strict=True):
        kind, cases = _cases(file)
        if cases:
            parts.append(score_cases({name: method}, cases).assign(kind=kind, program=program, file=file))
    if not parts:
        raise InputError("none of the files is there: `cmlib fetch` has them, CMLIB_PUBLIC their folder.")
    cells = pd.concat(parts)
    cells["ratio"] = np.log(cells["ratio"].clip(0.01, 100))
    by = cells.groupby(["kind", "program", "file", "method"], sort=False)
    table = by[["ratio", "covered", "noise"]].mean().assign(series=by.size())
    table.insert(0, "error", by["error"].median())
    return table.assign(ratio=np.exp(table["ratio"])).reset_index()


def score_cases(methods: dict[str, Callable], cases: Iterable[RepairCase]) -> pd.DataFrame:
    """Score methods and the baselines on RepairCases: a DataFrame, a row for each case, method and event.

    `methods` is a dict from name to callable, ``method(counts, shares)`` as of :func:`score_method`; `cases` a list
    of RepairCases (counts with known truth). Columns: case, method, event; error (mean distance from the truth [%
    of the mean count]); covered (true counts in 90 % intervals [%], NaN without standard errors); noise [%];
    printed (perf's error [%]); ratio (error over printed, 1 if that is 0).
    """
    rows = []
    for case in cases:
        for name, method in (BASELINE_METHODS | methods).items():
            rows += [(case.name, name, *read) for read in _score(method, case)]
    cells = pd.DataFrame(rows, columns=["case", "method", "event", "error", "covered", "noise"])
    printed = cells[cells["method"] == "perf"].set_index(["case", "event"])["error"]
    cells = cells.join(printed.rename("printed"), on=["case", "event"])
    return cells.assign(ratio=(cells["error"] / cells["printed"]).where(cells["printed"] > 0, 1.0))


def ratios(judged: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """Summarize `judged`, the table of :func:`score_method`, by kind of truth and method (index): a DataFrame.

    `seed` is that of the bootstrap over programs. Columns: programs and files (numbers); ratio (error as a multiple
    of perf's, geometric mean over programs) with the range of 90 % of resamplings of programs, low and high; worst
    (ratio of a file); covered and least (mean and minimum over files of the share of true counts in 90 % intervals
    [%]).
    """
    rng, rows = np.random.default_rng(seed), {}
    for key, of_method in judged.groupby(["kind", "method"], sort=False):
        logs = np.log(of_method["ratio"]).groupby(of_method["program"]).mean().to_numpy()
        drawn = logs[rng.integers(len(logs), size=(2000, len(logs)))].mean(axis=1)
        low, high = np.exp(np.quantile(drawn, [0.05, 0.95]))
        covered = of_method["covered"].mean(), of_method["covered"].min()
        sizes, worst = (len(logs), len(of_method)), of_method["ratio"].max()
        rows[key] = (*sizes, np.exp(logs.mean()), low, high, worst, *covered)
    columns = ["programs", "files", "ratio", "low", "high", "worst", "covered", "least"]
    table = pd.DataFrame(rows, columns).T.rename_axis(["kind", "method"])
    return table.astype({"programs": int, "files": int})


def listed(which: str | None = None) -> pd.DataFrame:
    """Fixed list of files for tests: a DataFrame with the columns list, kind (of truth), set, program, file.

    `which` is "tuning" (files by which constants of methods are set), "judging" (files by which they are compared), or
    None for both.
    """
    table = pd.read_csv(places.shipped("public") / "repair.csv")
    return table if which is None else table[table["list"] == which].reset_index(drop=True)


def cases(file: str | Path, rotations: Iterable[tuple[int, int]] = ROTATIONS) -> list[RepairCase]:
    """List of the RepairCases of one file (path, or name in a published set); empty if it is not there.

    `rotations` are pairs (groups, slots an interval) to simulate, where counts are replayed.
    """
    made = _cases(str(file), tuple(rotations))[1]
    if made and str(file) in set(public.files()["file"]):  # also where the cases come from the cache
        note_read(public.provenance_of_file(str(file)))
    return made


def twice_counted(
    counts: pd.DataFrame,
    shares: pd.DataFrame,
    groups: Iterable[Sequence[str]] = (),
    machine: dict | None = None,
) -> Iterator[RepairCase]:
    """Yield a RepairCase for each event that a run counted under two names at different times, each once as the truth.

    `counts` and running `shares` (0-1) are DataFrames, a row per interval. The method gets one reading; the other
    one, which is the truth, is taken out, as are all events that were counted together with it. `groups` are the
    run's groups of events (lists of names; by default found by the columns' order), `machine` its metadata (dict),
    if known.
    """
    total = counts.sum()
    pairs = [
        (pair.first, pair.second)
        for pair in events.same_events(counts, machine)
        if pair.certain or 1 - _ALIKE < total[pair.first] / total[pair.second] < 1 + _ALIKE
    ]
    pairs += events.second_readings(list(counts)).items()
    counts = counts.loc[:, counts.notna().sum() >= FEWEST_SAMPLES]
    for event, other in [way for pair in pairs for way in (pair, pair[::-1])]:
        if {event, other} <= set(counts) and shares[other].lt(1).any():
            together = _shared_time(shares[counts.columns], other, groups)
            rest = [name for name in counts if together.get(name, 0.0) == 0]
            if event in rest:
                truth = counts[other].where(counts[event].notna())
                error = _spread(counts[event] - truth) / np.sqrt(2)
                about = counts[rest], shares[rest], truth.to_frame(event), error.to_frame(event)
                yield RepairCase(f"{event} by {other}", *about)


def _shared_time(shares, event, groups):
    """Series: estimated share (0-1) of its time that each multiplexed event was counted together with `event`.

    By the distance of their groups in the order of the columns, or in `groups`.
    """
    turns = shares.loc[:, shares.lt(1).any()].fillna(0)
    number = {name: at for at, group in enumerate(groups) for name in group}
    place = pd.Series({name: number.get(name, name) for name in turns}, dtype=object)
    group = (place != place.shift()).cumsum()
    at_once = max(1, round(turns.T.groupby(group).first().mean(axis=1).sum() + 0.4))
    apart = (group - group[event]).abs()
    apart = np.minimum(apart, group.max() - apart)
    return (1 - apart / at_once).clip(lower=0)


def _each(repair, counts, shares):
    """Counts with ``repair(values, shares)`` applied to each event with at least three samples."""
    able = counts.columns[counts.notna().sum() >= FEWEST_SAMPLES]
    pairs = {event: (counts[event].to_numpy(), shares[event].fillna(1.0).to_numpy()) for event in able}
    return counts.assign(**{event: repair(*pair) for event, pair in pairs.items()})


def straight_lines(counts: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """Counts by linear interpolation of rates between the times in which an event was counted: a DataFrame as `counts`.

    `shares` are the running shares (0-1); an event with fewer than three samples is unchanged.
    """
    return _each(interpolate, counts, shares)


BASELINE_METHODS = {
    "perf": lambda counts, shares: counts,
    "lines": straight_lines,
    "counterminer": functools.partial(_each, lambda values, share: clean.clean_series(values, share)[0]),
}


def _score(method, case):
    """Yield (event, error, covered, noise), in percent, for each event in the truth of a case."""
    repaired = method(case.counts.copy(), case.shares.copy())
    repaired, error = repaired if isinstance(repaired, tuple) else (repaired, None)
    for event in case.truth:
        truth = case.truth[event]
        off = (repaired[event].interpolate(limit_direction="both") - truth).abs()
        covered = noise = np.nan
        if error is not None:
            limit = NINE_TENTHS * np.hypot(error[event], case.error[event])
            hidden = truth.notna() & ~(case.shares[event] >= 1)
            covered = 100 * (off <= limit)[hidden].mean()
            variance = np.nan_to_num(repaired[event].var())
            squares = (error[event] ** 2).mean()
            noise = 100 * squares / max(squares + variance, 1e-300) if len(truth) > 1 else np.nan
        yield event, 100 * off.mean() / truth.mean(), covered, noise


@functools.lru_cache(maxsize=256)
def _cases(name, rotations=ROTATIONS):
    """(Kind of truth, list of RepairCases) of a file, by its name and contents; ("", []) if it is not there."""
    if (text := _text(name)) is None:
        return "", []
    if "per_1_time" in name:
        return "few events", list(_lines_of_runs(name, text))
    if text.startswith(("PERF_COUNT", "#PERF_COUNT")):
        samples = streams.parse_stream(text, name).diff().iloc[1:]
        return "replayed", list(_replays(samples, rotations))
    if "callgrind" in name:
        return "replayed", list(_replays(read_series(text)[0], rotations, pinned=["sim.instructions"]))
    frame = perf.parse_stat(text)
    if frame["time_s"].isna().all():
        return "second reading", list(_parts_and_whole(name, frame))
    counts, shares = perf.series(frame)
    if (shares.fillna(1) >= 1).all(axis=None):
        return "replayed", list(_replays(counts, rotations, pinned=["cycles"]))
    if others := _fully_counted(name):
        return "few events", list(_aligned(counts, shares, others))
    return "second reading", list(twice_counted(counts, shares))


def _text(name):
    """Decompressed text of a file, found by its path, among the data, or among published sets; None if not there."""
    for place in (Path(name), places.data_dir() / name):
        if place.is_file():
            return decompress(read_file(place), place).decode("latin-1")
    content = public.read(name) if name in set(public.files()["file"]) else None
    return None if content is None else content.decode("latin-1")


def _replays(counted, rotations, pinned=("instructions",)):
    """Yield a RepairCase for each rotation of which a recording without multiplexing is long enough."""
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


def _parts_and_whole(name, frame):
    """Yield a case of totals over processors, with the sum of other perf processes' counts of each as the truth."""
    stem, dot, suffix = name.partition(".out")
    texts = [_text(f"{stem}_{number}{dot}{suffix}") for number in range(_MOST_PROCESSORS)]
    if parts := [perf.parse_stat(text).set_index("event")["value"] for text in texts if text is not None]:
        whole, total = frame.set_index("event"), sum(parts)
        error = total * _spread(np.log(whole["value"] / total), reach=len(total)) / np.sqrt(2)
        yield _single("sum of its processors", whole["value"], whole["running"], total, error)


def _lines_of_runs(name, text):
    """Yield a case for each run of a table: all events multiplexed, and the truth from runs of four events each."""
    few = _text(name.replace("20_per_1_time", "4_per_5_times"))
    many, few = (pd.read_csv(io.StringIO(part)).drop(columns="label") for part in (text, few))
    busy = (many["instructions"] >= _IDLE) & (few["instructions"] >= _IDLE)
    many, few = (table[busy].replace(0, np.nan).astype(float) for table in (many, few))
    error = np.hypot(*(_spread(np.log(few[first] / few[other])) for first, other in _TWINS)) / np.sqrt(2)
    for line in many.index:
        counted = many.loc[line].notna()
        truth = few.loc[line].where(counted)
        shares = counted.map({True: np.nan, False: 0.0})
        yield _single(f"line {line}", many.loc[line], shares, truth, truth * error[line])


def _single(name, *series):
    """A case of one interval, from Series by event."""
    return RepairCase(name, *(values.astype(float).to_frame().T.reset_index(drop=True) for values in series))


def _fully_counted(name):
    """List of (counts, shares) of the runs without multiplexing of the same program in the file's folder."""
    folder, _, file = name.rpartition("/")
    around = next((place for place in (Path(folder), places.data_dir() / folder) if place.is_dir()), None)
    runs = [] if around is None else sorted(around.glob("*ocoe*.csv*"))
    program = file.partition(".mlpx")[0]
    runs = [run for run in runs if not file.count(".mlpx") or run.name.startswith(f"{program}.ocoe")]
    return [perf.series(perf.parse_stat(_text(str(run)))) for run in runs]


def _aligned(counts, shares, runs):
    """Yield a case for each event of a multiplexed run; the truth is the mean of two others at the same progress."""
    progress = _progress(counts)
    for event in counts.columns[shares.lt(1).any()]:
        others = [run for run, _ in runs if event in run]
        if len(others) > 1:
            pair = []
            for run in others[:2]:
                total = np.append(0, run[event].fillna(0).cumsum())
                steps = np.diff(np.interp(progress, _progress(run), total))
                pair.append(pd.Series(steps, counts.index))
            truth, error = sum(pair) / 2, _spread(pair[0] - pair[1]) * np.sqrt(3) / 2
            yield RepairCase("run", counts, shares, truth.to_frame(event), error.to_frame(event))


def _progress(counts):
    """Share of the instructions retired by the end of each interval, after a first 0: array."""
    retired = np.append(0, counts["instructions"].fillna(0).cumsum())
    return retired / retired[-1]


def _spread(apart, *, reach=4):
    """Standard deviation of each of a series of differences, from its neighbours', scaled so that 90 % are within
    1.645.
    """
    squares, known = (apart**2).fillna(0).to_numpy(), apart.notna().to_numpy()
    around = np.ones(2 * reach + 1)
    around[reach] = 0
    sums, n = (np.convolve(part, around)[reach:-reach] for part in (squares, known.astype(float)))
    local = np.sqrt(np.maximum(sums / np.maximum(n, 1), max(1e-3 * squares[known].mean(), 1e-300)))
    scale = np.quantile(np.sqrt(squares[known]) / local[known], 0.9) / NINE_TENTHS
    return pd.Series(local * scale, apart.index)
