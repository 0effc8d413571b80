"""Cleaning against exact truth. By hand: python benchmarks/replay.py FOLDER

FOLDER holds `*events-raw.data.gz` of cBench on a Cortex-A15 (kranik/ARMPM_BUILDMODEL, BSD-3-Clause): every event was
counted all the time. What a rotation of groups would have hidden is hidden, ten times with shifted phases, and each way
of cleaning is set beside what perf would have printed, with straight lines where it would have printed nothing.
Thresholds were set on the files of the first run at 1 GHz; all others are held out.
"""

import argparse
import gzip
from pathlib import Path

import pandas as pd

from cmlib.clean import clean_run, joint_estimates, replay

# Groups, slots an interval: whole rotations, and rotations that an interval cuts.
ROTATIONS = [(2, 6), (3, 6), (6, 12), (3, 10), (6, 10)]
METHODS = ("interpolate", "counterminer", "joint")
SEEN = "Run-1-1000000"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--phases", type=int, default=10)
    given = parser.parse_args()
    rows = []
    for file in sorted(given.folder.glob("*events-raw.data.gz")):
        counted = read(file)
        for n_groups, slots in ROTATIONS:
            rows += [
                row | {"file": file.name, "held out": SEEN not in file.name}
                for phase in range(given.phases)
                for row in judged(counted, n_groups, slots, phase)
            ]
    table = pd.DataFrame(rows)
    print(
        "mean absolute error, as a share of what perf would have printed (median, mean; worst mean over phases)"
    )
    by = ["held out", "rotation", "method"]
    phases = table.groupby([*by, "file", "event"])["ratio"].mean().groupby(by).max().rename("worst")
    print(table.groupby(by)["ratio"].agg(["median", "mean"]).join(phases).round(3).to_string())
    inside = table[table["method"] == "joint"].groupby(["held out", "rotation"])["inside"].mean()
    print(
        "exact values within the 90 % intervals of the joint estimates\n", inside.round(3).to_string(), sep=""
    )


def judged(counted, n_groups, slots, phase):
    """Errors of one replay, a row an event and a way of cleaning."""
    events = [name for name in counted if name != "cycles"]
    groups = [events[number::n_groups] for number in range(n_groups) if events[number::n_groups]]
    hidden = replay(counted, groups, slots=slots, phase=phase)
    printed = hidden.counts.interpolate(limit_direction="both")
    raw = (printed - hidden.truth).abs().mean()
    estimates, errors = joint_estimates(hidden.counts, hidden.running, groups=groups)
    inside = ((estimates - hidden.truth).abs() <= 1.645 * errors)[hidden.running < 1].mean()
    for method in METHODS:
        cleaned = (
            estimates if method == "joint" else clean_run(hidden.counts, hidden.running, method=method)[0]
        )
        ratios = (cleaned - hidden.truth).abs().mean() / raw
        yield from (
            {"rotation": f"{n_groups} groups, {slots} slots", "method": method, "event": event}
            | {"ratio": ratios[event], "inside": inside[event]}
            for event in events
            if raw[event] > 0
        )


def read(file):
    """Counts of one file: a row a sample of half a second, a column an event that ever changed."""
    with gzip.open(file, "rt") as lines:
        parts = [line.split("\t") for line in lines]
    samples = [part for part in parts if len(part) == 3 and part[0].strip()[:1].isdigit()]
    table = pd.DataFrame(samples, columns=["time", "count", "event"])
    table = table.assign(time=table["time"].astype(float), event=table["event"].str.strip())
    counts = table.assign(count=table["count"].astype(float)).pivot_table("count", "time", "event").dropna()
    return counts.loc[:, counts.max() > counts.min()]


if __name__ == "__main__":
    main()
