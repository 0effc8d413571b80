"""The default repair against what perf prints, on every recording that can be replayed, nine rotations each.

By hand: python benchmarks/repair.py FOLDER [FOLDER ...] [--table FILE.csv]

A recording can be replayed if it counted every event all the time. Errors are multiples of those of what perf prints.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from cmlib import clean
from cmlib.errors import CmlibError
from cmlib.experiments import repair

MOST = 1.02


def replayed(file):
    """Return the ratio of each rotation, a geometric mean over events. None if the file cannot be replayed."""
    try:
        cases = repair.cases(file)
    except (CmlibError, ValueError, KeyError, IndexError):
        return None
    if not cases or "groups" not in cases[0].name:
        return None
    cells = repair.score_cases({"default": clean.estimate_counts}, cases).query("method == 'default'")
    cells["ratio"] = np.log(cells["ratio"].clip(0.01, 100))
    return np.exp(cells.groupby("case", sort=False)["ratio"].mean()).rename(str(file))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, help="folders with recordings")
    parser.add_argument("--table", type=Path, help="write the ratio of each file and rotation")
    options = parser.parse_args()
    files = [path for folder in options.folders for path in sorted(folder.rglob("*")) if path.is_file()]
    ratios = [row for file in tqdm(files) if (row := replayed(file)) is not None]
    table = pd.DataFrame(ratios).rename_axis("file")
    if options.table:
        table.to_csv(options.table)
    print(table.describe(percentiles=[0.5]).T[["count", "min", "50%", "max"]].round(3).to_string())
    above = table.stack()[lambda ratio: ratio > MOST]
    print(
        f"{len(above)} of {table.count().sum()} files and rotations above {MOST}; worst {table.max().max():.3f}"
    )
    print(above.to_string() if len(above) else "", flush=True)


if __name__ == "__main__":
    main()
