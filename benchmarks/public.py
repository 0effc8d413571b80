"""Import recordings that others published, and report the refused ones with the reason. Run: make public

Reads the files of the folders `intervals`, `tables` and `wide` in CMLIB_PUBLIC (../shared/public if not set). Tables
without times are given an interval of 100 ms. Exit code 1 if one of intervals or of wide tables is refused.

With `live`, as by make public LIVE=live, each goes through `cmlib run live` as well, which takes half a minute a file:
its exit code, and the error on unseen stretches of what notebook 03 keeps, beside that of the mean. Exit code 1 then
also if one of these is not 0.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from cmlib.collect import record
from cmlib.io import store
from cmlib.io.marks import read_marks

FOLDERS = ("intervals", "wide", "tables")
INTERVAL_MS = 100
LIVE = "live" in sys.argv[1:]
LONGEST_S = 600


def tried(file, root):
    """Return a row of the table: a file, and whether it was imported."""
    row = {"folder": file.relative_to(root).parts[0], "file": str(file.relative_to(root)).partition("/")[2]}
    if "benchmarks.data" in file.name:
        return row | {"result": f"{len(read_marks(file))} marks"}
    try:
        return row | imported(file, None)
    except ValueError as error:
        return row | {"result": f"refused: {error}"}
    except record.RecordError as error:
        if "--interval-ms" not in str(error):
            return row | {"result": f"refused: {str(error).removeprefix(str(file)).strip()}"}
        return row | imported(file, INTERVAL_MS)


def imported(file, interval_ms):
    """Import a file into a folder of its own, and store it."""
    with tempfile.TemporaryDirectory() as folder:
        made = record.import_files("x", [file], interval_ms=interval_ms, folder=f"{folder}/recordings")
        runs = store.rebuild(f"{folder}/recordings", f"sqlite:///{folder}/store.sqlite")
        lived = run_live(Path(folder)) if LIVE else {}
    return {
        "runs": len(made),
        "events": runs["n_events"].max(),
        "intervals": runs["n_intervals"].sum(),
        "shares": "yes" if runs["running_shares"].all() else "no",
        "result": "imported" if interval_ms is None else f"imported with --interval-ms {interval_ms}",
    } | lived


def run_live(folder):
    """Return the result of `cmlib run live` for the only program in a folder."""
    command = ["-c", "from cmlib.cli import main; main()", "run", "live", "-p", "program=x", "--jobs", "1"]
    told = os.environ | {"CMLIB_DATA": str(folder), "CMLIB_RESULTS": str(folder / "results")}
    try:
        done = subprocess.run([sys.executable, *command], env=told, capture_output=True, timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        return {"live": f"not done in {LONGEST_S} s"}
    errors = folder / "results/live/03_ranking/errors.csv"
    if not errors.is_file():
        return {"live": done.returncode}
    row = pd.read_csv(errors).iloc[0]
    return {"live": done.returncode, "blocks": row["after refinement"], "mean": row["mean"]}


def main():
    root = Path(os.environ.get("CMLIB_PUBLIC", "../shared/public"))
    files = [file for folder in FOLDERS for file in sorted((root / folder).rglob("*.gz"))]
    if not files:
        sys.exit(
            f"no recordings under {root}: set CMLIB_PUBLIC to the folder that contains {', '.join(FOLDERS)}."
        )
    table = pd.DataFrame([tried(file, root) for file in files])
    counted = table.astype({"runs": "Int64", "events": "Int64", "intervals": "Int64"})
    counted.insert(len(counted.columns) - 1, "result", counted.pop("result"))
    print(counted.to_csv(index=False, sep="\t", na_rep="-", float_format="%.1f"))
    table["became"] = (
        table["result"].str.split().str[0].where(~table["result"].str.endswith(" marks"), "marks")
    )
    print(table.groupby(["folder", "became"], sort=False).size().to_string())
    refused = table["became"].eq("refused:") & table["folder"].ne("tables")
    failed = table["live"].notna() & table["live"].ne(0) if LIVE else refused
    sys.exit(1 if (refused | failed).any() else 0)


if __name__ == "__main__":
    main()
