"""Clusters of events: what was planted is found, named and weighed, and stands beside shuffled members."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GroupKFold

from cmlib import experiments as study
from cmlib import merge, places, topdown
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.matrices import usable_events
from cmlib.io import events, perf
from cmlib.io.archive import decompress
from cmlib.rank import blocks, clusters, relative_error
from cmlib.rank.clusters import ClusterRegression
from tests.notebook_functions import functions_of

WEIGHED = functions_of("clusters", table=events.table(), n_models=6, seed=0)
JUDGED = functions_of("grouping", table=events.table(), n_models=6, n_shuffles=30, seed=0)
DRIVERS = {"a": 4, "b": 3}
COSTS = {"a": 0.3, "b": 0.15}
# Real names in place of the planted ones, so that kinds and topics are known.
MISPREDICTED = [
    "ex_ret_brn_misp",
    "ex_ret_brn_tkn_misp",
    "ex_ret_msprd_brnch_instr_dir_msmtch",
    "bp_redirects.ex_redir",
]
WALKS = ["ls_l1_d_tlb_miss.all", "ls_l1_d_tlb_miss.all_l2_miss", "ls_l1_d_tlb_miss.tlb_reload_4k_l2_miss"]
BRANCHES = ["ex_ret_brn", "ex_ret_cond", "ex_ret_brn_tkn", "ex_ret_near_ret"]


def planted(seed, n_steps=100):
    """Copies of two drivers of cycles per instruction, copies of a decoy, and noise: (X, cpi)."""
    rng = np.random.default_rng(seed)
    paths = {name: wander(rng, n_steps) for name in ("a", "b", "decoy")}
    X = {
        f"{name}{copy}": path + rng.normal(0, 0.15, n_steps)
        for name, path in paths.items()
        for copy in range(DRIVERS.get(name, 4))
    }
    X |= {f"noise{number}": rng.normal(0, 1, n_steps) for number in range(8)}
    cpi = 2 + sum(COSTS[name] * paths[name] for name in COSTS) + rng.normal(0, 0.02, n_steps)
    progress = pd.Index((np.arange(n_steps) + 0.5) / n_steps, name="progress")
    return pd.DataFrame(X).set_axis(progress), pd.Series(cpi, index=progress)


def wander(rng, n_steps):
    path = np.cumsum(rng.normal(size=n_steps))
    path = path - np.linspace(path[0], path[-1], n_steps)
    return (path - path.mean()) / path.std()


def of_one_kind(X):
    return pd.Series("data supply", index=X.columns)


def partition(grouped):
    return {frozenset(group) for group in grouped.groupby(grouped).groups.values()}


@pytest.mark.parametrize("seed", range(6))
def test_planted_clusters_come_first_with_all_their_members(seed):
    X, cpi = planted(seed)
    grouped = clusters.cluster_events(X, of_one_kind(X))
    model = ClusterRegression(grouped).fit(X, cpi, blocks(X.index, 12) % 4)
    first = model.importance_.nlargest(2).index
    members = [set(grouped.index[grouped == number]) for number in first]
    assert members == [{f"{name}{copy}" for copy in range(copies)} for name, copies in DRIVERS.items()]


def test_the_model_is_ridge_regression_and_its_contributions_add_up():
    X, cpi = planted(0)
    grouped = clusters.cluster_events(X, of_one_kind(X))
    model = ClusterRegression(grouped, penalty=3.0, clip=np.inf).fit(X, cpi)
    Z = (X - X.mean()) / X.std(ddof=0)
    np.testing.assert_allclose(model.slopes_, Ridge(3.0).fit(Z, cpi).coef_, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), Ridge(3.0).fit(Z, cpi).predict(Z))
    added = model.contributions(X)
    for number in added:
        own = grouped.index[grouped == number]
        np.testing.assert_allclose(added[number], (Z[own] * model.slopes_[own]).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(model.importance_, 100 * added.std(ddof=0) / added.std(ddof=0).sum())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_steps", [20, 100])
def test_the_penalty_is_that_of_a_search(seed, n_steps):
    X, cpi = planted(seed, n_steps)
    fold = blocks(X.index, 12) % 4
    model = ClusterRegression(clusters.cluster_events(X, of_one_kind(X)), clip=np.inf).fit(X, cpi, fold)
    folds = list(GroupKFold(4).split(X, groups=fold))
    ridge = RidgeCV(clusters.PENALTIES, cv=folds, scoring="neg_mean_squared_error")
    ridge.fit(((X - X.mean()) / X.std(ddof=0)).to_numpy(), cpi)
    assert model.penalty_ == ridge.alpha_
    np.testing.assert_allclose(model.slopes_, ridge.coef_, rtol=1e-6)


def test_held_out_steps_are_predicted_by_models_that_never_saw_them():
    X, cpi = planted(2)
    grouped, fold = clusters.cluster_events(X, of_one_kind(X)), blocks(X.index, 12) % 4
    added, predicted = clusters.held_out(grouped, X, cpi, fold)
    alone = ClusterRegression(grouped).fit(X[fold != 0], cpi[fold != 0], fold[fold != 0])
    np.testing.assert_allclose(predicted[fold == 0], alone.predict(X[fold == 0]))
    np.testing.assert_allclose(added[fold == 0], alone.contributions(X[fold == 0]))
    assert relative_error(cpi, predicted) < relative_error(cpi, cpi.mean()) / 4


def test_events_of_two_kinds_are_never_in_one_cluster():
    X, _ = planted(3)
    kinds = pd.Series(np.where(np.arange(X.shape[1]) % 2, "stall cycles", "data supply"), index=X.columns)
    grouped = clusters.cluster_events(X, kinds, distance=1.0)
    assert grouped.nunique() == 2 and kinds.groupby(grouped).nunique().eq(1).all()


@given(st.permutations(range(19)), st.floats(0.1, 0.9))
def test_clusters_do_not_depend_on_order_unit_or_sign(order, distance):
    X, _ = planted(4, n_steps=40)
    other = X.iloc[:, order] * np.where(np.arange(19) % 2, -3.0, 0.5)
    one, two = (clusters.cluster_events(x, of_one_kind(x), distance=distance) for x in (X, other))
    assert partition(one) == partition(two)


@given(st.integers(0, 1000))
def test_shuffling_members_keeps_sizes_and_kinds(seed):
    X, _ = planted(5, n_steps=40)
    kinds = pd.Series(np.where(np.arange(X.shape[1]) < 11, "stall cycles", "data supply"), index=X.columns)
    grouped = clusters.cluster_events(X, kinds)
    shuffled = JUDGED["shuffle_members"](grouped, kinds, seed)
    assert shuffled.value_counts().sort_index().equals(grouped.value_counts().sort_index())
    assert kinds.groupby(shuffled).nunique().eq(1).all()


@given(st.lists(st.permutations(range(7)), min_size=2, max_size=6), st.integers(1, 7))
def test_overlap_is_its_definition(rankings, n_first):
    draws = pd.DataFrame([[7 - list(ranking).index(name) for name in range(7)] for ranking in rankings])
    shared = [
        len(set(one[:n_first]) & set(other[:n_first])) / n_first
        for place, one in enumerate(rankings)
        for other in rankings[:place]
    ]
    assert JUDGED["overlap"](draws, n_first=n_first) == pytest.approx(np.mean(shared))


@pytest.fixture(scope="module")
def matrix():
    X, cpi = planted(0)
    X = X.rename(columns=dict(zip(X.columns, [*MISPREDICTED, *WALKS, *BRANCHES], strict=False)))
    X = 0.01 * (X + 10).assign(**{"ex_no_retire.all": cpi.to_numpy(), "rare": [0.0] * 99 + [1.0]})
    other = X * np.random.default_rng(0).normal(1, 0.002, X.shape)
    return study.Matrix(X, 1 / cpi, (other, 1 / cpi))


def explain(data, table=None, costs=None):
    """What notebook studies/clusters finds in a matrix; its table has the cycles that go with the clusters."""
    functions = WEIGHED if table is None else functions_of("clusters", table=table, n_models=4, seed=0)
    found = functions["explain"](data)
    return found | {"table": functions["add_cycles"](found, costs or topdown.read_costs())}


@pytest.fixture(scope="module")
def found(matrix):
    return explain(matrix, costs=topdown.read_costs("amd_zen5"))


def members_of(found, cluster):
    members = found["members"]
    return set(members["event"][members["cluster"] == cluster])


def test_the_planted_clusters_are_named_by_what_they_count(found):
    first, second = (found["table"].iloc[place] for place in range(2))
    assert first["name"].startswith("mispredicted branches")
    assert second["name"] == "page walks and DTLB misses"
    assert members_of(found, 1) == set(MISPREDICTED) and first["first"] in MISPREDICTED
    assert members_of(found, 2) == set(WALKS)
    assert (first["kind"], first["class"]) == ("bad speculation", "miss")


def test_the_closest_category_is_the_one_most_correlated_with_what_a_cluster_adds(found, matrix):
    cpi = 1 / matrix.ipc
    level = pd.DataFrame({"bad speculation": cpi - 1.9, "retired": 0.1 * np.sin(np.arange(100.0))})
    closest = functions_of("clusters")["closest_category"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(topdown, "merge_steps", lambda steps: (level, pd.Series(1.0, level.index)))
        patched.setattr(topdown, "choose_table", lambda events, known: "table")
        patched.setattr(topdown, "account", lambda rates, table: SimpleNamespace(level=lambda: rates))
        patched.setattr(merge, "step_runs", lambda runs, n_steps: runs)
        assert closest(found | {"runs": {"counts": []}}, None).iloc[0] == "bad speculation"
        patched.setattr(topdown, "choose_table", lambda events, known: None)
        assert closest(found | {"runs": {"counts": []}}, None) == ""


def test_every_event_is_in_one_cluster_but_those_that_are_the_target_or_hardly_happen(found, matrix):
    assert sorted(found["members"]["event"]) == sorted(set(matrix.X) - {"ex_no_retire.all", "rare"})
    assert found["members"].groupby("cluster")["weight"].sum().round(6).eq(100).all()
    assert found["table"]["importance"].sum() == pytest.approx(100)
    assert found["table"]["importance"].is_monotonic_decreasing and found["table"]["name"].is_unique


def test_cycles_are_those_of_the_data_and_signed(found, matrix):
    for row in found["table"].itertuples():
        if not row.cycles_event:
            assert np.isnan(row.cycles_per_kilo_instruction)
            continue
        assert row.cycles_event in members_of(found, row.Index)
        count, cpi = matrix.X[row.cycles_event], 1000 / matrix.ipc
        most, least = count >= count.quantile(0.9), count <= count.quantile(0.1)
        assert row.cycles_per_kilo_instruction == pytest.approx(cpi[most].mean() - cpi[least].mean())
        assert row.cycles_low <= row.cycles_high
    assert found["table"].at[1, "cycles_low"] > 0 and found["table"].at[1, "direction"] == "more"


def test_an_event_with_fewer_cycles_where_there_is_more_of_it_costs_nothing():
    """As L1D misses of a network function that polls: fewer where it is busy."""
    X = pd.DataFrame({"ex_ret_brn_misp": 0.01 * (planted(0)[0]["a0"] + 10)})
    cpi = 2.0 - 0.1 * (X["ex_ret_brn_misp"] - 0.1) * 100
    table = explain(study.Matrix(X, 1 / cpi, None))["table"]
    assert table.at[1, "cycles_high"] < 0 and table.at[1, "direction"] == "fewer"


def test_a_hit_gets_no_cycles_and_what_costs_beside_it_does():
    path = planted(0)[0]["a0"] + 10
    hits = pd.DataFrame({"op_cache_hit_miss.op_cache_hit": path})
    both = hits.assign(ex_ret_brn_misp=0.01 * path + 1e-4 * np.sin(np.arange(len(path))))
    costs, leading = topdown.read_costs("amd_zen5"), []
    for X in (hits, both):
        data = study.Matrix(X, 1 / (1 + 0.05 * path), None)
        table = explain(data, costs=costs)["table"]
        assert table["cycles_per_kilo_instruction"].notna().eq(table["cycles_event"] != "").all()
        leading += [set(table["cycles_event"])]
    assert leading[0] == {""} and "ex_ret_brn_misp" in leading[1]


def test_nothing_costs_more_than_its_latency():
    """Misses that are too few for the cycles that go along with them."""
    path = planted(0)[0]["a0"] + 10
    few, costs = pd.DataFrame({"ex_ret_brn_misp": 1e-6 * path}), topdown.read_costs("amd_zen5")
    data = study.Matrix(few, 1 / (1 + 0.05 * path), None)
    table = explain(data, costs=costs)["table"]
    more = 1000 * few["ex_ret_brn_misp"].quantile([0.1, 0.9]).diff().iloc[-1]
    assert table.at[1, "cycles_at_most"] == pytest.approx(56 * more, rel=0.3)
    assert table.at[1, "cycles_per_kilo_instruction"] > table.at[1, "cycles_at_most"]


@pytest.mark.slow
@pytest.mark.skipif("CMLIB_PUBLIC" not in os.environ, reason="takes the folder CMLIB_PUBLIC")
def test_no_signed_figure_contradicts_the_data_of_others():
    """What is said to go with more cycles does so, by rank correlation, in every recording of others."""
    for name, data in public_matrices():
        table = explain(data, events.general_events())["table"]
        along = data.X.rank().corrwith((1 / data.ipc).rank())
        for row in table[table["direction"] != ""].itertuples():
            more = along[row.first] > 0
            assert more == (row.direction == "more"), (name, row.name)


def public_matrices():
    """Recordings of network functions and of CloudSuite as matrices of events per instruction."""
    folder = Path(os.environ["CMLIB_PUBLIC"])
    files = [*folder.glob("intervals/nfv-haswell/*vnfs*"), *folder.glob("wide/cloudsuite/*caching*")]
    for file in sorted(files):
        for counts, _ in perf.read_runs(decompress(file.read_bytes(), file).decode("latin-1")):
            counts = counts.rename(columns={"cpu-cycles": "cycles"})
            counts = counts.interpolate(limit_direction="both").iloc[::2]
            X = counts.drop(columns=["instructions", "cycles"]).div(counts["instructions"], axis=0)
            ipc = counts["instructions"] / counts["cycles"]
            finite = np.isfinite(ipc) & np.isfinite(X).all(axis=1) & (ipc > 0)
            yield file.name, study.Matrix(X[finite], ipc[finite], None)


def test_errors_stand_beside_the_means_and_overlap_beside_that_of_shuffled_members(found, matrix):
    X, cpi, kinds = usable_events(matrix, events.table())
    kind = kinds["kind"]
    fold = blocks(X.index, 12) % 4
    here, there = JUDGED["errors_held_out"](X, cpi, kind, fold), JUDGED["errors_elsewhere"](matrix)
    assert all(errors["linear"] < errors["mean"] / 4 for errors in (found["errors"], here, there))
    assert found["errors"] == pytest.approx({model: here[model] for model in ("linear", "mean", "one event")})
    judged = JUDGED["stability"](X, cpi, kind, fold)
    assert judged["clusters"] == len(found["table"])
    assert 0 <= judged["overlap, members shuffled"] <= 1 and 0 <= judged["overlap"] <= 1


def test_a_cluster_of_more_than_a_dozen_events_is_named_by_kind_and_number(matrix):
    rng = np.random.default_rng(1)
    path = wander(rng, 100)
    table = events.table()
    many = [name for name in table.index if name.startswith("ls_any_fills_from_sys")]
    many += [name for name in table.index if name.startswith("ls_dmnd_fills_from_sys")]
    X = pd.DataFrame({name: 10 + path + rng.normal(0, 0.1, 100) for name in many}, matrix.X.index)
    found = explain(study.Matrix(X, pd.Series(1 / (20 + path), X.index), None))
    assert len(many) > 12 and found["table"]["name"].tolist() == [f"data supply, {len(many)} events"]


def test_one_event_is_one_cluster(matrix):
    one = explain(study.Matrix(matrix.X[["ex_ret_brn_misp"]], matrix.ipc, None))
    assert one["members"]["event"].tolist() == ["ex_ret_brn_misp"] and len(one["table"]) == 1


def test_too_few_steps_and_events_that_stand_still_are_refused(matrix):
    short = study.Matrix(matrix.X.iloc[:19], matrix.ipc.iloc[:19], None)
    still = study.Matrix(matrix.X[["rare"]] * 0, matrix.ipc, None)
    for data in (short, still):
        with pytest.raises(UnfitRecordingError, match="few|no event varies"):
            usable_events(data, events.table())


@pytest.mark.parametrize("name", [name for name in events.known_tables() if events.is_handwritten(name)])
def test_events_of_every_table_have_a_kind(name):
    table = events.read_table(places.shipped("events") / f"{name}.csv")
    kinds = events.kinds(table.index, table)
    assert list(kinds.index) == list(table.index)
    assert set(kinds["class"]) <= {"stall", "miss", "mix", "other", "target"}
    assert (kinds["class"] == "other").mean() < 0.03
    assert kinds["kind"].nunique() >= 6
    branches = table["description"].str.contains("mispredicted branches|that were mispredicted", case=False)
    assert kinds.loc[branches, "kind"].eq("bad speculation").all()
