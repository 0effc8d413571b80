"""How often do the printed intervals hold the truth?

    python -m benchmarks.interval_coverage record TIMES.csv --seconds 780
    python -m benchmarks.interval_coverage record TIMES.csv --seconds 400 --busy 2
    python -m benchmarks.interval_coverage pairs TIMES.csv
    python -m benchmarks.interval_coverage layouts ../shared/public/commonest/env-bias
    python -m benchmarks.interval_coverage occasions
    python -m benchmarks.interval_coverage services
    python -m benchmarks.interval_coverage repeated ../shared/public/commonest/observer-ivybridge/stat.8.csv
    python -m benchmarks.interval_coverage totals

`record` runs four C programs in pairs with themselves, in random order within each pair, as `cmlib compare` does, and
appends the times to a file. `--busy` keeps that many processes busy meanwhile. The other commands print, for one kind
of interval each, how many hold the known truth:

- `pairs`: `cmlib compare OLD NEW`. The recorded times are cut into stretches of 40 consecutive pairs, and the rules are
  applied to each stretch. The true ratio is 1.
- `layouts`: `cmlib compare --layouts`. Published cycles of one binary with 512 sizes of its environment; the sizes of
  both versions are drawn at random. The true ratio is 1.
- `occasions`: recordings that were not made in pairs. Unchanged programs of `data/regions`, recorded twice.
- `services`: `cmlib compare --recordings`, intervals. The two passes of the programs in `data/recordings`, which were
  not changed between them.
- `repeated`: `cmlib compare --recordings`, totals of repeated runs. Published totals of one program that ran 500 times;
  groups of five consecutive runs are compared.
- `totals`: the error that multiplexing leaves in an event's total. Recordings of `data/recordings` without multiplexing
  are multiplexed afterwards, so that the total is known.
"""

import random
import subprocess
import tempfile
import time
from pathlib import Path

import click
import numpy as np
import pandas as pd

from benchmarks.compare_layouts import build
from cmlib import clean, topdown
from cmlib.compare.times import ELAPSED, PROCESSOR, WHOLE, compare_times
from cmlib.compare.versions import read_times, time_whole
from cmlib.errors import CmlibError
from cmlib.experiments.ratio_tables import compare_ratios
from cmlib.experiments.service import compare_services
from cmlib.io import perf, regions
from cmlib.io.archive.files import decompress, read_file
from cmlib.places import data_dir

PROGRAMS = {"sort": 400, "hash": 400, "tree": 400, "matches": 400}  # work of a run, in thousandths
LOOKS = (12, 20, 40)
SMALLEST_CHANGES = (0.01, 0.04)
MEASURES = (ELAPSED, PROCESSOR)
LAYOUTS = 12
RUNS_IN_GROUP = 5
ROTATIONS = ((2, 1), (4, 1), (8, 1), (2, 5), (4, 5), (8, 5))  # number of groups, slots in an interval


@click.group()
def main():
    """Measure the coverage of the intervals of `cmlib compare`."""


@main.command()
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--seconds", default=240.0, show_default=True)
@click.option("--busy", default=0, show_default=True, help="Processes that compute meanwhile.")
@click.option("--seed", default=1, show_default=True)
def record(target, seconds, busy, seed):
    """Time programs in pairs with themselves, and append a row per pair."""
    rng = random.Random(seed)
    end = time.monotonic() + seconds
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(busy)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            binaries = {name: build(folder, name, 0, work) for name, work in PROGRAMS.items()}
            while time.monotonic() < end:
                rows = [_time_pair(name, binary, busy, rng) for name, binary in binaries.items()]
                pd.DataFrame(rows).to_csv(target, mode="a", header=not target.exists(), index=False)
    finally:
        for loop in loops:
            loop.kill()


def _time_pair(name, binary, busy, rng):
    """Time a program twice, the version that runs first drawn at random: a row (dict)."""
    row = {"program": name, "busy": busy}
    for version in rng.sample(["old", "new"], 2):
        elapsed_s, processor_s = time_whole([str(binary)])
        row[f"{version} {ELAPSED}"] = elapsed_s
        row[f"{version} {PROCESSOR}"] = processor_s
    return row


