"""How often `cmlib compare --simulate` finds what is planted, and how often it alarms between equal versions.

    python benchmarks/compare_simulated.py --same 200 --planted 20

compares a C program with a copy of another name, on two sizes of caches in turn; with versions of 1 % more
instructions in one of three functions; and with versions of 5 % more modelled misses, or of worse locality, at as many
instructions; each time with another input. `layout` is a program of hash tables, with the same input under a
longer name, so that its tables lie elsewhere.
"""

import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import click

from cmlib.compare.simulated import compare_simulated

SOURCE = """
#include <stdlib.h>
static volatile long table[1 << 18];
#define APART __attribute__((noinline)) static
APART long sum(long n) { long s = 0; for (long i = 0; i < n; i++) s += table[i & 1023]; return s; }
APART long mix(long n) { long s = 1; for (long i = 0; i < n; i++) s = (s ^ (s << 7)) * 31 + (s >> 9); return s; }
APART void fill(long n) { for (long i = 0; i < n; i++) table[i & 2047] = i; }
APART long reach(long n, long far) {
    long s = 0;
    for (long i = 0; i < n; i++) s += table[(i * 8 & -(i < far)) & 0x3ffff];
    return s;
}
int main(int count, char **words) {
    long n[5];
    for (int k = 0; k < 5; k++) n[k] = k + 1 < count ? atol(words[k + 1]) : 1000;
    fill(n[2]);
    return sum(n[0]) + mix(n[1]) + reach(n[3], n[4]) == 42;
}
"""
FUNCTIONS = ("sum", "mix", "fill")
# Instructions of one turn of each loop, at -O1 of gcc 12; the share planted is told from the counts.
TURN = {"sum": 5, "mix": 9, "fill": 5}
CACHES = ({}, {"I1": "16K,4,64", "D1": "16K,4,64", "LL": "256K,8,64"})
COUNT_WORDS = "'{s[substr($1, 1, 5)]++} END {for (k in s) n++; print n}'"


@click.command()
@click.option("--same", default=20, show_default=True, help="Comparisons of the program with itself.")
@click.option("--planted", default=6, show_default=True, help="Of each kind of planted change.")
def main(same, planted):
    """Print a row per kind of comparison."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "work")
        command = ["cc", "-O1", "-g", "-x", "c", "-", "-o", program]
        subprocess.run(command, input=SOURCE, text=True, check=True)
        kinds = dict.fromkeys(["instructions", "misses", "locality", "layout"], planted) | {"same": same}
        for kind, times in kinds.items():
            began, rows = time.monotonic(), [_compared(program, kind, number) for number in range(times)]
            verdicts = {
                verdict: sum(row[0] == verdict for row in rows) for verdict in {row[0] for row in rows}
            }
            ratios = sorted(row[2] for row in rows)
            named = sum(row[1] for row in rows)
            told = f"estimate {ratios[0]:.5f} to {ratios[-1]:.5f} times" if rows else ""
            seconds = (time.monotonic() - began) / max(len(rows), 1)
            click.echo(f"{kind}: {verdicts}, function named in {named}, {told}, {seconds:.1f} s each")


def _compared(program, kind, number):
    """Verdict, whether the planted function is named first, and the ratio of what was planted."""
    caches, planted, event = CACHES[number % 2], None, "sim.instructions"
    if kind == "layout":
        commands = [f"awk {COUNT_WORDS} {file}" for file in _inputs(program.parent, number)]
    else:
        old = [100_000 + 7_000 * (number % 13), 90_000 + 3_000 * (number % 11), 80_000 + 5_000 * (number % 7)]
        old += [120_000, 60_000 + 1_000 * (number % 17)]
        new, copy = list(old), program
        if kind == "same":
            copy = shutil.copy(program, program.with_name("a-copy-of-a-longer-name"))
        if kind == "instructions":
            planted = FUNCTIONS[number % 3]
            at = FUNCTIONS.index(planted)
            total = sum(old[k] * TURN[name] for k, name in enumerate(FUNCTIONS)) + 9 * old[3] + 120_000
            new[at] += round(0.01 * total / TURN[planted])
        if kind in ("misses", "locality"):
            planted, event = "reach", "sim.l1d_load_misses"
            if kind == "locality":
                old[4], new[4] = 2_000, 3_000 + 1_500 * number  # of the same number of steps
            else:
                new[4] = round(1.05 * new[4]) + 60  # of the program's misses, those of the loader among them
        commands = [" ".join(map(str, words)) for words in ([program, *old], [copy, *new])]
    told = compare_simulated(*commands, caches=caches, notify=lambda text: None)
    causes = [cause["function"] for cause in told["counters"]["causes"] if cause["counter"] == event]
    return told["verdict"], causes[:1] == [planted], told["cycle_estimate_ratio"]


def _inputs(folder, number):
    """Return two files with the same text, one with a short name and one with a long name."""
    files = folder / "in", folder / f"the-same-input-of-number-{'x' * (number + 1)}"
    numbers = random.Random(number)
    for file in files:
        file.write_text("".join(f"{numbers.random()}\n" for _ in range(10_000)))
        numbers.seed(number)
    return files


if __name__ == "__main__":
    main()
