"""Does a verdict survive a relink? Ten C programs, each linked in many random layouts, and with planted work.

    python benchmarks/compare_layouts.py measure TIMES.jsonl --layouts 20 --planted 2
    python benchmarks/compare_layouts.py judge TIMES.jsonl
    python benchmarks/compare_layouts.py smallest TIMES.jsonl
    python benchmarks/compare_layouts.py relinked --layouts 12
    python benchmarks/compare_layouts.py columns ../shared/public/commonest
    python benchmarks/compare_layouts.py settings ../shared/public/spec-llc*/*.csv.gz

`measure` runs each program in pairs with itself, linked anew: by lld, which shuffles functions and data (even seeds),
or with nops in a function that is never called (odd ones); and with versions that do 5 and 10 % more work, in another
layout too. It adds a row per comparison, and goes on where it was cut off. `judge` says what the rules make of these
times: of times alone, and of times and machine code. `smallest` multiplies the times of links of the same source,
until nine in ten are told. `relinked` judges as `--layouts` does. `columns` does as `judge` for recordings in which
one binary was run with 512 sizes of its environment, or 32 offsets of its buffers: nothing but the layout differs.
`settings` does so for exact counts of SPEC CPU, with other caches and prefetchers: the time changes, not the work.
"""

import collections
import functools
import itertools
import json
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

import click
import numpy as np
import pandas as pd

from cmlib.compare import code as machine_code
from cmlib.compare.times import (
    ELAPSED,
    INCONCLUSIVE,
    NO_CHANGE,
    PROCESSOR,
    WHOLE,
    compare_times,
    explain_by_code,
)
from cmlib.compare.versions import VersionCommand

SOURCE = Path(__file__).with_suffix(".c")
PROGRAMS = (
    "queens",
    "interpreter",
    "tokens",
    "sort",
    "hash",
    "tree",
    "crc",
    "life",
    "matches",
    "distance",
)
LOOKS = (12, 20, 40)
PLANTED = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)  # percent of the time


def build(folder, program, seed, work=1000):
    """Link a program in the layout of a seed. Seed 0 is the default layout."""
    target = Path(folder, f"{program}-{seed:04d}-{work}")
    if not target.exists():
        shuffled = ["-fuse-ld=lld", f"-Wl,--shuffle-sections=*={seed}"] if seed and seed % 2 == 0 else []
        nops = random.Random(seed).randrange(1, 4096) if seed % 2 else 0
        options = [
            "-O2",
            "-ffunction-sections",
            f"-D{program}_",
            f"-DWORK={work}L",
            f"-DNOPS={nops}",
            *shuffled,
        ]
        subprocess.run(["cc", *options, SOURCE, "-o", target], check=True)
    return target


