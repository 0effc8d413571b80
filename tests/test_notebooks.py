"""The smoke profile's notebooks, run as a user runs them, with their numbers checked.

Some are checked in modules of their own.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest

from cmlib import places
from cmlib.io import public
from cmlib.io.archive import programs as archive
from cmlib.io.meaning.stored import read_stored
from cmlib.report.reproduction import read_items


def numbers(smoke, notebook):
    manifest = json.loads((smoke / notebook / "manifest.json").read_text(encoding="utf-8"))
    return {number["name"]: number["value"] for number in manifest["numbers"]}


def test_the_page_of_a_notebook_links_to_every_figure_and_table(smoke):
    made = [f for f in smoke.glob("*/*") if f.suffix in {".svg", ".png", ".csv", ".parquet", ".ipynb"}]
    assert len(made) > 40
    for file in made:
        page = (file.parent / f"{file.parent.name}.html").read_text(encoding="utf-8")
        assert f'href="{file.name}"' in page, file


def test_every_page_of_a_document_is_linked_from_a_notebook_or_another_document(smoke):
    pages = {file: file.read_text(encoding="utf-8") for file in smoke.glob("*/*.html")}
    documents = [file for file in pages if file.parent.name == "docs"]
    assert documents
    for document in documents:
        link = re.compile(rf'href="(?:\.\./docs/)?{re.escape(document.name)}[#"]')
        assert any(link.search(text) for file, text in pages.items() if file != document), document.name


def test_collection_sees_the_committed_recordings(smoke):
    found = numbers(smoke, "01_collection")
    assert found["runs in the store"] == 29
    assert found["sums measured in one group"] >= 5
    sums = pd.read_csv(smoke / "01_collection/sums.csv")
    assert (sums.loc[sums["same group"] == "yes", "difference [%]"].abs() < 1e-3).all()
    modes = pd.read_csv(smoke / "01_collection/modes.csv").set_index("program").loc["wordcount"]
    assert modes["events"] == 12 and modes["multiplexed, median"] < 10


def test_cleaning_is_shown_beside_baselines_and_the_paper(smoke):
    found = numbers(smoke, "02_cleaning")
    assert 0 < found["error before cleaning, instruction-cache misses"] < 28.3
    methods = pd.read_csv(smoke / "02_cleaning/methods.csv").set_index("method")
    assert methods.at["shrinkage", "median ratio"] < methods.at["as perf prints", "median ratio"]
    assert methods.at["mean", "median ratio"] > methods.at["as perf prints", "median ratio"]
    assert {"running mean", "instructions, never multiplexed"} <= set(methods.index)


def test_zeros_of_a_rare_event_are_no_gaps(smoke):
    rare = pd.read_csv(smoke / "02_cleaning/rare-event.csv").set_index("method")
    total = rare["rare: total [% of truth]"]
    assert total["CounterMiner, zeros as gaps"] > 1000 and 90 < total["shrinkage"] < 110
    assert (rare["others: error [% of mean]"] < rare["rare: error [% of mean]"]).all()


def test_what_is_cut_for_an_outlier_stands_beside_what_the_program_reaches(smoke):
    cut = pd.read_csv(smoke / "outliers/cut.csv")
    assert (cut["cleaned"] < cut["mlpx"]).all() and (cut["mlpx"] > 0).all()
    reached = numbers(smoke, "outliers")["greatest samples cut that are there without multiplexing"]
    assert reached == pytest.approx(100 * (cut["mlpx"] <= 1.5 * cut["ocoe"]).mean())
    manifest = json.loads((smoke / "outliers/manifest.json").read_text(encoding="utf-8"))
    told, beyond = manifest["findings"][0]["text"], (cut["mlpx"] > 1.5 * cut["ocoe"]).sum()
    assert f"{len(cut) - beyond} are at most 1.5 times" in told and (f"The other {beyond}" in told) == (
        beyond > 0
    )


def test_programs_that_a_method_was_tuned_on_are_marked(smoke):
    smoothing = pd.read_csv(smoke / "02_cleaning/smoothing.csv")
    assert smoothing["tuned on"].isna().all()  # wordcount is not on the tuning list


def test_errors_grow_with_the_number_of_events(smoke):
    growth = pd.read_csv(smoke / "more_events/growth.csv").set_index(["set", "measure"])
    for measure in ("% of the mean", "% by Eq. 4"):
        own = growth.loc[("a15-cbench", measure)].set_index("groups")
        assert own["perf"].is_monotonic_increasing and list(own.index) == [2, 3, 4, 5, 6, 7, 8, 9]
        assert (own["counterminer"] >= own["perf"] - 1e-9).all()
    assert numbers(smoke, "more_events")["error by Eq. 4, 24 events, CounterMiner's way"] > 23.6


def test_zeros_that_were_not_counted_are_told_or_the_set_is_named(smoke):
    found = numbers(smoke, "missing_counts")
    if public.read("mlpx-ocoe/20_per_1_time.10s.csv") is None:
        assert "cmlib fetch mlpx-ocoe" in (smoke / "missing_counts/missing_counts.html").read_text(
            encoding="utf-8"
        )
    else:
        assert found["zeros of mlpx-ocoe recognized as not counted"] == 100
        filled = pd.read_csv(smoke / "missing_counts/filled.csv").set_index("way")
        assert (filled.loc["Eq. 8", "filled / truth"] > 2).all()


def test_the_account_of_the_cycles_adds_up_and_merging_with_ipc_brings_it_nearer(smoke):
    closures = pd.read_csv(smoke / "sums/closure.csv").set_index("way")
    assert closures["mean"].sub(1).abs().max() < 0.02
    ours, printed = closures.loc["shrinkage, adjusted to IPC"], closures.loc["scaling, not adjusted"]
    # Of wordcount one step, in which it exits, misses a quarter of its slots however it is cleaned.
    assert closures["its sum"].between(0.7, 0.8).all()
    assert ours["rms"] < 0.95 * printed["rms"] and ours["sums"] < 0.75 * printed["sums"]


def test_shares_of_the_slots_are_those_of_the_raw_counts_wherever_they_are_told(smoke):
    names = {"front end": "de_no_dispatch_per_slot.no_ops_from_frontend", "retired": "ex_ret_ops"}
    names["back end"] = "de_no_dispatch_per_slot.backend_stalls"
    events, counted = [*names.values(), "de_op_queue_empty"], {}
    for run, meta in archive.existing_runs(folder := places.recordings_dir() / "wordcount").items():
        if {*events} & {*meta["encodings"]}:
            counts = read_stored(archive.read_raw(folder, run), meta).counts
            for event in counts.columns.intersection(events):
                both = counts[["cycles", event]].dropna().sum()
                counted.setdefault(event, []).append(both[event] / both["cycles"] / 8)
    raw = {name: 100 * np.mean(counted[event]) for name, event in names.items()}
    raw["front-end latency"] = 800 * np.mean(counted["de_op_queue_empty"])
    answer = json.loads((smoke / "answers.json").read_text(encoding="utf-8"))["programs"]["wordcount"]
    table = pd.read_csv(smoke / "00_first_look/sum.csv").set_index("program").loc["wordcount"]
    bounds = {row["name"]: row for row in answer["account"]["categories"]}
    for name, share in raw.items():
        if name in names:
            assert table[name] == pytest.approx(share, abs=0.5)
        assert bounds[name]["low"] - 0.5 < share < bounds[name]["high"] + 0.5
        headline = answer["first"]["headline"]
        number = re.search(rf"(\d+) %(?: are lost)? to the {name}\b", headline.replace("*", ""))
        if name.endswith(" end"):
            assert int(number[1]) == pytest.approx(share, abs=1), headline
    first = answer["first"]["advice"][0]
    assert first["category"] == "front-end latency"
    assert first["at_most"] == pytest.approx(bounds["front-end latency"]["high"], abs=0.5)


def test_ranking_explains_ipc_far_better_than_the_mean(smoke):
    history = pd.read_csv(smoke / "03_ranking/refinement.csv")
    assert (history["blocks_error"] < history["mean_baseline"] / 3).all()


def test_the_model_of_one_pass_explains_ipc_of_another_far_better_than_the_mean(smoke):
    core = pd.read_csv(smoke / "another_pass/core.csv")
    assert (core["second pass: model"] < core["mean of the first pass"] / 2).all()


def test_clusters_explain_cycles_better_than_the_mean_and_stand_beside_shuffled_ones(smoke):
    judged = pd.read_csv(smoke / "grouping/clusters-judged.csv").set_index("program").loc["wordcount"]
    assert judged["linear"] < judged["boosted"] < judged["mean"] / 3
    assert judged[["overlap", "overlap, members shuffled"]].between(0.5, 1).all()
    clusters = pd.read_csv(smoke / "clusters/clusters.csv")
    assert clusters["importance"].sum() == pytest.approx(100)
    assert clusters["importance"].between(clusters["low"], clusters["high"]).head(5).all()
    assert set(clusters["class"]) == {"miss", "mix"}
    cycles = pd.read_csv(smoke / "clusters/cycles.csv")
    assert cycles["top-down"].notna().all() and cycles["cycles"].between(cycles["from"], cycles["to"]).all()
    large = clusters[clusters["n_events"] > 12]
    assert not large["name"].str.contains(" and ").any()


def test_runs_put_together_explain_ipc_better_than_the_mean(smoke):
    errors = pd.read_csv(smoke / "merging_runs/fusions.csv").set_index(["program", "merged"])
    judged = ["each run", "mean of runs"]
    for name, own in errors.groupby("program"):
        models = own.drop(index="none", level="merged")[judged]
        assert (models < own.loc[(name, "none"), judged] / 1.5).all(axis=None)
    shape = pd.read_csv(smoke / "merging_runs/shape.csv")
    assert (shape["counted, stacked [%]"] < 100 / shape["runs"] + 5).all()


def test_one_model_of_all_programs_explains_ipc_better_than_the_mean(smoke):
    errors = pd.read_csv(smoke / "across_programs/mixed.csv").set_index("program")
    assert (errors["model of all programs"] < errors["mean of this program"]).all()
    alike = pd.read_csv(smoke / "across_programs/likeness.csv")
    assert alike["suites"].eq("itself").sum() == 2 and len(alike) == 3
    assert alike["shared"].between(alike["low"], alike["high"]).all()


def test_h_finds_the_planted_pairs_in_every_data_set(smoke):
    assert numbers(smoke, "04_interactions")["synthetic data with planted pairs first by H"] == 3
    pairs = pd.read_csv(smoke / "04_interactions/pairs.csv")
    assert pairs.groupby(["program", "measure"])["importance"].sum().round(6).eq(100).all()


def test_the_summary_holds_every_number(smoke):
    summary = pd.read_csv(smoke / "10_summary/numbers.csv")
    for notebook in ("01_collection", "02_cleaning", "03_ranking", "merging_runs", "04_interactions"):
        assert set(numbers(smoke, notebook)) == set(summary.loc[summary["notebook"] == notebook, "name"])


def test_tables_by_which_the_papers_programs_are_counted_are_there(smoke):
    for item in read_items().query("counted_in != ''").itertuples():
        table, _, column = item.counted_in.partition(".")
        if (smoke / table).parent.is_dir():  # left out, where nothing is recorded
            assert column in pd.read_csv(smoke / f"{table}.csv", nrows=1), item
