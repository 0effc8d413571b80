"""Notebook 05, its figures and panel, and `cmlib diagnose`, on made-up recordings in the real format."""

import json
import os
import re
from dataclasses import replace
from unittest import mock

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from click.testing import CliRunner
from matplotlib.colors import to_hex

from cmlib import report
from cmlib.cli import main
from cmlib.collect import machine
from cmlib.experiments import diagnosis, measured_diagnosis
from cmlib.experiments.micro import fingerprint
from cmlib.experiments.micro.programs import table_1
from cmlib.experiments.micro.recordings import FOLDER, cut
from cmlib.explore import fingerprint as explore
from cmlib.fingerprint.diagnosis import advice, score_programs
from cmlib.io import perf
from cmlib.plot import fingerprint as plot
from tests import planted_recordings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made up")
    planted_recordings.make(folder, others=3)
    return folder


@pytest.fixture(scope="module")
def found(data):
    with mock.patch.object(perf, "parse_stat", planted_recordings.parse_once):
        return fingerprint.load(data / "recordings")


@pytest.fixture(scope="module")
def micro(found):
    return cut(found.key["micro"])


@pytest.fixture(scope="module")
def unseen(found):
    return cut(found.key["unseen"])


@pytest.fixture(scope="module")
def model(found, micro):
    return fingerprint.train(*micro, found.tree)


@pytest.fixture
def in_data(data, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(data))


@pytest.fixture
def in_learned_data(in_data, found, model, monkeypatch):
    """The same, without reading and learning from all of it for each command."""
    monkeypatch.setattr(fingerprint, "load", lambda **_: found)
    monkeypatch.setattr(fingerprint, "train", lambda *_: model)


def cmlib(*arguments):
    return CliRunner().invoke(main, ["diagnose", *map(str, arguments)])


# --- what is asked of the recordings ------------------------------------------


def test_everything_that_was_recorded_is_read(found, micro):
    X, about = micro
    assert X.index.equals(about.index) and X.shape[1] == 1 + 10
    assert found.unmultiplexed == 3
    assert "made up" in found.caveat
    counted = {kind: len({one.program for one in series}) for kind, series in found.key.items()}
    assert counted == {"micro": 44, "unseen": 46, "CPU": 3, "parallel": 3, "own": 0}
    assert len(found.all) == 44
    runs = fingerprint.run_of(X)
    assert runs.nunique() == 88 and runs[0] == "micro-array-N-L2-1/0"
    assert about.groupby(runs)["time_s"].is_monotonic_increasing.all()


def test_table_1_has_every_program_with_as_many_slices_of_both_forms(micro):
    table = table_1(micro[1])
    assert table["in the paper"].tolist() == ["Array", "LL", "Pointer", "BranchMis", "RS", "RS", "FPU"]
    assert (table["P"] == table["N"]).all() and table[["P", "N"]].to_numpy().sum() == len(micro[0])


def test_the_planted_classes_are_told_apart_and_noise_is_eliminated_first(found, micro):
    X, about = cut(found.all)
    elimination, curves = fingerprint.key_event_curve(X, about, [99, 5, 1], found.tree)
    assert set(elimination.index[:3]) == {
        "ic_tag_hit_miss.instruction_cache_miss", "ex_div_busy", "ls_l1_d_tlb_miss.all",
    }  # fmt: skip
    assert curves["10-fold"]["n_events"].tolist() == [16, 5, 1]
    assert curves["10-fold"]["accuracy"].iloc[0] > 98 > curves["10-fold"]["accuracy"].iloc[-1]
    others = {"CPU": cut(found.key["CPU"])}
    table = fingerprint.table_2(micro, (X, about), others, found.tree).set_index(["benchmarks", "folds"])
    assert table.loc[("Micro-benchmarks", "10-fold"), "accuracy"] > 99
    by_size = table.loc[("Micro-benchmarks", "by size")]
    assert by_size["correct"] + by_size["incorrect"] == about["size"].notna().sum()
    assert set(table.loc["CPU programs"].index) == {"10-fold", "by run"}


