"""Clusters of a program's events that go with its cycles per instruction, named, weighed and judged."""

from dataclasses import dataclass, fields

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

_SEEN_IN, _FEWEST_STEPS = 0.1, 20  # share of the steps in which an event must have happened; steps in all
_N_BLOCKS, _N_FOLDS, _N_SHUFFLES, _N_DRAWS = 12, 4, 30, 200
_FLAT = 0.2  # rank correlation that has a direction
_DOZEN = 12  # members up to which a name tells topics
_SECOND = 0.4  # weight of a second topic beside the first's
_LISTED = 8
_CYCLES = ["cycles_per_kilo_instruction", "cycles_low", "cycles_high", "cycles_at_most"]


@dataclass(frozen=True)
class EventClusters:
    """Clusters of one program's events, the most important first, numbered from 1.

    `table` has a row a cluster, `members` one an event, `errors` one a test on held-out steps; `stability` is the
    overlap of the first five beside that of shuffled members.
    """

    table: pd.DataFrame
    members: pd.DataFrame
    errors: pd.DataFrame
    stability: pd.DataFrame


def event_clusters(url, program, *, table, processor="", method="shrinkage", n_models=20, seed=0):
    """Clusters of a recorded program's events; None where there are too few steps or no event varies."""
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
    """Clusters of the events of a matrix; `cycles` are those of the account's categories, `costs` of each event."""
    cycles = pd.DataFrame(index=data.X.index) if cycles is None else cycles
    costs = costs or topdown.read_costs()
    frames = (table["description"], data.X, data.ipc, *(data.holdout or ()), cycles)
    computed = cached(
        ("clusters", costs.name, n_models, seed, *frames),
        lambda: _explain(data, table, cycles, costs, n_models, seed),
    )
    return EventClusters(**{field.name: computed[field.name] for field in fields(EventClusters)})


def _explain(data, table, cycles, costs, n_models, seed):
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
    if len(X) < _FEWEST_STEPS:
        raise UnfitRecordingError(f"{len(X)} steps are too few for clusters; {_FEWEST_STEPS} are needed.")
    happens = ((X > 0).mean() >= _SEEN_IN) & (X.nunique() > 1) & (classes.reindex(X.columns) != "target")
    if not happens.any():
        raise UnfitRecordingError("no event varies, so that none goes with cycles per instruction.")
    return X.loc[:, happens]


def _draws(added, grouped):
    return pd.DataFrame([clusters.importances(contributions, grouped) for contributions in added])


def _members(weights, grouped):
    """Events of every cluster by falling weight, as a share of their cluster's [%]."""
    frame = pd.DataFrame({"cluster": grouped, "event": grouped.index, "weight": weights[grouped.index]})
    frame["weight"] *= 100 / frame.groupby("cluster")["weight"].transform("sum").replace(0.0, np.inf)
    return frame.sort_values(["cluster", "weight"], ascending=[True, False], kind="stable", ignore_index=True)


def _describe(members, draws, X, cpi, costs, what):
    """Name, kind and importance of each cluster, and the cycles that go with its first costly event, from the data."""
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
    """Cycles per 1,000 instructions in the tenth of the steps with most of an event, less those in that with least.

    As counted, with the interval of 90 % of draws of blocks of steps, and what so much more of the event can cost.
    """
    count, cycles = X[event].to_numpy(float), 1000 * cpi.to_numpy(float)
    rows = (clusters.resample_blocks(len(X), seed, n_blocks=_N_BLOCKS) for seed in range(_N_DRAWS))
    low, high = np.quantile([_most_less_least(count[drawn], cycles[drawn]) for drawn in rows], [0.05, 0.95])
    at_most = 1000 * _most_less_least(count, count) * costs.most(event)
    return _most_less_least(count, cycles), low, high, at_most


def _most_less_least(count, values):
    least, most = np.quantile(count, [0.1, 0.9])
    return values[count >= most].mean() - values[count <= least].mean()


def _names(members, what):
    """By the topics of at most a dozen members, the weightiest first; of more, by their kind and number."""
    topics = members.assign(topic=members["event"].map(what["topic"]))
    names = topics.groupby("cluster").apply(_topics, include_groups=False)
    of = members.groupby("cluster")["event"]
    sizes, first = of.size(), of.first()
    names = names.where(sizes <= _DOZEN, first.map(what["kind"]) + ", " + sizes.astype(str) + " events")
    return names.where(~names.duplicated(keep=False), names + " (" + first + ")")


def _topics(members):
    weights = members.groupby("topic", sort=False)["weight"].sum().sort_values(ascending=False, kind="stable")
    return " and ".join(weights.index[:2][weights.iloc[:2] >= _SECOND * weights.iloc[0]])


def _listed(names):
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
    """Cycles per instruction of every category on level 1 of the top-down account, by steps of progress."""
    rates, ipc = topdown.merge_steps(merge.step_runs(list(runs["counts"]), len(progress)))
    table = topdown.choose_table(rates.columns, table_name)
    if table is None:
        return None
    level = topdown.account(rates, table).level().div(ipc, axis=0)
    return level.loc[:, level.std() > 0].set_axis(progress, axis=0)


def _categories_of(contributions, cycles):
    """The category of the account that goes with each cluster."""
    if cycles.empty:
        return pd.DataFrame({"category": "", "category_r": np.nan}, index=contributions.columns)
    along = pd.DataFrame({name: contributions.corrwith(cycles[name]) for name in cycles}).fillna(-1.0)
    return pd.DataFrame({"category": along.idxmax(axis=1), "category_r": along.max(axis=1)})
