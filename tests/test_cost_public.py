"""The committed numbers of `data/cost` against the recordings that they are from."""

import io
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cmlib import cost, places
from cmlib.cost.change import rates_row
from cmlib.io import public

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (Path(os.environ.get("CMLIB_PUBLIC", "")) / "spec-llc/cache_ways.csv.gz").is_file(),
        reason="takes the folder CMLIB_PUBLIC with recordings whose licence lets nobody pass them on",
    ),
]


SETS = {"CPU2006": "spec-llc", "CPU2017": "spec-llc-2017"}
INTEGER = [
    "401",
    "403",
    "429",
    "445",
    "462",
    "471",
    "473",
    "483",
    "500",
    "520",
    "523",
    "557",
]  # by SPEC's lists
SMALL, SIZES = 1.75, (3.5, 7, 14, 19.25)  # MiB: one way of the cache, and 2, 4, 8, 11


@pytest.fixture(scope="module")
def recorded():
    def read(name, release, run):
        content = public.read(f"{SETS[release]}/streams/{name}.data.{run}.txt")
        return pd.read_csv(io.BytesIO(content), sep=r"\s+").rename(columns=lambda column: column.lstrip("#"))

    programs = cost.changes()[0].drop_duplicates("program").set_index("program")["release"]
    return {name: (read(name, release, 1), read(name, release, 2)) for name, release in programs.items()}


def test_tables_are_those_of_the_recordings(recorded):
    made = tables(recorded)
    for name, table in zip(("programs", "changes"), made, strict=True):
        stored = pd.read_csv(places.shipped("cost") / f"{name}.csv")
        pd.testing.assert_frame_equal(table, stored, rtol=1e-4, check_dtype=False)


def test_one_call_with_two_runs_is_what_the_tables_give(recorded):
    X, y = cost.changes(["19.25 MiB"])
    rows = X.set_index("program")
    told = {name: cost.predict_change(*recorded[name], rows.at[name, "change"]) for name in recorded}
    expected = pd.Series(cost.default_cost_model().predict(X.drop(columns="stores_change")), rows.index)
    found = pd.DataFrame(told.values(), index=list(told))
    assert (found["change"] / expected).between(0.999, 1.001).all()
    inside = [row.low <= saved <= row.high for row, saved in zip(told.values(), y, strict=True)]
    assert 25 <= sum(inside) <= 29


def tables(recorded):
    """The two tables of `data/cost`, by the intervals and, from CMLIB_PUBLIC, the totals of each setting."""
    rows = {name: rates_row(cost.rates(*pair)) for name, pair in recorded.items()}
    programs = pd.concat(rows).droplevel(1).rename_axis("program").reset_index()
    release = np.where(programs["program"] >= "500", "CPU2017", "CPU2006")
    kind = np.where(programs["program"].str.partition(".")[0].isin(INTEGER), "CINT", "CFP")
    programs.insert(
        1, "suite", [of + name.removeprefix("CPU") for of, name in zip(kind, release, strict=True)]
    )
    programs.insert(2, "release", release)
    ways, prefetchers = (_totals(name) for name in ("cache_ways", "prefetchers"))
    ways = ways[ways["prefetchers"] == "all"]
    settings = {f"{size:g} MiB": ways[ways["llc_mib"] == size] for size in SIZES}
    settings |= {
        name: prefetchers[prefetchers["prefetchers"] == name]
        for name in ("none", "DCUI", "DCUP", "L2A", "L2P")
    }
    small = {True: ways[ways["llc_mib"] == SMALL], False: prefetchers[prefetchers["prefetchers"] == "all"]}
    changes = [
        (_rates(table) - _rates(small[name.endswith("MiB")])).add_suffix("_change").assign(setting=name)
        for name, table in settings.items()
    ]
    changes = pd.concat(changes).reset_index().rename(columns={"misses_change": "change"})
    order = ["program", "setting", "change", "stores_change", "cycles_change"]
    changes = changes[changes["program"].isin(programs["program"])].sort_values("program", kind="stable")
    return programs, changes[order].reset_index(drop=True)


def _totals(name):
    folders = (places.external_data_dir() / folder for folder in SETS.values())
    return pd.concat(pd.read_csv(folder / f"{name}.csv.gz") for folder in folders)


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
