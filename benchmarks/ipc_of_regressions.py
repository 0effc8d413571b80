"""How often IPC rose where throughput fell: published reports of the kernel's test robot.

`python benchmarks/ipc_of_regressions.py [FOLDER]` reads blocks.csv.gz and perf_stat_rows.csv.gz, which list what 181
reports say of 277 measurements before and after a commit; FOLDER is totals/kernel-reports in CMLIB_PUBLIC
(../shared/public) if not given.
"""

import os
import sys
from pathlib import Path

import pandas as pd

IPC = "perf-stat.overall.ipc"
# More of these is better; of the others in the reports, such as fsmark.app_overhead, less is.
THROUGHPUT = r"per_sec|ops|throughput|mbps|/s$|jobs|kbps|iops|bw"


def changes(folder):
    """A row per measurement of what a report is about, with IPC: throughput and IPC as multiples of those before."""
    blocks, counters = (pd.read_csv(folder / f"{name}.csv.gz") for name in ("blocks", "perf_stat_rows"))
    ipc = counters[counters["metric"] == IPC]
    both = blocks[blocks["block_kpi_is_subject_kpi"] == 1].merge(ipc, on=["file", "block"])
    before, after = (pd.to_numeric(both[f"block_kpi_{which}"]) for which in ("parent", "child"))
    return both.assign(measure=after / before, ipc=both["child_mean"] / both["parent_mean"])


def main():
    public = Path(os.environ.get("CMLIB_PUBLIC", "../shared/public"))
    found = changes(Path(sys.argv[1]) if len(sys.argv) > 1 else public / "totals/kernel-reports")
    of_throughput = found["block_kpi"].str.lower().str.contains(THROUGHPUT)
    chosen = {
        "in a report of a regression": found["direction"] == "regression",
        "throughput itself fell": of_throughput
        & (found["measure"] < 1)
        & (found["direction"] == "regression"),
        "in a report of an improvement": found["direction"] == "improvement",
        "throughput itself rose": of_throughput
        & (found["measure"] > 1)
        & (found["direction"] == "improvement"),
    }
    print(f"{found['file'].nunique()} reports tell IPC")
    for what, rows in chosen.items():
        ipc = found.loc[rows, "ipc"]
        print(f"{what}: {len(ipc)}, IPC rose in {(ipc > 1).sum()}, fell in {(ipc < 1).sum()}")
    rank = found.loc[of_throughput, ["measure", "ipc"]].corr(method="spearman").iloc[0, 1]
    print(f"rank correlation of throughput's change with IPC's: {rank:.2f}, n = {of_throughput.sum()}")


if __name__ == "__main__":
    main()