def _holds(test):
    """Return True if an interval holds the true ratio, which is 1."""
    return test["low"] <= 1 <= test["high"]


def _compare_at_looks(old, new, smallest):
    """Apply the rules of `cmlib compare` to pairs: the table of tests at which recording ends."""
    for look in LOOKS:
        speed = compare_times(old[:look], new[:look], smallest=smallest, n_looks=len(LOOKS))
        if speed.settled:
            break
    return speed.tests.assign(pairs=look)


@main.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@click.option("--redraws", default=0, show_default=True, help="Draw the order within pairs anew so often.")
def pairs(file, redraws):
    """Count the intervals of stretches of 40 pairs that hold 1."""
    rng = np.random.default_rng(0)
    rows = []
    for (busy, program), times in pd.read_csv(file).groupby(["busy", "program"]):
        for first in range(0, len(times) - LOOKS[-1] + 1, LOOKS[-1]):
            stretch = times.iloc[first : first + LOOKS[-1]].reset_index(drop=True)
            old, new = (
                pd.DataFrame({(WHOLE, measure): stretch[f"{version} {measure}"] for measure in MEASURES})
                for version in ("old", "new")
            )
            for smallest in SMALLEST_CHANGES:
                for _ in range(max(1, redraws)):
                    is_swapped = rng.random(len(old)) < (0.5 if redraws else 0.0)
                    swapped = np.tile(is_swapped[:, None], old.shape[1])
                    first_version = old.mask(swapped, new)
                    second_version = new.mask(swapped, old)
                    tests = _compare_at_looks(first_version, second_version, smallest)
                    rows.append(tests.assign(busy=busy, program=program, smallest=smallest))
    found = pd.concat(rows)
    found["holds"] = found.apply(_holds, axis=1)
    found["width [%]"] = 100 * (found["high"] / found["low"] - 1)
    by = ["smallest", "busy", "measure"]
    summary = found.groupby(by).agg(
        stretches=("holds", "size"), holds=("holds", "sum"), pairs=("pairs", "mean"),
        width=("width [%]", "median"), changed=("verdict", lambda verdicts: (verdicts != "no change").sum()),
    )  # fmt: skip
    summary.insert(2, "holds [%]", 100 * summary["holds"] / summary["stretches"])
    print(summary.round(2).to_string())


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--draws", default=2000, show_default=True)
def layouts(folder, draws):
    """Count the intervals over layouts that hold 1."""
    rng = np.random.default_rng(0)
    for file in sorted(folder.glob("results-*.gz")):
        table = pd.read_csv(file)
        rows = table[table.iloc[:, 1].astype(str).str.match(r"(cycles|r003c)(:u)?$", na=False)]
        if rows.empty:
            continue
        cycles = rows.iloc[0, 2:].astype(float).to_numpy()
        n_held = 0
        for _ in range(draws):
            old, new = (
                pd.DataFrame({(WHOLE, PROCESSOR): rng.choice(cycles, LAYOUTS, replace=False)})
                for _ in range(2)
            )
            n_held += compare_times(old, new).tests.apply(_holds, axis=1).sum()
        print(f"{file.name}: {n_held} of {draws} intervals over {LAYOUTS} layouts hold 1")


@main.command()
def occasions():
    """Count the intervals of unchanged programs, recorded on two occasions, that hold 1."""
    rows = []
    for folder in sorted((data_dir() / "regions").iterdir()):
        files = [folder / f"{name}.json" for name in ("good", "again")]
        if not all(file.exists() for file in files):
            continue
        times = [read_times(regions.read_recording(file)[1]) for file in files]
        try:
            tests = compare_times(*times, smallest=0.25, paired=False).tests
        except CmlibError:
            continue
        rows.append(tests.assign(program=folder.name))
    found = pd.concat(rows)
    found["holds"] = found.apply(_holds, axis=1)
    print(found[["program", "function", "measure", "ratio", "low", "high", "holds"]].to_string(index=False))
    print(f"{found['holds'].sum()} of {len(found)} intervals hold 1")