def timed(program):
    """Return the elapsed time and the user time of one execution [s]."""
    began = time.perf_counter()
    _, status, usage = os.wait4(os.posix_spawn(program, [program], os.environ), 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{program} failed")
    return time.perf_counter() - began, usage.ru_utime


def frame(rows):
    """Convert times to the DataFrame that `compare_times` takes."""
    return pd.DataFrame(np.array(rows), columns=pd.MultiIndex.from_product([[WHOLE], [ELAPSED, PROCESSOR]]))


def compared(file, folder, key, smallest):
    """Time a version in pairs with the first link, save the row, and return the verdict on the times."""
    programs = build(folder, key[0], 0), build(folder, *key)
    order, times = random.Random(str(key)), ([], [])
    for look in LOOKS:
        while len(times[0]) < look:
            for form in order.sample((0, 1), 2):
                times[form].append(timed(programs[form]))
        speed = compare_times(*map(frame, times), n_looks=len(LOOKS), smallest=smallest / 100)
        if speed.settled:
            break
    with file.open("a") as out:
        row = {"key": key, "old": times[0], "new": times[1], "load": os.getloadavg()[0]}
        out.write(json.dumps(row) + "\n")
    return speed.verdict


def read_rows(file):
    """Return the rows that the file already has, keyed by version."""
    rows = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
    return {tuple(row["key"]): row for row in rows}


def judged(row, smallest, looks=LOOKS):
    """Return the verdict on the times of a row."""
    return compare_times(frame(row["old"]), frame(row["new"]), n_looks=len(looks), smallest=smallest / 100)


def common_options(command):
    """Add the options of the commands that build and time programs."""
    percent = {"default": 4.0, "show_default": True, "help": "Smallest relevant change [percent]."}
    command = click.option("--smallest-change", "smallest", **percent)(command)
    return click.option(
        "--folder", type=click.Path(path_type=Path), default=tempfile.mkdtemp, help="Where programs are kept."
    )(command)


@click.group()
def main():
    """Time relinked programs, and judge the times."""


@main.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--layouts", default=20, show_default=True, help="Of each program.")
@click.option("--planted", default=2, show_default=True, help="Of each program and size of change.")
@click.option("--first-seed", default=1, show_default=True)
@common_options
def measure(out, layouts, planted, first_seed, smallest, folder):
    """Time the pairs."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = [(program, first_seed + k, 1000) for k in range(layouts) for program in PROGRAMS]
    keys += [
        (program, first_seed + layouts + k, work)
        for work in (1050, 1100) for k in range(planted) for program in PROGRAMS
    ]  # fmt: skip
    random.Random(0).shuffle(keys)
    done = read_rows(out)
    for key in keys:
        if key not in done:
            compared(out, folder, key, smallest)


@main.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@common_options
def judge(file, smallest, folder):
    """Count the verdicts, by times alone and by times and code."""
    folder.mkdir(parents=True, exist_ok=True)
    # each program is simulated once, not once a comparison
    machine_code._list_executed = functools.cache(machine_code._list_executed)
    verdicts, ratios = collections.defaultdict(collections.Counter), collections.defaultdict(list)
    counted = collections.defaultdict(list)  # instructions, as multiples
    for (program, seed, work), row in read_rows(file).items():
        speed = judged(row, smallest)
        told, code = speed.verdict, None
        if told != NO_CHANGE:  # as the command does
            versions = [VersionCommand(str(build(folder, *key))) for key in ((program, 0), row["key"])]
            code = machine_code.compare_code(*versions, notify=lambda text: None)
            told, _ = explain_by_code(told, code.same, code.instructions)
            counted[work].append(np.nan if code.instructions is None else code.instructions)
        verdicts[work, "times alone"][speed.verdict] += 1
        verdicts[work, "times and code"][told] += 1
        processor = speed.tests.set_index("measure").loc[PROCESSOR]
        ratios[program, work].append(processor["ratio"])
        if code and code.same != (work == 1000):
            print(f"{program}, seed {seed}, work {work}: {told}, {code}", flush=True)
    for (work, rule), counts in sorted(verdicts.items()):
        print(f"{work / 1000:g} times the work, {rule}: {dict(counts)} of {counts.total()}")
    for work, times in sorted(counted.items()):
        print(
            f"{work / 1000:g} times the work: {np.nanmin(times):.4f} to {np.nanmax(times):.4f} times the "
            f"instructions in {np.isfinite(times).sum()} of {len(times)} whose code was compared"
        )
    for (program, work), of_program in sorted(ratios.items()):
        print(
            f"{program}, {work / 1000:g}: processor time {min(of_program):.3f} to {max(of_program):.3f} times"
        )


@main.command("smallest")
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@common_options
def find_smallest(file, smallest, **_):
    """Find the factor of the times at which nine of ten links of the same source are judged slower.

    Prints a row per program.
    """
    rows = collections.defaultdict(list)
    for (program, _, work), row in read_rows(file).items():
        rows[program] += [row] if work == 1000 else []
    for program in PROGRAMS:
        for percent in PLANTED:
            slower = sum(told_at_looks(row, 1 + percent / 100, smallest) == "slower" for row in rows[program])
            print(f"{program}, {percent} % longer: slower in {slower} of {len(rows[program])}", flush=True)
            if slower >= 0.9 * len(rows[program]):
                break


def told_at_looks(row, factor, smallest):
    """Return the verdict on 40 resampled pairs of a row, with the times of the new version multiplied."""
    draws = np.random.default_rng(0).integers(len(row["old"]), size=LOOKS[-1])
    old, new = np.array(row["old"])[draws], factor * np.array(row["new"])[draws]
    for look in LOOKS:
        told = judged({"old": old[:look], "new": new[:look]}, smallest).verdict
        if told != INCONCLUSIVE:
            break
    return told


@main.command()
@click.option("--layouts", default=12, show_default=True)
@click.option("--works", default="1000,1050,1100", show_default=True, help="Thousandths of the work.")
@click.option("--first-seed", default=1, show_default=True)
@common_options
def relinked(layouts, works, first_seed, smallest, folder):
    """Judge as `--layouts` does: link each version in several layouts, and take the least of three times."""
    folder.mkdir(parents=True, exist_ok=True)
    for work, program in itertools.product(map(int, works.split(",")), PROGRAMS):
        times = [], []
        for seed in range(2 * first_seed, 2 * (first_seed + layouts), 2):
            programs = build(folder, program, seed), build(folder, program, seed, work)
            runs = np.array([[timed(path) for path in programs] for _ in range(3)]).min(axis=0)
            for form in (0, 1):
                times[form].append(runs[form])
        told = judged(dict(zip(("old", "new"), times, strict=True)), smallest, (layouts,))
        ratio = told.tests.set_index("measure").loc[PROCESSOR, "ratio"]
        load = os.getloadavg()[0]
        print(f"{program}, {work / 1000:g}: {told.verdict}, {ratio:.3f} times, load {load:.0f}", flush=True)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--draws", default=2000, show_default=True, help="Comparisons over layouts, of each file.")
@click.option("--layouts", default=20, show_default=True)
def columns(folder, draws, layouts):
    """Judge pairs of columns, and random samples of them."""
    rng = np.random.default_rng(0)
    for file in sorted([*folder.glob("env-bias/results-*"), *folder.glob("heap-alias/results-*")]):
        table = pd.read_csv(file)
        # the one row of unhalted core cycles; other files are an estimate or a comparison
        rows = table[table.iloc[:, 1].astype(str).str.match(r"(cycles|r003c)(:u)?$", na=False)]
        if rows.empty or file.name.split(".")[-2] in ("comparison", "estimate"):
            continue
        cycles = rows.iloc[0, 2:].astype(float).to_numpy()
        ratio = cycles[:, None] / cycles
        different = ratio[np.triu_indices(cycles.size, 1)]
        alone = np.mean((different >= 1.04) | (different <= 1 / 1.04))
        told = collections.Counter()
        for _ in range(draws):
            old, new = (rng.choice(cycles, layouts, replace=cycles.size < 2 * layouts) for _ in range(2))
            frames = (pd.DataFrame({(WHOLE, ELAPSED): times}) for times in (old, new))
            told[compare_times(*frames).verdict] += 1
        print(
            f"{file.parent.name}/{file.name}: {cycles.size} columns, "
            f"at most {cycles.max() / np.median(cycles):.2f} times "
            f"the median; of {different.size} pairs {alone:.2%} slower or faster, the same code in all; "
            f"over {layouts} layouts {dict(told)} of {draws}"
        )


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def settings(files):
    """Judge pairs of settings of caches and prefetchers. The work of the program is equal in all settings."""
    for file in files:
        table = pd.read_csv(file)
        table = table[table["run"].isin(["load", "store"])]
        setting = [column for column in ("prefetchers", "ways") if column in table]
        # fewer than two ways are no clean cause, and one program did not end in them
        table = table[table.get("llc_mib", pd.Series(2.0, table.index)) > 1]
        counts = table.pivot_table(
            index=["program", "run", *setting], columns="event", values="value", sort=False
        )
        told, extremes = collections.Counter(), [1.0, 1.0]
        for _, rows in counts.groupby("program", sort=False):
            for old, new in itertools.combinations(rows[["cycles", "instructions"]].to_numpy(), 2):
                time_ratio, work_ratio = new / old
                extremes = [min(extremes[0], work_ratio), max(extremes[1], work_ratio)]
                verdict = (
                    "slower" if time_ratio >= 1.04 else "faster" if time_ratio <= 1 / 1.04 else NO_CHANGE
                )
                told[verdict, explain_by_code(verdict, False, work_ratio)[1]] += 1
        print(
            f"{file.parent.name}/{file.name}: {told.total()} pairs, {dict(told)}; "
            f"instructions {extremes[0]:.4f} to {extremes[1]:.4f} times"
        )


if __name__ == "__main__":
    main()
