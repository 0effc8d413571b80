"""Anomalies planted in synthetic counters, and good runs that must not be found."""

from copy import copy

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.ensemble import IsolationForest

from cmlib.anomaly import AutoPerf
from cmlib.anomaly import clusters as clustering
from cmlib.anomaly.autoencoder import Autoencoder, PrincipalComponents
from cmlib.anomaly.detector import p_value_of_distance, vote
from cmlib.compare.counters import compare_runs, compare_versions, count_needed_runs, list_obstacles
from tests.naive import anomaly as naive
from tests.notebook_functions import functions_of
from tests.planted_regions import CONTENTION, planted_run

SMALL = Autoencoder(topologies=[(8, 4)], n_starts=1, epochs=50)
# 0.0001 lines an instruction cost 0.006 of about 0.5 cycles.
SLIGHT, CLEAR = 0.0002, 0.003


def good_runs(rng, n=20, **more):
    return [planted_run(rng, **more) for _ in range(n)]


@pytest.fixture(scope="module")
def detectors():
    """Ten recordings of the same version, each learned."""
    return [
        AutoPerf(autoencoder=SMALL, random_state=0).fit(good_runs(np.random.default_rng(seed)))
        for seed in range(10)
    ]


@pytest.mark.slow
def test_false_alarms_per_run_are_at_most_two_percent(detectors):
    rng = np.random.default_rng(1000)
    alarms = [detector.predict_runs(good_runs(rng, 12)) for detector in detectors]
    assert np.mean(alarms) <= 0.02


@pytest.mark.slow
def test_false_alarms_between_recordings_of_one_version_are_at_most_two_percent(detectors):
    rng = np.random.default_rng(2000)
    alarms = [
        compare_runs(detector, good_runs(rng, 3)).anomalous for detector in detectors for _ in range(11)
    ]
    assert len(alarms) >= 100
    assert np.mean(alarms) <= 0.02


@pytest.mark.slow
def test_contention_is_found_in_a_single_run_with_its_cause(detectors):
    rng = np.random.default_rng(3)
    for detector in detectors:
        run = planted_run(rng, severity=CLEAR)
        assert detector.predict(run)
        causes = detector.causes(run)
        assert CONTENTION in list(causes["counter"][:2])
        assert causes["share"].sum() == pytest.approx(1)
        assert causes["location"].iloc[0] == "synthetic.c:10"
        assert causes.set_index("counter").loc[CONTENTION, "times_usual"] > 10


@pytest.mark.slow
def test_slight_contention_is_found_over_several_runs(detectors):
    rng = np.random.default_rng(4)
    verdicts = [compare_runs(detector, good_runs(rng, 8, severity=SLIGHT)) for detector in detectors]
    assert all(verdict.anomalous and verdict.p_value <= 0.01 for verdict in verdicts)
    assert all(CONTENTION in list(verdict.causes["counter"][:2]) for verdict in verdicts)


def test_by_any_sample_good_runs_are_found_the_more_samples_they_have(detectors):
    rng = np.random.default_rng(5)
    alarms = {}
    for n_samples in (20, 200):
        runs = good_runs(rng, 12, n_samples=n_samples)
        for rule in ("any", "distance"):
            ruled = [copy(detector).set_params(rule=rule) for detector in detectors[:5]]
            alarms[rule, n_samples] = np.mean([one.predict_runs(runs) for one in ruled])
    assert alarms["any", 200] > 0.3 > alarms["any", 20] > 0.1
    assert alarms["distance", 20] <= 0.02 and alarms["distance", 200] < alarms["any", 200] / 5


def test_good_runs_that_are_not_learned_say_how_far_is_too_far(detectors):
    learned, more = good_runs(np.random.default_rng(0)), good_runs(np.random.default_rng(17))
    detector = AutoPerf(autoencoder=SMALL, random_state=0).fit(learned, others=more)
    pd.testing.assert_frame_equal(detector.held_out_, detector.summarize(more))
    # What was learned is the same without them.
    assert detector.models_[0].threshold == detectors[0].models_[0].threshold
    assert detector.predict(planted_run(np.random.default_rng(3), severity=CLEAR))