@main.command()
def services():
    """Count the intervals of two passes of one program that hold 1."""
    rows = []
    for first in sorted((data_dir() / "recordings").glob("*/ocoe-p0-*.csv.gz")):
        second = first.with_name(first.name.replace("-p0-", "-p1-"))
        if not second.exists():
            continue
        recordings = [(file.name, [{"mode": "ocoe"}], [_read_series(file)]) for file in (first, second)]
        answer = compare_services(*recordings)
        for kind in ("levels", "rates"):
            held = [_holds(row) for row in answer[kind]]
            rows.append({"program": first.parent.name, "kind": kind, "rows": len(held), "hold": sum(held)})
    table = pd.DataFrame(rows)
    table["all hold"] = table["rows"] == table["hold"]
    summary = table.groupby(["program", "kind"]).agg(
        tables=("rows", "size"), rows=("rows", "sum"), hold=("hold", "sum"), tables_hold=("all hold", "sum")
    )
    print(summary.to_string())
    print(table.groupby("kind")[["rows", "hold", "all hold"]].sum().to_string())


@main.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True))
def repeated(file):
    """Count the intervals of groups of five runs of one program that hold 1."""
    table = pd.read_csv(file, header=None, index_col=1).drop(columns=[0, 2])
    runs = table[~table.index.duplicated()].T.astype(float)
    groups = [runs.iloc[at : at + RUNS_IN_GROUP] for at in range(0, len(runs) - 4, RUNS_IN_GROUP)]
    held = []
    for distance in (1, len(groups) // 2):
        for old, new in zip(groups, groups[distance:], strict=False):
            held.append([_holds(row) for row in compare_ratios(old, new, 0.25)])
        rows = sum(map(len, held))
        print(
            f"groups {distance} apart: {sum(map(sum, held))} of {rows} intervals hold 1, "
            f"all of {sum(map(all, held))} of {len(held)} tables"
        )
        held = []


@main.command()
def totals():
    """Count the errors of totals that hold the true total, where multiplexing was simulated."""
    rows = []
    for file in sorted((data_dir() / "recordings").glob("*/ocoe-*.csv.gz")):
        counts, running = _read_series(file)
        counted = counts.loc[:, (running >= 0.999).all() | running.isna().all()].fillna(0)
        turning = [event for event in counted if event not in ("instructions", "cycles")]
        if "cycles" not in counted or not turning:
            continue
        true_rate = counted[turning].sum() / counted["cycles"].sum()
        for n_groups, slots in ROTATIONS:
            for phase in range(n_groups):
                groups = [[] for _ in range(n_groups)]
                groups[0] = turning
                hidden = clean.replay(counted, groups, slots=slots, phase=phase)
                found = topdown.totals([(hidden.counts, hidden.running)])
                apart = (found.loc[turning, "rate"] / true_rate - 1).abs()
                for event in turning:
                    error = found.at[event, "error"]
                    rows.append(
                        {
                            "program": file.parent.name,
                            "rotation": f"{n_groups} groups, {slots} slots",
                            "holds": apart[event] <= error,
                            "error": 100 * error,
                        }
                    )
    found = pd.DataFrame(rows)
    for by in ("program", "rotation"):
        summary = found.groupby(by).agg(
            totals=("holds", "size"), holds=("holds", "mean"), error=("error", "median")
        )
        print(summary.assign(holds=(100 * summary["holds"]).round(1)).round(2).to_string())
    print(f"{100 * found['holds'].mean():.1f} % of {len(found)} totals are within their error")


def _read_series(file):
    """Read counts and running shares of a recording by `perf stat -I`."""
    return perf.series(perf.parse_stat(decompress(read_file(file), file).decode()))


if __name__ == "__main__":
    main()
