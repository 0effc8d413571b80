"""What the study says of a program's families of events, and of what the events count."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cmlib import events, study
from cmlib.errors import UnfitRecordingError
from tests.test_families import planted

# Real names in place of the planted ones, so that kinds, topics and directions are told.
MISPREDICTED = [
    "ex_ret_brn_misp",
    "ex_ret_brn_tkn_misp",
    "ex_ret_msprd_brnch_instr_dir_msmtch",
    "bp_redirects.ex_redir",
]
WALKS = ["ls_l1_d_tlb_miss.all", "ls_l1_d_tlb_miss.all_l2_miss", "ls_l1_d_tlb_miss.tlb_reload_4k_l2_miss"]
BRANCHES = ["ex_ret_brn", "ex_ret_cond", "ex_ret_brn_tkn", "ex_ret_near_ret"]


@pytest.fixture(scope="module")
def matrix():
    X, cpi = planted(0)
    X = X.rename(columns=dict(zip(X.columns, [*MISPREDICTED, *WALKS, *BRANCHES], strict=False)))
    X = 0.01 * (X + 10).assign(**{"ex_no_retire.all": cpi.to_numpy(), "rare": [0.0] * 99 + [1.0]})
    other = X * np.random.default_rng(0).normal(1, 0.002, X.shape)
    return study.Matrix(X, 1 / cpi, (other, 1 / cpi))


@pytest.fixture(scope="module")
def found(matrix, tmp_path_factory):
    cpi = 1 / matrix.ipc
    cycles = pd.DataFrame(
        {"bad speculation": cpi - cpi.min(), "retired": 0.1 * np.sin(np.arange(100.0))}, cpi.index
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CMLIB_RESULTS", str(tmp_path_factory.mktemp("results")))
        yield study.explain(matrix, events.table(), cycles=cycles, n_models=6)


def test_the_planted_families_are_named_by_what_they_count(found):
    first, second = (found.table.iloc[place] for place in range(2))
    assert (
        first["name"].startswith("mispredicted branches") and second["name"] == "page walks and DTLB misses"
    )
    assert set(first["members"].split("; ")) == set(MISPREDICTED)
    assert set(second["members"].split("; ")) == set(WALKS)
    assert (first["kind"], first["class"], first["direction"]) == ("bad speculation", "miss", "more")
    assert first["category"] == "bad speculation" and first["category_r"] > 0.8


def test_cycles_between_quiet_and_busy_steps_are_those_planted(found, matrix):
    path = (planted(0)[0][["a0", "a1", "a2", "a3"]]).mean(axis=1)
    expected = 1000 * 0.3 * (path.quantile(0.9) - path.quantile(0.1))
    row = found.table.iloc[0]
    assert row["cycles_low"] <= row["cycles_per_kilo_instruction"] <= row["cycles_high"]
    assert row["cycles_per_kilo_instruction"] == pytest.approx(expected, rel=0.1)


def test_every_event_is_in_one_family_but_those_that_are_the_target_or_hardly_happen(found, matrix):
    assert sorted(found.members["event"]) == sorted(set(matrix.X) - {"ex_no_retire.all", "rare"})
    assert found.table["n_events"].sum() == len(found.members)
    assert found.members.groupby("family")["weight"].sum().round(6).eq(100).all()
    assert found.table["importance"].sum() == pytest.approx(100)
    assert found.table["importance"].is_monotonic_decreasing and found.table["name"].is_unique


def test_ways_errors_and_passes_stand_beside_each_other(found):
    assert set(study.first_by_ways(found).values()) == {found.table["name"].iloc[0]}
    errors = found.errors.set_index("test")
    assert list(errors.index) == ["held-out blocks", "another pass"]
    assert errors.at["held-out blocks", "families"] < errors.at["held-out blocks", "single events"]
    assert (errors["families"] < errors["mean"] / 4).all()
    judged = study.judge_families({"p": found}, {"p": found}).iloc[0]
    assert judged["overlap"] >= judged["random rankings"]
    assert judged["error, families"] == errors.at["held-out blocks", "families"]
    assert 0 < judged["core events: between passes"] <= 1


def test_the_account_agrees_where_its_largest_category_goes_with_the_first_family(found):
    row = study.compare_with_account({"p": found}).iloc[0]
    assert row["agree"] and row["goes with"] == row["largest"] == "bad speculation"
    without = replace(found, categories=found.categories.iloc[:0])
    assert study.compare_with_account({"p": without}).empty


def test_sentences_name_the_family_the_cycles_and_how_sure_that_is(found):
    said, limit = study.say_families(found), study.say_limit(found)
    name, cycles = found.table.loc[0, ["name", "cycles_per_kilo_instruction"]]
    assert name in said and "two resampled models share" in said and "another pass" in said
    assert f"**{name}**: {cycles:.0f} cycles per 1,000 instructions" in limit
    mix = replace(found, table=found.table.assign(**{"class": "mix"}))
    assert study.say_limit(mix) == ""


def test_one_event_is_one_family_without_an_account(matrix):
    X = matrix.X[["ex_ret_brn_misp"]]
    one = study.explain(study.Matrix(X, matrix.ipc, None), events.table(), n_models=4)
    assert one.table["members"].tolist() == ["ex_ret_brn_misp"] and one.table["category"].tolist() == [""]
    assert one.stability["overlap"].tolist() == [1.0]


def test_too_few_steps_and_events_that_stand_still_are_refused(matrix):
    short = study.Matrix(matrix.X.iloc[:19], matrix.ipc.iloc[:19], None)
    with pytest.raises(UnfitRecordingError, match="19 steps"):
        study.explain(short, events.table())
    still = study.Matrix(matrix.X[["rare"]] * 0, matrix.ipc, None)
    with pytest.raises(UnfitRecordingError, match="no event varies"):
        study.explain(still, events.table())


@pytest.mark.parametrize("name", events.known_tables())
def test_events_of_every_table_are_told_by_kind(name):
    table = events.table(name)
    kinds = events.kinds(table.index, table)
    assert list(kinds.index) == list(table.index)
    assert set(kinds["class"]) <= {"stall", "miss", "mix", "other", "target"}
    assert (kinds["class"] == "other").mean() < 0.03
    assert kinds["kind"].nunique() >= 6
    branches = table["description"].str.contains("mispredicted branches|that were mispredicted", case=False)
    assert kinds.loc[branches, "kind"].eq("bad speculation").all()