def test_only_the_bad_function_is_named():
    functions = ("synthetic_a", "synthetic_b", "synthetic_c")
    rng = np.random.default_rng(6)
    good = good_runs(rng, 20, functions=functions, n_samples=10)
    new = good_runs(rng, 8, functions=functions, bad=["synthetic_b"], n_samples=10, severity=CLEAR)
    verdict = compare_versions(good, new, detector=AutoPerf(autoencoder=SMALL, random_state=1))
    found = verdict.functions
    assert verdict.anomalous and list(found["function"][found["anomalous"]]) == ["synthetic_b"]
    assert found["new_exceeding"][0] > 0.9 > 0.3 > found["good_exceeding"].max()
    assert set(verdict.causes["location"]) == {"synthetic.c:20"}


@pytest.mark.slow
def test_held_out_runs_stray_no_less_than_learned_ones(detectors):
    for seed, detector in enumerate(detectors):
        learned = detector.summarize(good_runs(np.random.default_rng(seed)))
        assert detector.held_out_["distance_p50"].mean() >= learned["distance_p50"].mean()
        npt.assert_array_equal(detector.held_out_["run"], range(20))
        assert detector.history_["false_positive_rate"].iloc[0] == pytest.approx(
            learned["exceeding"].sum() / 400
        )


def test_order_of_columns_runs_in_a_run_and_unit_do_not_matter(detectors):
    detector, run = detectors[0], planted_run(np.random.default_rng(7), severity=CLEAR)
    shuffled = run.sample(frac=1, random_state=0)[[*reversed(run.columns)]]
    pd.testing.assert_frame_equal(detector.p_values_of([shuffled]), detector.p_values_of([run]))
    pd.testing.assert_frame_equal(detector.causes(shuffled), detector.causes(run))


def test_the_same_seed_gives_the_same_detector(detectors):
    again = AutoPerf(autoencoder=SMALL, random_state=0).fit(good_runs(np.random.default_rng(0)))
    pd.testing.assert_frame_equal(again.held_out_, detectors[0].held_out_)


def test_unusable_runs_are_refused_with_the_reason(detectors):
    run = planted_run(np.random.default_rng(9))
    detector = detectors[0]
    for wrong, reason in [
        (run.drop(columns=CONTENTION), "same events"),
        (run.assign(function="elsewhere"), "callers"),
        (run.assign(cycles=np.nan), "not counted"),
        (run.iloc[:0], "empty"),
    ]:
        with pytest.raises(ValueError, match=reason):
            detector.predict(wrong)
    with pytest.raises(ValueError, match="at least 2"):
        AutoPerf().fit([run])
    with pytest.raises(ValueError, match="'distance' or 'any'"):
        AutoPerf(rule="most").fit([run, run])


def test_what_cannot_be_compared_is_refused():
    rng = np.random.default_rng(10)
    good, new = good_runs(rng, 10), good_runs(rng, 4)

    def reasons(*runs):
        verdict = compare_versions(*runs, detector=AutoPerf(autoencoder=SMALL))
        assert verdict.anomalous is None or not verdict.refused
        return "; ".join(verdict.refused)

    here, there = {"model_name": "one", "processors": 2}, {"model_name": "other", "processors": 2}
    (refused,) = list_obstacles(good, new, good_machine=here, new_machine=there)
    assert "model_name one and other" in refused
    assert not list_obstacles(good, new, good_machine=here, new_machine={**here, "load_1min": 3.0})
    assert CONTENTION in reasons(good, [run.drop(columns=CONTENTION) for run in new])
    assert "at least 5" in reasons(good[:4], new)
    assert "callers" in reasons(good, [run.assign(function="added") for run in new])
    needed = count_needed_runs(10, 1, 0.01)
    assert f"at least {needed} new runs" in reasons(good, new[: needed - 1])


@given(st.integers(5, 100), st.integers(1, 20))
def test_fewest_runs_could_just_be_significant(n_good, n_functions):
    m = count_needed_runs(n_good, n_functions, 0.01)
    p_values = [1 / stats.hypergeom(n_good + k, k, k).pmf(k) ** -1 * 2 * n_functions for k in (m, m - 1) if k]
    assert p_values[0] <= 0.01 and all(chance > 0.01 for chance in p_values[1:])


