"""Fusing runs against its definition and its laws, and the columns that must stay out."""

import gzip
import json

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib import merge, places
from cmlib.io import perf
from cmlib.rank.leaks import is_named_leak
from tests.naive import fusion as naive
from tests.notebook_functions import functions_of

PINNED = ["instructions", "cycles"]
scale_to_unit = functions_of("merging_runs")["scale_to_unit"]


@st.composite
def one_run(draw, events=("branches", "misses", "fills"), least=2):
    n = draw(st.integers(least, 12))
    counted = draw(st.lists(st.sampled_from(events), min_size=1, unique=True))
    values = {event: draw(st.lists(st.integers(0, 10**6), min_size=n, max_size=n)) for event in counted}
    for event in PINNED:
        values[event] = draw(st.lists(st.integers(10**6, 2 * 10**6), min_size=n, max_size=n))
    index = pd.Index(np.arange(1, n + 1) * 0.1, name="time_s")
    return pd.DataFrame(values, index=index, dtype=float)


@st.composite
def several_runs(draw):
    runs = draw(st.lists(one_run(), min_size=1, max_size=4))
    work = runs[0]["instructions"].sum()
    return [run.assign(instructions=run["instructions"] * work / run["instructions"].sum()) for run in runs]


def made_run(n=40, seed=0, **columns):
    rng = np.random.default_rng(seed)
    cycles = rng.uniform(1e6, 2e6, n)
    values = {"instructions": cycles * rng.uniform(0.5, 3.0, n), "cycles": cycles, **columns}
    return pd.DataFrame(values, index=pd.Index(np.arange(1, n + 1) * 0.1, name="time_s"))


def recorded(program, run):
    folder = places.recordings_dir() / program
    meta = json.loads((folder / f"{run}.json").read_text(encoding="utf-8"))
    with gzip.open(folder / f"{run}.csv.gz", "rt", encoding="utf-8") as file:
        counts, _ = perf.series(perf.parse_stat(file.read()))
    assert meta["run"] == run
    return counts.mask(counts > 1e12).interpolate(limit_direction="both")


@given(several_runs())
def test_stacking_is_its_definition(runs):
    X, ipc = merge.stack_runs(runs)
    rows, ipcs = naive.stack(runs, leave_out=PINNED)
    npt.assert_allclose(X.to_numpy(), pd.DataFrame(rows)[list(X)].to_numpy())
    npt.assert_allclose(ipc, ipcs)
    assert list(X.index.names) == ["run", "progress"]
    assert X.index.get_level_values("progress").to_series().between(0, 1).all()


@given(several_runs(), st.integers(2, 15))
def test_aligning_is_its_definition(runs, n_steps):
    X, ipc = merge.align_runs(runs, n_steps)
    rates, ipcs = naive.align(runs, n_steps, leave_out=PINNED)
    assert set(X) == set(rates)
    for event in X:
        npt.assert_allclose(X[event], rates[event], rtol=1e-7, atol=1e-12)
    npt.assert_allclose(ipc, ipcs, rtol=1e-9)


@given(one_run(), st.integers(2, 15))
def test_aligning_loses_no_count(run, n_steps):
    X, _ = merge.align_runs([run], n_steps, per=None)
    npt.assert_allclose(X.sum(), run[list(X)].sum())


@given(several_runs(), st.integers(2, 15))
def test_steps_are_the_counts_between_equal_shares(runs, n_steps):
    for run, steps in zip(runs, merge.step_runs(runs, n_steps), strict=True):
        for event in run:
            edges = np.linspace(0, 1, n_steps + 1)
            expected = [
                naive.counts_between(run, event, a, b) for a, b in zip(edges[:-1], edges[1:], strict=True)
            ]
            npt.assert_allclose(steps[event], expected, rtol=1e-7, atol=1e-6)


@given(several_runs())
def test_counts_can_be_divided_by_any_column_that_all_runs_have(runs):
    with_time = [run.assign(seconds=0.1) for run in runs]
    X, _ = merge.stack_runs(with_time, per="seconds", leave_out=["seconds"])
    counts, _ = merge.stack_runs(runs)
    npt.assert_allclose(X[list(counts)], counts / 0.1)