def test_programs_never_trained_on_are_scored_by_their_class(unseen, model):
    labels = model.predict(unseen[0][model.feature_names_in_])
    scores = score_programs(labels, unseen[1]["label"], unseen[0].index.get_level_values("program"))
    assert scores.loc["unseen-filter-P", "right"] == 100
    assert scores["most_share"].between(0, 100, inclusive="right").all()


def test_slices_of_a_case_are_compared_with_all_slices(micro):
    index = pd.MultiIndex.from_product([["a", "b"], [0], [0, 1]], names=["program", "pass", "slice"])
    copies = pd.DataFrame({"x": [1.0, 1, 5, 5], "constant": 2.0}, index)
    assert fingerprint.share_within_cases(copies) == 0
    # Means of both cases are equal.
    alike = pd.DataFrame({"x": [1.0, 5, 1, 5]}, index)
    assert fingerprint.share_within_cases(alike) == pytest.approx(100)
    # Within: 4 × 0.25; in all: 4 × 0.25 + 4 × 4.
    mixed = pd.DataFrame({"x": [0.5, 1.5, 4.5, 5.5]}, index)
    assert fingerprint.share_within_cases(mixed) == pytest.approx(100 / 17)


def test_a_micro_benchmark_is_predicted_by_a_tree_that_did_not_see_it(found):
    programs = ["micro-array-P", "micro-array-N", "micro-branch-P", "micro-branch-N"]
    index = pd.MultiIndex.from_product([programs, [0], range(4)], names=["program", "pass", "slice"])
    labels = np.repeat(["P_Mem_M", "N", "P_CPU", "N"], 4)
    X = pd.DataFrame({"misses": np.repeat([9.0, 0, 0, 0], 4), "other": np.repeat([0.0, 0, 9, 0], 4)}, index)
    about = pd.DataFrame({"label": labels}, index)
    predicted = pd.Series(fingerprint.predict_left_out(X, about, found.tree), index)
    # No other micro-benchmark has the class of the pathological forms.
    assert "P_Mem_M" not in set(predicted.loc["micro-array-P"])
    assert "P_CPU" not in set(predicted.loc["micro-branch-P"])
    assert set(predicted.loc["micro-array-N"]) == {"N"}


def test_a_profile_has_the_phases_that_were_planted(found, model):
    chosen = [one for one in found.key["unseen"] if re.match(r"unseen-(filter|netlist)-P", one.program)]
    profiles = diagnosis.profiles(model, chosen)
    loader = profiles["unseen-netlist-P-M-2"]
    assert loader.labelled.index.equals(loader.pace.index) and loader.pace.name == "IPC"
    npt.assert_allclose(loader.shares.sum(), 100)
    told = diagnosis.explain(loader)
    assert told["meaning"].tolist() == [advice(label)[0] for label in told["label"]]
    assert told["end_s"].iloc[-1] == loader.labelled.index[-1]
    assert loader.labelled["label"].iloc[-1] == "P_Mem_M"
    assert fingerprint.find("unseen-filter-P", profiles) == "unseen-filter-P"
    assert fingerprint.find("filter-P", profiles) == "unseen-filter-P"
    assert fingerprint.find("gcc", profiles) is None


def test_a_run_without_a_key_event_is_refused_by_name(found, model):
    one = found.key["unseen"][0]
    few = replace(
        one, counts=one.counts.drop(columns="ex_ret_brn"), running=one.running.drop(columns="ex_ret_brn")
    )
    with pytest.raises(ValueError, match=r"1 of the 11 key events, for example ex_ret_brn\."):
        measured_diagnosis.profile_run(model, few)


# --- figures ------------------------------------------------------------------


