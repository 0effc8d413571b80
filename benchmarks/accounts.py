"""Compare the verdict of `cmlib summarize` with the shares that the recording tool printed for the same run.

Reads the folders `commonest`, `tables` and `dialects` in CMLIB_PUBLIC (../shared/public if not set). Prints
a row per program and kind of core whose file has slots or stalls: the verdict, the largest loss that the tool printed,
and whether they differ by more than 5 points. The exit code is 1 if any row differs.
"""

import os
import re
import sys
from pathlib import Path

import pandas as pd

from cmlib import topdown
from cmlib.experiments.summary import summarize_runs
from cmlib.io.archive import decompress, read_file
from cmlib.io.archive.programs import RecordError
from cmlib.io.sources import read_recordings

FOLDERS = ("commonest", "tables", "dialects")
TELLS = re.compile(rb"slots|stall|tma_|_bound|cycles idle", re.IGNORECASE)
IDLE = re.compile(r"([0-9.]+) ?% *(front|back)end cycles idle")
LIKE = 5.0  # points


def tool_shares(source, text):
    """Return the losses that the tool printed [%]: shares of slots, or of idle cycles of both ends."""
    printed = source.facts.get("printed", {})
    if shares := {name: 100 * printed[name] for name in topdown.LOSSES if name in printed}:
        return shares
    idle = {f"{end} end": float(share) for share, end in IDLE.findall(text)}
    return idle if len(idle) == 2 else {}


def rows_of(file, root):
    content = decompress(read_file(file), file)
    if not TELLS.search(content):
        return
    name = str(file.relative_to(root))
    try:
        sources = read_recordings([file], {})
    except (RecordError, ValueError) as error:
        yield {"file": name, "how": "not read", "why": str(error).removeprefix(str(file))[:80]}
        return
    for source in sources:
        text = source.raw.decode(errors="replace")
        if not TELLS.search(source.raw):
            continue
        run = [(source.counts, source.running)]
        account = summarize_runs(name, [source.facts | {"imported": True}], run)["account"]
        shares = tool_shares(source, text)
        row = {"file": name, "program": source.name, "how": account["how"] if account else "no cycles"}
        limits = account["limits"] if account else []
        largest = max(shares, key=shares.get, default="")
        wrong = row["how"] in ("counted", "decided", "likely") and shares and largest not in limits
        wrong = wrong and shares[largest] - max(shares.get(limit, 0.0) for limit in limits) > LIKE
        yield row | {
            "limits": ", ".join(limits),
            "tool": largest,
            "share": shares.get(largest),
            "contradicts": bool(wrong),
        }


def main():
    root = Path(os.environ.get("CMLIB_PUBLIC", "../shared/public"))
    suffixes = (".gz", ".txt", ".md", ".csv")
    files = [
        file for folder in FOLDERS for file in sorted((root / folder).rglob("*")) if file.suffix in suffixes
    ]
    table = pd.DataFrame([row for file in files if file.is_file() for row in rows_of(file, root)])
    print(table.to_csv(index=False, sep="\t", na_rep="-", float_format="%.1f"))
    table["folder"] = table["file"].str.partition("/")[0]
    print(table.groupby(["folder", "how"]).size().to_string())
    contradictions = int(table["contradicts"].eq(True).sum())
    print(f"contradictions: {contradictions}")
    sys.exit(1 if contradictions else 0)


if __name__ == "__main__":
    main()