@given(one_run(), st.integers(2, 15))
def test_shorter_intervals_of_the_same_run_change_nothing(run, n_steps):
    halved = run.loc[run.index.repeat(2)] / 2
    X, ipc = merge.align_runs([run], n_steps)
    finer, finer_ipc = merge.align_runs([halved.set_axis(np.arange(len(halved)))], n_steps)
    npt.assert_allclose(finer, X, rtol=1e-9, atol=1e-15)
    npt.assert_allclose(finer_ipc, ipc, rtol=1e-9)


@given(several_runs(), st.sampled_from([0.001, 3.0, 1e4]))
def test_the_unit_of_an_event_scales_its_column_only(runs, factor):
    event = next(event for event in runs[0] if event not in PINNED)
    scaled = [run.assign(**{event: run[event] * factor}) if event in run else run for run in runs]
    X, ipc = merge.align_runs(runs)
    Y, same = merge.align_runs(scaled)
    npt.assert_allclose(Y[event], X[event] * factor)
    pd.testing.assert_frame_equal(Y.drop(columns=event), X.drop(columns=event))
    pd.testing.assert_series_equal(same, ipc)


def test_runs_are_left_as_they_were():
    run = made_run(branches=np.arange(40.0), never=np.nan)
    before = run.copy()
    merge.stack_runs([run])
    merge.align_runs([run])
    pd.testing.assert_frame_equal(run, before)


def test_an_event_of_two_runs_is_one_column():
    runs = [made_run(4, a=[1.0] * 4, b=[2.0] * 4), made_run(4, 1, b=[3.0] * 4, c=[4.0] * 4)]
    X, _ = merge.stack_runs(runs)
    assert X["b"].tolist() == [2] * 4 + [3] * 4 and X["a"].tolist() == [1] * 4 + [0] * 4
    assert list(merge.align_runs(runs)[0]) == ["a", "b", "c"]


def test_rows_are_no_more_than_intervals_unless_asked():
    runs = [made_run(30, a=np.ones(30)), made_run(50, 1, b=np.ones(50))]
    assert len(merge.align_runs(runs)[0]) == 30
    assert len(merge.align_runs(runs, 100)[0]) == 100
    assert len(merge.align_runs([made_run(900, a=np.ones(900))])[0]) == 200


def test_intervals_in_which_nothing_ran_are_left_out():
    run = made_run(6, a=[1.0, 2, np.nan, 4, 5, 6])
    run.loc[run.index[2], PINNED] = [0, np.nan]
    assert merge.stack_runs([run])[0]["a"].tolist() == [1, 2, 4, 5, 6]


def test_counts_per_instruction():
    run = made_run(a=np.arange(40.0))
    by_instruction, _ = merge.stack_runs([run], per="instructions")
    npt.assert_allclose(by_instruction["a"], run["a"] / run["instructions"])


def test_passes_share_steps_and_events():
    runs = [made_run(30, 0, a=np.ones(30)), made_run(35, 1, b=np.ones(35))]
    runs += [made_run(25, 2, b=np.ones(25)), made_run(40, 3, c=np.ones(40))]
    passes = merge.align_passes(runs, ["first", "first", "second", "second"])
    assert list(passes) == ["first", "second"]
    for X, ipc in passes.values():
        assert list(X) == ["b"] and len(X) == len(ipc) == 25
    with pytest.raises(ValueError, match="no event was counted in every pass"):
        merge.align_passes([runs[0], runs[3]], [0, 1])


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([], "no runs"),
        ([made_run(1, a=[1.0])], "run 0 has 1 interval"),
        ([made_run(5, a=[1.0, np.nan, 3, 4, 5])], "'a' has no count in 1 of 5 intervals"),
        ([made_run(5).drop(columns="cycles")], "run 0 has no column cycles"),
        ([made_run(40, a=np.ones(40)), made_run(10, b=np.ones(10))], "cut off"),
    ],
)
def test_what_cannot_be_fused_is_named(runs, message):
    with pytest.raises(ValueError, match=message):
        merge.align_runs(runs)


