"""What one multiplexed run tells of its own errors: events counted twice, sums that hold, ratios that are constant."""

import numpy as np
import pandas as pd

from cmlib import clean
from cmlib.experiments import repair
from cmlib.experiments.event_tables import known_sums
from cmlib.io import events

# Names that are one event on some kinds of processor only are taken for one if their totals agree so far.
_ALIKE = 0.05
_CONSTANTS, _CLOCKS = ("ref-cycles", "bus-cycles"), ("task-clock", "cpu-clock")
_OURS = "kalman"
_COLUMNS = ["kind", "what", "apart", "shared", "share", "off", "evidence", "told_by"]
READINGS, _SUM, _CONSTANT = "two readings", "exact sum", "constant"
_TEXTS = {
    READINGS: "`{}` are one event, and {:.2g} % apart as printed",
    _SUM: "`{}` are equal, and {:.2g} % apart as printed",
    _CONSTANT: "`{}` does not change, and is printed with an error of {:.2g} %",
}
# What is left of the disagreement of two readings if one is cleaned to the truth [%]: the other's error, 1 / sqrt(2).
PERFECT = 100 / np.sqrt(2)


def readings(run):
    """Find the events that a run counted twice, and how far apart in the rotation."""
    counts, running, again = _counted(run)
    machine = run.machine
    pairs = [(event, reading, "counted twice by the recorder") for reading, event in again.items()]
    for pair in events.same_events([name for name in counts if name not in again], machine):
        totals = counts[[pair.first, pair.second]].sum()
        if pair.certain or totals.min() > (1 - _ALIKE) * totals.max() > 0:
            pairs.append((pair.first, pair.second, f"one code on {', '.join(pair.processors)}"))
    rows = [
        _pair(run, counts, running, *pair) for pair in pairs if running[list(pair[:2])].lt(1).any(axis=None)
    ]
    columns = ["first", "second", "apart", "shared", "share", "off", "evidence", "told_by"]
    found = pd.DataFrame(rows, columns=columns).astype({"apart": float, "evidence": bool})
    return found.sort_values("shared", kind="stable", ignore_index=True)


def evidence(run):
    """List all that one run holds of evidence of its own errors."""
    counts, running, _ = _counted(run)
    pairs = readings(run)
    pairs = pairs.assign(kind=READINGS, what=pairs["first"] + " = " + pairs["second"])
    rows = [*_sums(run, counts, running), *_constants(counts, running)]
    others = pd.DataFrame(rows, columns=_COLUMNS).astype(pairs.dtypes[_COLUMNS].to_dict())
    return pd.concat([pairs[_COLUMNS], others], ignore_index=True)


def judge_by_readings(run):
    """Repair one reading of an event without sight of the other, and compare it with the other as perf printed it."""
    counts, running, _ = _counted(run)
    pairs = readings(run).query("evidence")[["first", "second"]].itertuples(index=False, name=None)
    cases = repair.readings_apart(counts, running, pairs, run.meta["groups"])
    cells = repair.judge_cases({_OURS: clean.estimate_counts}, cases)
    named = cells.rename(columns={"event": "cleaned", "error": "off", "printed": "raw"})
    return named.assign(left=100 * cells["ratio"])[["cleaned", "method", "raw", "off", "left", "covered"]]


def describe_evidence(found, judged):
    """What runs tell of their own errors, or what more it would take."""
    sentences = {
        name: f"{_describe(found[name], judged.get(name))}."
        for name in found
        if found[name]["evidence"].any()
    }
    without = [name for name in found if not found[name]["evidence"].any()]
    if not without:
        return sentences
    near = any(len(found[name]) for name in without)
    near = " (what was counted twice shared its time on the counters, which proves nothing)" if near else ""
    return sentences | {
        "": f"Nothing in the run of {_listed(without)} tells how large its errors are{near}. Name one event twice, "
        "half the list apart: `perf stat -e a,b,c,a,d,e`; `cmlib record` does so by itself."
    }


def _describe(found, judged):
    found = found[found["evidence"]]
    parts = [
        _TEXTS[row.kind].format(row.what.replace(" = ", "` and `"), row.off) for row in found.itertuples()
    ]
    if judged is None:
        return "; ".join(parts)
    left = judged.loc[judged["method"] == _OURS, "left"].mean()
    return (
        f"{'; '.join(parts)}. Repaired without sight of the other and of what shared its time, one reading is "
        f"{left:.0f} % as far from the other as before, where a perfect repair would leave {PERFECT:.0f} %"
    )


def _listed(names):
    return " and ".join(", ".join(names).rsplit(", ", 1))


def _counted(run):
    """Counts and running shares, second readings among them in the order in which events took turns."""
    counts, running = run.whole()
    again = events.second_readings([*run.counts, *run.counts_again])
    for reading in again:
        before = _before(reading, run)
        at = counts.columns.get_loc(before) + 1 if before in counts else len(counts.columns)
        counts, running = counts.copy(), running.copy()
        counts.insert(at, reading, run.counts_again[reading])
        running.insert(at, reading, run.running_again[reading])
    return counts, running, again


def _before(reading, run):
    listed = [event for group in run.meta["groups"] for event in group]
    at = listed.index(reading) if reading in listed else 0
    return listed[at - 1] if at else None


def _pair(run, counts, running, first, second, source):
    apart, shared = _apart(run, running, first, second)
    share = 100 * running[[first, second]].mean().min()
    off = _off(counts[first], counts[second])
    return first, second, apart, shared, share, off, shared == 0 and np.isfinite(off), source


def _apart(run, running, first, second):
    """How many groups of the rotation lie between two events, and the share of their time in common [%]."""
    if not running[[first, second]].lt(1).any().all():
        return 0.0, 100.0
    row = repair.shared_time(running, first, run.meta["groups"]).loc[second]
    return float(row["apart"]), 100 * row["shared"]


def _off(counted, expected):
    seen = counted.notna() & expected.notna()
    mean = (counted + expected)[seen].mean() / 2
    return 100 * (counted - expected)[seen].abs().mean() / mean if mean > 0 else np.nan


def _sums(run, counts, running):
    for whole, parts in known_sums(run):
        members = [whole, *parts]
        if not set(members) <= set(counts):
            continue
        shared = [_apart(run, running, whole, part)[1] for part in parts]
        extrapolated = running[members].lt(1).any(axis=None)
        off = _off(counts[whole], counts[list(parts)].sum(axis=1, min_count=len(parts)))
        share = 100 * running[members].mean().min()
        usable = bool(extrapolated and min(shared) < 100 and np.isfinite(off))
        what = f"{whole} = {' + '.join(parts)}"
        yield _SUM, what, np.nan, max(shared), share, off, usable, "bits of the event table"


def _constants(counts, running):
    clock = next((name for name in _CLOCKS if name in counts and running[name].ge(1).all()), None)
    for event in _CONSTANTS:
        if clock is None or event not in counts or not counts[event].gt(0).any():
            continue
        ratio = (counts[event] / counts[clock].where(counts[clock] > 0)).replace(np.inf, np.nan)
        usable = bool(running[event].lt(1).any())
        off = 100 * (ratio / ratio.median() - 1).abs().mean()
        source = "a frequency that does not change"
        yield (
            "constant",
            f"{event} by {clock}",
            np.nan,
            0.0,
            100 * running[event].mean(),
            off,
            usable,
            source,
        )
