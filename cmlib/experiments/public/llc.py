"""Programs of SPEC CPU2006 with larger last-level caches and fewer prefetchers: the cause is changed and known."""

import io

import numpy as np
import pandas as pd

from cmlib import cost, places
from cmlib.experiments.requested import resolve_names
from cmlib.io import public

SET = "spec-llc"
ACCESSES = {"loads": "PERF_COUNT_HW_CACHE_LL_ACCESS_R", "stores": "PERF_COUNT_HW_CACHE_LL_ACCESS_W"}
PREFETCHERS = ("none", "DCUI", "DCUP", "L2A", "L2P")


def chosen(program):
    """Programs by their names."""
    todo = "Notebook 09f is about programs whose misses others have changed."
    return resolve_names(program, cost.changes()[0]["program"].unique(), about="these programs", todo=todo)


def runs(programs):
    """By program: intervals of the run with cycles and of the one with loads; empty where they are not here."""
    path = f"{SET}/streams/{{}}.data.{{}}.txt"
    content = {(name, run): public.read(path.format(name, run)) for name in programs for run in (1, 2)}
    if None in content.values():
        return {}
    return {name: tuple(_stream(content[name, run]) for run in (1, 2)) for name in programs}


def coarse():
    """55 programs with 1 to 11 ways of another machine's cache, as :func:`cmlib.cost.changes`; None if not here.

    ``setting`` is the number of ways in place of one, ``stalls`` the share of cycles that wait for a last-level miss.
    """
    folder = places.external_data_dir()
    file = folder / "totals/cache-ways/metrics.csv.gz" if folder else None
    if file is None or not file.is_file():
        return None
    table = pd.read_csv(file).set_index("BENCH")
    table = table.assign(cycles=1 / table["ipc"], misses=table["llcmpki"] / 1000)
    one = table[table["NR_WAYS"] == 1]
    rest = table[table["NR_WAYS"].isin([2, 4, 8, 11])]
    before = one.loc[rest.index]
    X = before[["cycles", "misses"]].assign(stores=0.0, slope=0.0, stderr=np.inf)
    X = X.assign(
        setting=rest["NR_WAYS"], change=rest["misses"] - before["misses"], stalls=before["stalls_l3_miss"]
    )
    y = (rest["cycles"] - before["cycles"]).reset_index(drop=True)
    return X.rename_axis("program").reset_index(), y


def _stream(content):
    return pd.read_csv(io.BytesIO(content), sep=r"\s+").rename(columns=lambda name: name.lstrip("#"))