def test_chance_of_distance_keeps_its_promise():
    rng = np.random.default_rng(11)
    p_values = [p_value_of_distance(x[0], x[1:]) for x in rng.exponential(size=(4000, 21))]
    for alpha in (0.1, 0.02, 0.005):
        assert np.mean(np.array(p_values) <= alpha) == pytest.approx(alpha, abs=3.5 * (alpha / 4000) ** 0.5)
    normal = [p_value_of_distance(x[0], x[1:]) for x in rng.normal(size=(4000, 21))]
    assert np.mean(np.array(normal) <= 0.01) <= 0.01
    assert p_value_of_distance(0.0, [0.0, 1.0]) == 1.0


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=20), st.floats(-5, 10), st.floats(0.1, 3))
def test_a_longer_way_off_is_never_likelier(good, distance, step):
    assert p_value_of_distance(distance + step, good) <= p_value_of_distance(distance, good)


@pytest.mark.parametrize("notebook", ["06_anomaly_detection", "spectre"])
@given(st.lists(st.integers(0, 1000), min_size=3, max_size=30, unique=True), st.integers(0, 2000))
def test_the_formula_of_the_notebooks_is_the_library_s(notebook, good, distance):
    printed = functions_of(notebook)["p"](distance / 7, pd.Series(good) / 7)
    assert printed == pytest.approx(p_value_of_distance(distance / 7, np.array(good) / 7))


@given(st.integers(1, 12), st.integers(0, 10**6))
def test_vote_is_its_definition(n_samples, seed):
    rankings = np.array([np.random.default_rng(seed + i).permutation(5) for i in range(n_samples)])
    assert list(vote(rankings)) == naive.majority([list(row) for row in rankings])


def test_the_papers_example_of_a_vote():
    assert list(vote(np.array([[2, 1, 0], [1, 2, 0], [2, 1, 0]]))) == [2, 1, 0]


def test_functions_cluster_by_what_they_do():
    rng = np.random.default_rng(12)
    centres = {"a": 0.0, "b": 0.1, "c": 5.0, "d": 5.1}
    functions = np.repeat(list(centres), 25)
    samples = rng.normal([[centres[f]] * 4 for f in functions], 0.1)
    clusters = clustering.cluster_functions(samples, functions, 2)
    assert clusters["a"] == clusters["b"] != clusters["c"] == clusters["d"]
    assert set(clustering.cluster_functions(samples, functions, 1).values()) == {0}


def test_clusters_are_raised_until_false_positives_stop_falling(monkeypatch):
    beyond = {1: 12, 2: 8, 3: 8}  # of 40 samples, by the number of clusters
    values = np.repeat(np.arange(4.0)[:, None], 10, axis=0) + np.linspace(0, 0.1, 40)[:, None]
    functions = pd.MultiIndex.from_arrays(
        [np.zeros(40), np.repeat(list("abcd"), 10)], names=["run", "function"]
    )
    samples = pd.DataFrame(values, functions)
    monkeypatch.setattr(
        clustering, "fit_clusters", lambda samples, clusters, model: len(set(clusters.values()))
    )
    monkeypatch.setattr(clustering, "distances", lambda samples, clusters, k: 2 * (np.arange(40) < beyond[k]))
    clusters, models, history = clustering.select_n_clusters(samples, None, max_clusters=10)
    assert models == 2 and len(set(clusters.values())) == 2
    assert list(history["k"]) == [1, 2, 3] and list(history["false_positive_rate"]) == [0.3, 0.2, 0.2]
    assert len(clustering.select_n_clusters(samples, None, max_clusters=1)[2]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("other", [PrincipalComponents(), IsolationForest()])
def test_baselines_decide_as_autoperf_does(other):
    rng = np.random.default_rng(13)
    model = AutoPerf(autoencoder=other, random_state=0, alpha=0.02).fit(good_runs(rng, 15, spread=0.3))
    assert model.predict(planted_run(rng, severity=0.02, spread=0.3))
    assert sum(model.predict_runs(good_runs(rng, 20, spread=0.3))) <= 2


def test_principal_components_name_the_counter():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)) + rng.normal(0, 0.01, (200, 6))
    model = PrincipalComponents().fit(X)
    odd = X[:5].copy()
    odd[:, 3] += 5
    assert (model.score_samples(odd) < model.score_samples(X).min()).all()
