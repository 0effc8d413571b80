"""Cluster a recorded program's events, name the clusters, and estimate what each adds to cycles per instruction.

:func:`event_clusters` takes a program in the store (a database of recordings, named by its URL), and gives an
:class:`EventClusters` of four DataFrames: clusters, members, errors of the model, stability. None if there are too
few steps or no event varies; a NothingRecordedError if there is no recording.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib import merge, topdown
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.cache import cached
from cmlib.experiments.event_tables import processor_name, table_name
from cmlib.experiments.matrices import matrix, recorded_runs
from cmlib.io import events
from cmlib.parallel import Workers
from cmlib.rank import blocks, clusters, predict_held_out, regressor, relative_error
from cmlib.rank.clusters import ClusterRegression

_SEEN_IN, _FEWEST_STEPS = 0.1, 20  # least share of the steps in which an event happened; fewest steps
_N_BLOCKS, _N_FOLDS, _N_SHUFFLES, _N_DRAWS = 12, 4, 30, 200
_FLAT = 0.2  # rank correlation with cycles from which on a direction is given
_DOZEN = 12  # clusters of at most so many events are named by their topics
_SECOND = 0.4  # a second topic is named if it has at least this share of the first one's weight
_LISTED = 8  # members listed in the table
_CYCLES = ["cycles_per_kilo_instruction", "cycles_low", "cycles_high", "cycles_at_most"]


@dataclass(frozen=True)
class EventClusters:
    """Clusters of one program's events, the most important first, numbered from 1.

    `table` has a row a cluster:

    - cluster (number), name (topics of its events), kind and class of its most important event, n_events, members
      (text);
    - importance, its share of the clusters' contributions to cycles per instruction (of their standard deviations;
      mean over models of resampled rows), low and high (90 % interval of it) [%];
    - direction ("more" or "fewer" cycles where its leading event happens more often, "" if neither);
    - cycles_event, its first event that costs cycles ("" if none does); cycles_per_kilo_instruction, by how much
      cycles per 1,000 instructions are higher in the tenth of the steps with most of it than in that with least, with
      90 % interval (cycles_low, cycles_high); cycles_at_most, what the difference of the event's counts can cost;
    - category, the top-down category whose cycles go along with the cluster's ("" if unknown), and category_r, the
      correlation.

    `members` has a row an event: cluster, event, weight (share in the cluster, %). `errors` has a row for each test
    on rows that were held out (test), and the errors of three models: linear, boosted, mean [%]. `stability` has one
    row: clusters (number), largest (its number of events), overlap (share, 0-1, of the five most important clusters
    that two models of resampled rows have in common), and ``overlap, members shuffled`` (the same of clusters with
    random members).
    """

    table: pd.DataFrame
    members: pd.DataFrame
    errors: pd.DataFrame
    stability: pd.DataFrame


def event_clusters(url, program, *, table, processor="", method="shrinkage", n_models=20, seed=0):
    """EventClusters of a recorded program in the store at `url`; None if there are too few steps or no event varies.

    `table` is the event table (:func:`cmlib.experiments.event_tables.event_table`), `processor` the name of the
    processor ("": found by the recording), `method` that of cleaning; `n_models` models are fitted to resampled rows,
    from `seed` on.
    """
    runs = recorded_runs(url, program, method=method, workers=Workers(1))
    try:
        data = matrix(runs, per="instructions")
        name = table_name(url, program, processor)
        cycles = None if data.in_time else _category_cycles(runs, name, data.X.index)
        costs = topdown.read_costs(processor_name(url, program, processor))
        return explain(data, table, cycles=cycles, costs=costs, n_models=n_models, seed=seed)
    except UnfitRecordingError:
        return None


def explain(data, table, *, cycles=None, costs=None, n_models=20, seed=0):
    """EventClusters of a Matrix of events per instruction (`data`).

    `table` is the event table (DataFrame). `cycles` (DataFrame, a row a step, a column a category) are cycles per
    instruction in each top-down category, if known; `costs` is a Costs (what events cost), by default that of any
    processor; `n_models` models are fitted to resampled rows, from `seed` on. An UnfitRecordingError if there are
    fewer than 20 steps, or no event varies.
    """
    cycles = pd.DataFrame(index=data.X.index) if cycles is None else cycles
    costs = costs or topdown.read_costs()
    frames = (table["description"], data.X, data.ipc, *(data.holdout or ()), cycles)
    inputs = ("clusters", costs.name, n_models, seed, *frames)
    return EventClusters(**cached(inputs, lambda: _explain(data, table, cycles, costs, n_models, seed)))


def _explain(data, table, cycles, costs, n_models, seed):
    """The fields of EventClusters as a dict of DataFrames; arguments as of :func:`explain`."""
    what = events.kinds(data.X.columns, table)
    X, cpi = _usable(data.X, what["class"]), 1 / data.ipc
    fold = blocks(X.index, _N_BLOCKS) % _N_FOLDS
    grouped = clusters.cluster_events(X, what["kind"])
    model = ClusterRegression(grouped).fit(X, cpi, fold)
    drawn = [clusters.resample_blocks(len(X), number) for number in range(seed, seed + n_models)]
    again = ClusterRegression(grouped, penalty=model.penalty_)
    added = [again.fit(X.iloc[rows], cpi.iloc[rows]).event_contributions(X) for rows in drawn]
    order = _draws(added, grouped).mean().sort_values(ascending=False, kind="stable").index
    grouped = grouped.map({number: place for place, number in enumerate(order, 1)})
    held_out, predicted = clusters.held_out(grouped, X, cpi, fold)
    members = _members(model.event_contributions(X).std(ddof=0), grouped)
    described = _describe(members, _draws(added, grouped), X, cpi, costs, what)
    return {
        "table": described.join(_categories_of(held_out, cycles)).rename_axis("cluster").reset_index(),
        "members": members,
        "errors": _errors(model, data.holdout, X, cpi, fold, predicted, seed),
        "stability": _stability(added, grouped, what["kind"], seed),
    }


def _usable(X, classes):
    """Columns of X that happen, vary and are no target; an UnfitRecordingError if there are none or too few rows."""
    if len(X) < _FEWEST_STEPS:
        raise UnfitRecordingError(f"{len(X)} steps are too few for clusters; {_FEWEST_STEPS} are needed.")
    happens = ((X > 0).mean() >= _SEEN_IN) & (X.nunique() > 1) & (classes.reindex(X.columns) != "target")
    if not happens.any():
        raise UnfitRecordingError("no event varies, so that none goes with cycles per instruction.")
    return X.loc[:, happens]


def _draws(added, grouped):
    """Importances of the clusters, a row for each model's contributions."""
    return pd.DataFrame([clusters.importances(contributions, grouped) for contributions in added])


