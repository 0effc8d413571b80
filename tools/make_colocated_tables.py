"""Make the tables of programs alone and beside neighbors: `python tools/make_colocated_tables.py`.

Reads the public set `colocated` (`cmlib fetch colocated`, or `CMLIB_PUBLIC`), and writes `data/colocated/*.csv`. It
takes less than a minute. `tests/test_colocated.py` makes the tables again and compares them.
"""

from itertools import product

import numpy as np
import pandas as pd

from cmlib import places, rank
from cmlib.experiments import colocated

N_SEEDS = 20  # refitted models behind a range
N_BLOCKS = 20  # of a recording that is halved
DIGITS = 6  # significant digits in the files
DIGITS_OF_COUNTS = 20  # of impossible counts, which differ little from 2**64


def make_tables():
    """Make all tables: dict of name to DataFrame."""
    runs = colocated.read_runs()
    if not runs:
        raise SystemExit(
            "The set 'colocated' is not here: `cmlib fetch colocated`, or set CMLIB_PUBLIC to its folder."
        )
    listed = colocated.list_recordings()
    pairs, pairs_quiet = colocated.match_pairs(runs)
    mixes, mixes_quiet = colocated.match_mixes(runs)
    together, quiet = pairs | mixes, pairs_quiet | mixes_quiet
    importances, models = make_rankings(listed, pairs, pairs_quiet)
    return {
        "totals": make_totals(listed, runs),
        "impossible": colocated.list_impossible(),
        "shared": make_shared(listed, together, quiet),
        "importances": importances,
        "models": models,
        "quiet": make_quiet(listed, runs, together, quiet),
    }


def make_totals(listed, runs):
    """Totals of whole recordings."""
    return _with_names(listed, {file: colocated.total_counts(run) for file, run in runs.items()})


def make_shared(listed, together, quiet):
    """Totals over the same work beside a neighbor and without it: two rows per recording."""
    rows = {file: colocated.total_counts(run) for file, run in together.items()}
    table = _with_names(listed, rows).assign(machine="shared")
    rows = {file: colocated.total_counts(run) for file, run in quiet.items()}
    return pd.concat([table, _with_names(listed, rows).assign(machine="quiet")], ignore_index=True)


def make_rankings(listed, together, quiet):
    """Importances, and errors of the models behind them, of pairs alone and together, over the same work."""
    importances, models = [], []
    for row in listed[listed["setting"] == "pair"].itertuples():
        names = {"recording": row.recording, "program": row.program, "neighbor": row.neighbor}
        draws, by_halves = {}, []
        for machine, run in {"quiet": quiet[row.file], "shared": together[row.file]}.items():
            X, ipc = colocated.interval_rates(run)
            draws[machine] = rank.draw_importances(X, ipc, seeds=range(N_SEEDS))
            by_halves.append(_compare_halves(X, ipc))
            spread = rank.importance_spread(draws[machine]).reset_index()
            importances.append(spread[["event", "mean", "low", "high"]].assign(**names, machine=machine))
            errors = colocated.judge_model(X, ipc)
            models.append(names | {"machine": machine, "rows": len(ipc)} | errors)
        models[-1]["shared importance"] = _mean_shared(draws["quiet"], draws["shared"])
        models[-1]["shared by halves"] = np.mean(by_halves)
    return pd.concat(importances, ignore_index=True), pd.DataFrame(models)


def _compare_halves(X, ipc):
    """Agreement of models of the even and of the odd ones of 20 blocks of one recording [%]."""
    is_even = rank.blocks(X.index, N_BLOCKS) % 2 == 0
    halves = [rank.draw_importances(X[rows], ipc[rows], seeds=range(N_SEEDS)) for rows in (is_even, ~is_even)]
    return _mean_shared(*halves)


def _mean_shared(draws, others):
    """Importance [%] that two models give to the same events, mean over all pairs of models."""
    return np.mean([np.minimum(*pair).sum() for pair in product(draws.to_numpy(), others.to_numpy())])


def make_quiet(listed, runs, together, quiet):
    """Predictions for a quiet machine beside what was measured there."""
    table = colocated.predict_quiet(runs, together)
    measured = {file: run["cycles"].sum() / run["instructions"].sum() for file, run in quiet.items()}
    table = table.assign(measured=table["file"].map(measured))
    return listed.merge(table, on="file").drop(columns="file")


def _with_names(listed, rows):
    """Put the names of recordings before rows (dict of file to Series)."""
    table = pd.DataFrame(rows).T.rename_axis("file").reset_index()
    return listed.merge(table, on="file").drop(columns="file")


def main():
    """Write the files."""
    for name, table in make_tables().items():
        digits = DIGITS_OF_COUNTS if name == "impossible" else DIGITS
        table.to_csv(places.shipped("colocated") / f"{name}.csv", index=False, float_format=f"%.{digits}g")


if __name__ == "__main__":
    main()
