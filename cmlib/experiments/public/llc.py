"""Programs of SPEC CPU2006 with larger last-level caches and fewer prefetchers: the cause is changed and known."""

import io

import numpy as np
import pandas as pd

from cmlib import cost, places
from cmlib.experiments.requested import resolve_names
from cmlib.io import public

SET = "spec-llc"
SMALL, SIZES = 1.75, (3.5, 7, 14, 19.25)  # MiB: one way of the cache, and 2, 4, 8, 11
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


def tables(recorded):
    """The two tables of `data/cost`, by the intervals and, from CMLIB_PUBLIC, the totals of each setting."""
    rows = {name: cost.rates_row(cost.rates(*pair)) for name, pair in recorded.items()}
    programs = pd.concat(rows).droplevel(1).rename_axis("program").reset_index()
    ways, prefetchers = (_totals(name) for name in ("cache_ways", "prefetchers"))
    ways = ways[ways["prefetchers"] == "all"]
    settings = {f"{size:g} MiB": ways[ways["llc_mib"] == size] for size in SIZES}
    settings |= {name: prefetchers[prefetchers["prefetchers"] == name] for name in PREFETCHERS}
    small = {True: ways[ways["llc_mib"] == SMALL], False: prefetchers[prefetchers["prefetchers"] == "all"]}
    changes = [
        (_rates(table) - _rates(small[name.endswith("MiB")])).add_suffix("_change").assign(setting=name)
        for name, table in settings.items()
    ]
    changes = pd.concat(changes).reset_index().rename(columns={"misses_change": "change"})
    order = ["program", "setting", "change", "stores_change", "cycles_change"]
    changes = changes[changes["program"].isin(programs["program"])].sort_values("program", kind="stable")
    return programs, changes[order].reset_index(drop=True)


def _stream(content):
    return pd.read_csv(io.BytesIO(content), sep=r"\s+").rename(columns=lambda name: name.lstrip("#"))


def _totals(name):
    return pd.read_csv(places.external_data_dir() / SET / f"{name}.csv.gz")


def _rates(table):
    """Cycles and misses per instruction: of loads by the runs that counted these, of stores by theirs."""
    run = {
        kind: table[table["run"] == kind].pivot(index="program", columns="event", values="value")
        for kind in ("load", "store")
    }
    load, store = run["load"], run["store"]
    return pd.DataFrame(
        {
            "misses": load["LLC-load-misses"] / load["instructions"],
            "stores": store["LLC-store-misses"] / store["instructions"],
            "cycles": load["cycles"] / load["instructions"],
        }
    )