def _members(weights, grouped):
    """Columns cluster, event and weight (share of the cluster's sum, %), sorted by cluster and falling weight."""
    frame = pd.DataFrame({"cluster": grouped, "event": grouped.index, "weight": weights[grouped.index]})
    frame["weight"] *= 100 / frame.groupby("cluster")["weight"].transform("sum").replace(0.0, np.inf)
    return frame.sort_values(["cluster", "weight"], ascending=[True, False], kind="stable", ignore_index=True)


def _describe(members, draws, X, cpi, costs, what):
    """Table of the clusters: name, kind, importance, members, and how cycles change with the first costly event."""
    of = members.groupby("cluster")["event"]
    first = of.first()
    costly = members["event"].map(lambda event: what.at[event, "class"] == "stall" or costs.charges(event))
    costly = members[costly].groupby("cluster")["event"].first().reindex(first.index)
    leading = costly.fillna(first)
    along = leading.map(X[leading].corrwith(cpi, method="spearman"))
    described = pd.DataFrame(
        {
            "name": _names(members, what),
            "kind": first.map(what["kind"]),
            "class": first.map(what["class"]),
            "n_events": of.size(),
            "importance": draws.mean(),
            "low": draws.quantile(0.05),
            "high": draws.quantile(0.95),
            "direction": np.select([along >= _FLAT, along <= -_FLAT], ["more", "fewer"], ""),
        }
    )
    counted = {cluster: _cycles_with(event, X, cpi, costs) for cluster, event in costly.dropna().items()}
    cycles = pd.DataFrame.from_dict(counted, orient="index", columns=_CYCLES, dtype=float)
    return described.join(cycles).assign(cycles_event=costly.fillna(""), members=of.agg(_listed))


