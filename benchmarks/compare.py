"""How often `cmlib compare` finds a planted slowdown, and how often it alarms between equal versions.

    python benchmarks/compare.py 1:60 1.1:10 1.2:10 1.5:5 2:5 0.9:10

makes 60 comparisons of a program with itself, 10 with 1.1 times its work, and so on, all with the default
settings, and prints a row per factor. `--seconds` stops in time: run it again for more.
"""

import collections
import json
import subprocess
import tempfile
import time
from pathlib import Path

import click

from cmlib.collect.machine import load_1min
from cmlib.compare.comparison import compare_programs

SOURCE = """
#include <stdlib.h>
static unsigned table[1 << 16];
int main(int count, char **words) {
    long n = 60e6 * atof(words[1]);
    unsigned x = 1, sum = 0;
    for (long i = 0; i < n; i++) { x = x * 1664525u + 1013904223u; sum += table[x >> 16]++; }
    return sum == 42 || count < 2;
}
"""


@click.command()
@click.argument("planned", nargs=-1, required=True, metavar="FACTOR:TIMES...")
@click.option("--seconds", default=230.0, show_default=True, help="Begin no comparison later.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Append each verdict to this file, as JSON lines."
)
def main(planned, seconds, out):
    """Compare a C program with itself and with versions that do FACTOR times its work."""
    end, found = time.monotonic() + seconds, collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "work")
        subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", program], input=SOURCE, text=True, check=True)
        for seed, factor in enumerate(_spread(planned)):
            if time.monotonic() > end:
                break
            load, began = load_1min(), time.monotonic()
            told = compare_programs(
                f"{program} 1", f"{program} {factor}", events="page-faults,context-switches", seed=seed,
                notify=lambda text: None,
            )  # fmt: skip
            row = {
                "factor": factor,
                "verdict": told["verdict"],
                "pairs": told["new"]["runs"],
                "ratios": {test["measure"]: test["ratio"] for test in told["times"]},
                "p_value": told["p_value"],
                "load": load,
                "seconds": time.monotonic() - began,
            }
            found[factor].append(row)
            if out:
                with out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    for factor, rows in sorted(found.items()):
        verdicts = dict(collections.Counter(row["verdict"] for row in rows))
        pairs, took, load = ([row[key] for row in rows] for key in ("pairs", "seconds", "load"))
        print(
            f"{factor:g} times the work, {len(rows)} comparisons: {verdicts}; {min(pairs)} to {max(pairs)} pairs, "
            f"{sum(took) / len(took):.1f} s each, load {min(load):.1f} to {max(load):.1f}"
        )


def _spread(planned):
    """Yield the factors in turns, so that all are measured under the same load."""
    left = {float(factor): int(times) for factor, times in (item.split(":") for item in planned)}
    total = dict(left)
    for _ in range(sum(left.values())):
        factor = max(left, key=lambda factor: left[factor] / total[factor])
        left[factor] -= 1
        yield factor


if __name__ == "__main__":
    main()