def planted_tree(n, number=0):
    """A lopsided tree of n leaves: the deepest there is."""
    leaf = {"node": 2 * number, "label": ["P_CPU", "N_Mem_M"][n % 2], "n": 1000 + n, "wrong": n % 3}
    if n == 1:
        return leaf
    inner = {"event": "ls_dmnd_fills_from_sys.dram_io_near", "threshold": n / 7, "n": 1, "wrong": 0}
    return {
        "node": 2 * number + 1,
        "label": "P_CPU",
        **inner,
        "left": leaf,
        "right": planted_tree(n - 1, number + 1),
    }


@pytest.mark.parametrize("n", [1, 2, 10, 30])
def test_no_node_of_a_drawn_tree_covers_another(n):
    figure, ax = plot.decision_tree(planted_tree(n))
    figure.draw_without_rendering()
    boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts]
    n_answers = 2 * (n - 1)
    assert len(boxes) == 2 * n - 1 + n_answers
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    shown = [text.get_text() for text in ax.texts]
    assert any(text.startswith("N_Mem_M   1,001 (1 of other") for text in shown)
    assert sum(text.startswith("ls_dmnd_fills_from_sys.dram_io_near ≤ ") for text in shown) == n - 1
    assert shown.count("yes") == shown.count("no") == n - 1


def test_tiles_have_the_colors_of_their_classes_and_lines_between_groups():
    index = pd.MultiIndex.from_tuples([(0, "filter"), (0, "netlist"), (1, "sum")])
    frame = pd.DataFrame({"true class": ["P_CPU", "P_Mem_M", "N"],
                          "tree": ["P_CPU", "P_Mem_L3 52 %", "unknown"]}, index)  # fmt: skip
    _, (ax,) = plot.class_tiles({"cases": frame})
    assert [text.get_text() for text in ax.texts] == list(frame.to_numpy().ravel())
    fills = [to_hex(patch.get_facecolor()) for patch in ax.patches]
    classes = [text.split(" ")[0] for text in frame.to_numpy().ravel()]
    assert fills == [plot.COLOURS[label].lower() for label in classes]
    assert [line.get_ydata()[0] for line in ax.lines] == [1.5]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["filter", "netlist", "sum"]


def test_the_drawn_tree_is_the_tree(model):
    figure, ax = plot.decision_tree(model.classifier_.to_dict())
    shown = [text.get_text() for text in ax.texts]
    for rule in model.classifier_.rules().itertuples():
        assert any(text.startswith(f"{rule.label}   {rule.n:,}") for text in shown)


def test_a_timeline_shows_every_slice_in_its_lane_and_the_shares():
    labels = ["P_CPU", "P_CPU", "unknown", "N_Mem_M"]
    index = pd.Index([0.4, 0.8, 1.2, 2.0], name="time_s")
    labelled = pd.DataFrame({"label": labels}, index=index)
    _, (band, share, line) = plot.phase_timeline(
        labelled, pd.Series([1.0, 2, 3, 4], index=index, name="IPC"), marked=1.2
    )
    assert [tick.get_text() for tick in band.get_yticklabels()] == ["P_CPU", "N_Mem_M", "unknown"]
    assert [text.get_text() for text in share.texts] == ["50.0 %", "25.0 %", "25.0 %"]
    assert (line.get_xlabel(), line.get_ylabel()) == ("time [s]", "IPC")
    npt.assert_allclose(line.lines[0].get_ydata(), [1, 2, 3, 4])
    spans = [[path.vertices[:, 0].min() for path in lane.get_paths()] for lane in band.collections]
    npt.assert_allclose(np.concatenate(spans), [0.0, 0.4, 1.6, 0.8], atol=1e-9)


def test_a_panel_takes_slices_without_a_name_of_index_or_pace():
    labelled = pd.DataFrame({"label": ["P_CPU"] * 2, "rule": ["a > 1"] * 2}, index=[1.0, 2.0])
    profile = measured_diagnosis.Profile(labelled, pd.Series([2.0, 3.0]), labelled, labelled["label"])
    assert "pace: 2.00" in explore({"program": {1.0: profile}}).text