def _cycles_with(event, X, cpi, costs):
    """Cycles per 1,000 instructions in the tenth of the steps with most of an event, minus those with least of it.

    A tuple of the difference, the ends of its 90 % interval (block bootstrap), and the most cycles that the difference
    of the event itself can cost.
    """
    count, cycles = X[event].to_numpy(float), 1000 * cpi.to_numpy(float)
    rows = (clusters.resample_blocks(len(X), seed, n_blocks=_N_BLOCKS) for seed in range(_N_DRAWS))
    low, high = np.quantile([_most_less_least(count[drawn], cycles[drawn]) for drawn in rows], [0.05, 0.95])
    at_most = 1000 * _most_less_least(count, count) * costs.most(event)
    return _most_less_least(count, cycles), low, high, at_most


def _most_less_least(count, values):
    """Mean of `values` in the tenth of the steps with the largest count, minus that in the tenth with the smallest."""
    least, most = np.quantile(count, [0.1, 0.9])
    return values[count >= most].mean() - values[count <= least].mean()


def _names(members, what):
    """Names of the clusters: topics of their events if there are at most a dozen, else kind and number of events."""
    topics = members.assign(topic=members["event"].map(what["topic"]))
    names = topics.groupby("cluster").apply(_topics, include_groups=False)
    of = members.groupby("cluster")["event"]
    sizes, first = of.size(), of.first()
    names = names.where(sizes <= _DOZEN, first.map(what["kind"]) + ", " + sizes.astype(str) + " events")
    return names.where(~names.duplicated(keep=False), names + " (" + first + ")")


def _topics(members):
    """One or two topics of the largest weight, joined by "and"."""
    weights = members.groupby("topic", sort=False)["weight"].sum().sort_values(ascending=False, kind="stable")
    return " and ".join(weights.index[:2][weights.iloc[:2] >= _SECOND * weights.iloc[0]])


def _listed(names):
    """The first names joined by semicolons, and the number of those left out."""
    further = len(names) - _LISTED
    return "; ".join(names[:_LISTED]) + (f"; and {further} more" if further > 0 else "")


def _errors(model, holdout, X, cpi, fold, predicted, seed):
    """Errors [%] of the ridge regression, of a boosted model of the same events, and of the mean."""
    X_sorted, means = X[sorted(X)], [cpi[fold != held].mean() for held in fold]
    boosted = predict_held_out(X, cpi, fold, seed=seed)
    tests = {"held-out blocks": (cpi, predicted, boosted, means)}
    if holdout is not None:
        there, ipc = holdout
        boosted = regressor(seed=seed).fit(X_sorted, cpi).predict(there[X_sorted.columns])
        tests["another pass"] = (1 / ipc, model.predict(there), boosted, cpi.mean())
    rows = {test: [relative_error(true, of) for of in models] for test, (true, *models) in tests.items()}
    return pd.DataFrame(rows, ["linear", "boosted", "mean"]).T.rename_axis("test").reset_index()


def _stability(added, grouped, kinds, seed):
    """Overlap of the first five clusters of resampled models, and of clusters whose members are shuffled."""
    shuffled = [clusters.shuffle_members(grouped, kinds, seed + number) for number in range(_N_SHUFFLES)]
    overlaps = [clusters.overlap(_draws(added, numbers)) for numbers in shuffled]
    row = {
        "clusters": grouped.nunique(),
        "largest": grouped.value_counts().max(),
        "overlap": clusters.overlap(_draws(added, grouped)),
        "overlap, members shuffled": np.mean(overlaps),
    }
    return pd.DataFrame([row])


def _category_cycles(runs, table_name, progress):
    """Cycles per instruction in each category of top-down level 1, by step of progress; None if no table fits."""
    rates, ipc = topdown.merge_steps(merge.step_runs(list(runs["counts"]), len(progress)))
    table = topdown.choose_table(rates.columns, table_name)
    if table is None:
        return None
    level = topdown.account(rates, table).level().div(ipc, axis=0)
    return level.loc[:, level.std() > 0].set_axis(progress, axis=0)


def _categories_of(contributions, cycles):
    """Of each cluster the top-down category whose cycles correlate most with its contribution, and the correlation."""
    if cycles.empty:
        return pd.DataFrame({"category": "", "category_r": np.nan}, index=contributions.columns)
    along = pd.DataFrame({name: contributions.corrwith(cycles[name]) for name in cycles}).fillna(-1.0)
    return pd.DataFrame({"category": along.idxmax(axis=1), "category_r": along.max(axis=1)})