def test_unknown_options_are_named():
    run = made_run(a=np.ones(40))
    with pytest.raises(ValueError, match="per is 'second'"):
        merge.stack_runs([run], per="second")
    with pytest.raises(ValueError, match="at least 2 steps"):
        merge.align_runs([run], 0)


@given(several_runs())
def test_scaling_to_unit_is_its_definition(runs):
    X, _ = merge.stack_runs(runs)
    scaled = scale_to_unit(X)
    for event in X:
        npt.assert_allclose(scaled[event], naive.scale_to_unit(X[event].tolist()))


def find_leaks(runs, tolerance=0.005, n_blocks=20):
    """Events that give IPC away, by measuring how much of its variation is left beside theirs."""
    left = pd.DataFrame(
        [row for run in runs for row in _shares_left(run, n_blocks)], columns=["event", "reference", "left"]
    )
    median = left.groupby(["event", "reference"], sort=False)["left"].median().unstack()
    frame = pd.DataFrame(
        {
            "reference": median.fillna(np.inf).idxmin(axis=1),
            "left": median.min(axis=1),
            "named": [is_named_leak(event) for event in median.index],
        },
        index=median.index,
    )
    frame["leak"] = frame["named"] | (frame["left"] < tolerance)
    return frame.sort_values("left", kind="stable")


def _shares_left(run, n_blocks):
    block = np.arange(len(run)) * n_blocks // max(len(run), 1)
    totals = run.groupby(block).sum(min_count=1)
    logs = np.log(totals.where(totals > 0))
    spread = (logs["instructions"] - logs["cycles"]).var()
    for event in run.columns.drop(["instructions", "cycles"]):
        for reference in ("instructions", "cycles"):
            difference = logs[event] - logs[reference]
            comparable = spread > 0 and difference.notna().all()
            yield event, reference, difference.var() / spread if comparable else np.nan


def test_no_fused_column_gives_ipc_away():
    runs = [recorded("gcc", "ocoe-p0-00"), *(recorded("gcc", f"sweep-p0-{part:02d}") for part in range(3))]
    runs[0] = runs[0].assign(ls_not_halted_cyc=runs[0]["cycles"], ex_ret_instr=runs[0]["instructions"])
    found = find_leaks(runs)
    leaking = set(found.index[found["leak"]])
    assert {"ls_not_halted_cyc", "ex_ret_instr"} <= leaking
    for X, _ in (merge.align_runs(runs), merge.stack_runs(runs)):
        assert X.shape[1] > 30 and not set(X) & (leaking | set(PINNED))


def test_leaks_are_found_by_measuring():
    rng = np.random.default_rng(3)
    run = made_run(200)
    noise = rng.normal(1, 0.002, (2, 200))
    run = run.assign(
        clock=0.37 * run["cycles"] * noise[0],
        retired=1.4 * run["instructions"] * noise[1],
        branches=run["instructions"] * rng.uniform(0.1, 0.3, 200),
        constant=1000.0,
        seldom=np.where(np.arange(200) < 3, 1.0, 0.0),
    )
    found = find_leaks([run])
    assert set(found.index[found["leak"]]) == {"clock", "retired"}
    assert found.loc["clock", "reference"] == "cycles" and found.loc["retired", "reference"] == "instructions"
    assert np.isnan(found.loc["seldom", "left"])
    kept, _ = merge.stack_runs([run], leave_out=found.index[found["leak"]])
    assert set(kept) == {"branches", "constant", "seldom"}


@pytest.mark.parametrize(
    "event", ["cycles", "instructions", "ex_ret_ops", "INST_RETIRED.PREC_DIST", "task-clock"]
)
def test_names_that_leak(event):
    assert is_named_leak(event)


@pytest.mark.parametrize(
    "event", ["ex_ret_brn", "uops_retired.stall_cycles", "ls_dispatch.all", "cycle_activity.x"]
)
def test_names_that_do_not_leak(event):
    assert not is_named_leak(event)