def test_colours_of_pathology_and_health_differ_in_lightness_alone():
    def lightness(label):
        return np.dot([0.3, 0.59, 0.11], [int(plot.COLOURS[label][i : i + 2], 16) for i in (1, 3, 5)])

    for bound in ("Mem_L2", "Mem_L3", "Mem_M", "CPU"):
        assert lightness(f"N_{bound}") - lightness(f"P_{bound}") > 60
    red, green, blue = (int(plot.COLOURS["unknown"][i : i + 2], 16) for i in (1, 3, 5))
    assert max(red, green, blue) - min(red, green, blue) < 20


# --- the panel ----------------------------------------------------------------


def test_the_panel_explains_the_slice_that_is_chosen(found, model):
    names = ["unseen-filter-P", "unseen-netlist-P-M-2"]
    chosen = [one for one in found.key["unseen"] if one.program in names]
    by_length = {length: diagnosis.profiles(model, chosen, slice_s=length) for length in (0.4, 0.8)}
    panel = explore({name: {length: by_length[length][name] for length in by_length} for name in names})
    rule = by_length[0.4]["unseen-filter-P"].labelled["rule"].iloc[0]
    assert "<strong>P_CPU</strong>" in panel.text and "Slice 1 of 12" in panel.text
    assert rule.replace("<", "&lt;").replace(">", "&gt;") in panel.text
    panel.controls["program"].value = "unseen-netlist-P-M-2"
    panel.controls["number"].value = 12
    assert "<strong>P_Mem_M</strong>" in panel.text and "Slice 12 of 12" in panel.text
    panel.controls["slice_s"].value = 0.8
    assert "Slice 6 of 6" in panel.text and panel.png.startswith(b"\x89PNG")


def test_the_panel_without_recordings_says_what_to_run():
    assert "<code>cmlib record-micro</code>" in explore({}).text


# --- the command --------------------------------------------------------------


def test_a_recorded_program_is_diagnosed(in_data, tmp_path):
    page = tmp_path / "page.html"
    done = cmlib("--recorded", "filter-P", "--html", page)
    assert done.exit_code == 0, done.output
    meaning, remedy = advice("P_CPU")
    assert f"P_CPU  100.0 % of slices: {meaning}" in done.stdout
    assert remedy[:40] in done.stdout and re.search(r"^  if \w+", done.stdout, re.M)
    assert re.search(r"0\.2 +5\.0  P_CPU", done.stdout)
    text = page.read_text(encoding="utf-8")
    golden = [
        "<h1>filter-P</h1>",
        "<svg",
        "P_CPU: 100.0 % of slices",
        remedy[:40],
        "trained on 88 runs",
        "made up",
    ]
    assert all(part in text for part in golden)
    assert not re.search(r'(?:src|href)="(?!#)', re.sub(r"<svg.*?</svg>", "", text, flags=re.S))
    assert "{{" not in text and "nan" not in re.sub(r"<svg.*?</svg>", "", text, flags=re.S)


def test_a_command_is_recorded_with_the_key_events_and_kept(
    in_learned_data, data, fake_perf, monkeypatch, tmp_path
):
    monkeypatch.setenv("FAKE_PLANTED", "yes")
    monkeypatch.setenv("FAKE_SECONDS", "3.1")
    described = {**machine.describe(), "microarchitecture": "made_up"}
    monkeypatch.setattr(machine, "describe", lambda: described)
    monkeypatch.setattr(machine, "census", lambda: machine.Census(6, 5))
    monkeypatch.setenv("PATH", f"{data / 'results/micro'}:{os.environ['PATH']}")
    command = ["--", "filter", "--form", "P", "--seconds", "3"]
    done = cmlib(*command)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("filter --form P --seconds 3: 7 slices") and "P_CPU  100.0 %" in done.stdout
    folder = data / "recordings" / FOLDER
    assert not list(folder.glob("own-*")) and not list((data / "results").glob("diagnose.*"))
    assert cmlib("--keep", "mine", *command).exit_code == 0
    assert (folder / "own-mine/key-p0-00.json").is_file()
    assert "P_CPU  100.0 %" in cmlib("--recorded", "mine").stdout
    again = cmlib("--keep", "mine", *command)
    assert again.exit_code == 2 and "cmlib diagnose --recorded mine" in again.stderr
    monkeypatch.setattr(machine, "census", lambda: machine.Census(6, 4))
    lost = cmlib(*command)
    assert lost.exit_code == 2 and "4 counters are good here" in lost.stderr
    for file in (folder / "own-mine").iterdir():
        file.unlink()
    (folder / "own-mine").rmdir()


