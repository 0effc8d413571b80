"""Pairs of events of one program, by every measure of interaction."""

import pandas as pd

from cmlib import interact, synthetic
from cmlib.errors import UnfitRecordingError
from cmlib.io import events
from cmlib.parallel import parallel_map
from cmlib.rank.boosting import regressor

# Rows that H of synthetic data is computed on: more find the same pairs, at a cost that grows with the square.
_POINTS = 30
MEASURES = {"h_statistic": "H", "residual_variance": "residual variance", "printed": "Eq. 12 as printed"}


def pairs(matrix_and_model, *, table, n_events=10, seed=0):
    """Rank the pairs of a program's most important events by every measure."""
    data, refined = matrix_and_model
    chosen = refined.events[:n_events]
    if len(chosen) < 2:
        raise UnfitRecordingError(
            f"the model of {data.target.name} keeps {len(chosen)} event, and a pair takes two: record more events."
        )
    return {
        measure: _labelled(
            interact.rank_pairs(data.X, data.ipc, chosen, method=measure, fitted=refined.model, seed=seed),
            table,
        )
        for measure in MEASURES
    }


def with_pairs(refined, target):
    """The programs whose model has a pair of events."""
    programs = [name for name, one in refined.items() if len(one.events) > 1]
    if not programs:
        raise UnfitRecordingError(
            f"the model of {target.name} (notebook 03) keeps one event, and a pair takes two: other events add nothing "
            "to it here. Record more events together with it, or explain another by `-p target=EVENT`."
        )
    return programs


def compare_pairs(ranked, table, *, top=10):
    """How the measures agree on each program, and how often branches are involved."""
    branches = [
        name for name in table.index if table.at[name, "unit"] == "branch-prediction" or "_br" in name
    ]
    rows = []
    for program, by_measure in ranked.items():
        orders = [by_measure[measure].set_index("pair")["importance"] for measure in MEASURES]
        row = {"program": program, "rank correlation": orders[0].corr(orders[1], method="spearman")}
        for measure, short in MEASURES.items():
            pairs = by_measure[measure]
            row[f"dominant pair, {short}"] = pairs["label"].iloc[0]
            row[f"its share, {short} [%]"] = pairs["importance"].iloc[0]
            row[f"with branch, {short} [%]"] = 100 - interact.involved_share(pairs, branches, n=top)["none"]
        rows.append(row)
    return pd.DataFrame(rows)


def planted_pairs(seeds, workers=None):
    """Whether each measure finds the pairs planted in synthetic data."""
    last = pd.DataFrame(parallel_map(_last_places, list(seeds), workers))
    rows = []
    for measure in MEASURES:
        first = int((last[measure] == last["planted"]).sum())
        places = {"mean place": last[measure].mean(), "worst place": int(last[measure].max())}
        rows.append({"measure": measure, "planted first": first, **places})
    return pd.DataFrame(rows)


def _last_places(seed):
    """The place of the last planted pair by every measure, of one model."""
    data = synthetic.product_pair_data(seed=seed)
    fitted = regressor(seed=seed).fit(data.X, data.ipc)
    places = {"planted": len(data.pairs)}
    for measure in MEASURES:
        options = {"method": measure, "fitted": fitted, "n_points": _POINTS, "seed": seed}
        ranking = interact.rank_pairs(data.X, data.ipc, list(data.X), **options)
        members = list(zip(ranking["event_a"], ranking["event_b"], strict=True))
        places[measure] = max(members.index(pair) for pair in data.pairs) + 1
    return places


def _labelled(ranked, table):
    names = [events.abbreviate(ranked[side], table) for side in ("event_a", "event_b")]
    return ranked.assign(label=[f"{a}-{b}" for a, b in zip(*names, strict=True)])