def test_without_counters_it_refuses_and_says_why(in_data, monkeypatch):
    none = machine.Census(0, 0, complaint="branches:u was not counted")
    monkeypatch.setattr(machine, "census", lambda: none)
    done = cmlib("--", "true")
    assert done.exit_code == 2 and "Traceback" not in done.stderr
    assert "no hardware event can be counted here: branches:u was not counted" in done.stderr
    assert "cmlib diagnose --recorded NAME" in done.stderr


def test_on_another_processor_it_refuses(in_learned_data, monkeypatch):
    monkeypatch.setattr(machine, "census", lambda: machine.Census(6, 5))
    done = cmlib("--", "true")
    assert done.exit_code == 2 and "trained on made_up" in done.stderr


def test_without_recordings_it_says_what_to_run(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    monkeypatch.setattr(machine, "census", lambda: machine.Census(6, 5))
    done = cmlib("--", "true")
    assert done.exit_code == 2
    assert "nothing recorded yet: run `cmlib record-micro`" in done.stderr


def test_without_counters_nothing_is_read_or_compiled_before_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))  # nothing recorded either
    monkeypatch.setattr(machine, "census", lambda: machine.Census(0, 0, complaint="no PMU"))
    done = cmlib("--", "true")
    assert done.exit_code == 2 and "cmlib diagnose --simulate -- COMMAND" in done.stderr


def test_an_unknown_recording_is_told_with_those_there_are(in_learned_data):
    done = cmlib("--recorded", "gcc")
    assert (
        done.exit_code == 2
        and "cmlib diagnose --keep gcc" in done.stderr
        and "unseen-filter-P" in done.stderr
    )


@pytest.mark.parametrize("wrong", [[], ["--recorded", "a", "--", "true"], ["--recorded", "a", "--keep", "b"]])
def test_wrong_usage_ends_with_2(wrong):
    assert cmlib(*wrong).exit_code == 2


# --- the notebook -------------------------------------------------------------


@pytest.mark.full
def test_the_notebook_runs_to_its_end(in_data, tmp_path):
    page = report.run_profile("smoke", ["hardware_fingerprinting"], results=tmp_path)
    folder = page.parent / "hardware_fingerprinting"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    numbers = {number["name"]: number["value"] for number in manifest["numbers"]}
    assert numbers["accuracy on the micro-benchmarks, 10-fold"] > 99
    captions = [one["caption"] for one in manifest["figures"] + manifest["tables"]]
    assert len(captions) > 12 and all("Synthetic data" in caption for caption in captions)
    folds = pd.read_csv(folder / "table2.csv")
    assert folds["benchmarks"].value_counts().to_dict() == {
        "Micro-benchmarks": 4,
        "CPU programs": 2,
        "Parallel programs": 2,
    }
    assert folds.set_index(["benchmarks", "folds"]).loc[("CPU programs", "10-fold"), "paper"] == 97.74
    figures = {one["name"] for one in manifest["figures"]}
    assert {
        "sweep",
        "key-events",
        "fig02",
        "slice-length",
        "profile",
        "canneal",
        "unseen",
        "explore",
    } == figures
