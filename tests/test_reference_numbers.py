"""Reference numbers: a run that differs from them in any number fails, with a line for each difference."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from cmlib.io import absent, public
from cmlib.report import Results
from cmlib.report.manifests import record_skipped

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = "03_ranking"


def load_tool():
    spec = importlib.util.spec_from_file_location("reference_numbers", ROOT / "tools/reference_numbers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load_tool()


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Results of one notebook in profile ``tiny``, whose reference numbers have been made."""
    monkeypatch.setenv("CMLIB_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(tool, "REFERENCE", tmp_path / "reference")
    monkeypatch.setattr(absent, "_absent_sets", set())
    write_results(tmp_path / "results")
    assert tool.main(["make", "tiny"]) == 0
    return tmp_path / "results"


def write_results(folder, *, numbers=(("error", 3.4, "%"), ("events", 12, "events")), notebook=NOTEBOOK):
    kept = Results(notebook, title="T", question="Q", profile="tiny", folder=folder)
    for name, value, unit in numbers:
        kept.number(name, value, unit)
    kept.save()


def differences(results):
    return tool.compare_run(results / "tiny", tool.REFERENCE / "tiny").differences


def test_a_run_agrees_with_the_numbers_made_from_it(results, capsys):
    assert tool.main(["check", "tiny"]) == 0
    assert "2 numbers of 1 notebooks agree" in capsys.readouterr().out


def test_values_within_the_tolerance_agree_and_others_do_not(results):
    within = 3.4 * (1 + tool.RELATIVE_TOLERANCE / 2)
    write_results(results, numbers=[("error", within, "%"), ("events", 12, "events")])
    assert tool.main(["check", "tiny"]) == 0
    beyond = 3.4 * (1 + tool.RELATIVE_TOLERANCE * 2)
    write_results(results, numbers=[("error", beyond, "%"), ("events", 12, "events")])
    assert tool.main(["check", "tiny"]) == 1


@pytest.mark.parametrize(
    "numbers, named",
    [
        ([("error", 3.4, "%")], ["events"]),
        ([("error", 3.4, "%"), ("events", 12, "events"), ("programs", 4, "")], ["programs"]),
        ([("error", 3.5, "%"), ("events", 13, "events")], ["error", "events"]),
        ([("error", 3.4, "of 1"), ("events", 12, "events")], ["error"]),
        ([], ["error", "events"]),
    ],
    ids=["missing", "new", "changed", "other unit", "none"],
)
def test_each_difference_has_a_line_that_names_notebook_and_number(results, numbers, named):
    write_results(results, numbers=numbers)
    found = differences(results)
    assert len(found) == len(named)
    for line, name in zip(found, named, strict=True):
        assert line.startswith(NOTEBOOK) and repr(name) in line
    assert tool.main(["check", "tiny"]) == 1


def test_a_number_changed_by_hand_fails(results):
    file = tool.REFERENCE / f"tiny/{NOTEBOOK}.csv"
    file.write_text(file.read_text().replace("3.4", "3.3"))
    assert len(differences(results)) == 1


def test_a_notebook_that_was_left_out_is_not_compared(results, capsys):
    write_results(results, notebook="04_other", numbers=[])
    record_skipped(results / "tiny", NOTEBOOK, "T", "nothing recorded yet")
    assert differences(results) == []
    (line,) = tool.compare_run(results / "tiny", tool.REFERENCE / "tiny").not_compared
    assert line.startswith(NOTEBOOK) and "nothing recorded yet" in line


def test_a_notebook_without_results_fails(results):
    shutil.rmtree(results / "tiny" / NOTEBOOK)
    (line,) = differences(results)
    assert line.startswith(NOTEBOOK)


def test_a_notebook_with_numbers_and_without_reference_fails(results):
    write_results(results, notebook="04_other")
    (line,) = differences(results)
    assert line.startswith("04_other")
    assert tool.main(["check", "tiny", "03"]) == 0


@pytest.mark.parametrize("absent_then", [True, False])
def test_a_notebook_is_not_compared_with_numbers_of_other_public_sets(results, monkeypatch, absent_then):
    monkeypatch.setattr(public, "shipped_file", lambda name: Path("nowhere"))
    monkeypatch.setattr(public, "cache_dir", lambda: Path("nowhere"))
    monkeypatch.delenv("CMLIB_PUBLIC", raising=False)
    name = public.files("mlpx-ocoe")["file"].iloc[0]
    assert public.read(name) is None
    write_results(results, numbers=[("error", 9.9, "%")])
    manifest = json.loads((results / "tiny" / NOTEBOOK / "manifest.json").read_text())
    assert manifest["absent_sets"] == ["mlpx-ocoe"]
    if absent_then:
        assert tool.main(["make", "tiny"]) == 0
        assert differences(results) == []
        monkeypatch.setattr(absent, "_absent_sets", set())
        write_results(results)
    compared = tool.compare_run(results / "tiny", tool.REFERENCE / "tiny")
    assert not compared.differences
    (line,) = compared.not_compared
    assert "mlpx-ocoe" in line


def test_times_measured_in_the_run_are_not_compared(results):
    kept = Results(NOTEBOOK, title="T", question="Q", profile="tiny", folder=results)
    for name, value, unit in (("error", 3.4, "%"), ("events", 12, "events")):
        kept.number(name, value, unit)
    kept.number("overhead", 0.04, "%", timed=True)
    kept.save()
    assert differences(results) == []
    assert tool.main(["make", "tiny"]) == 0
    assert "overhead" not in (tool.REFERENCE / f"tiny/{NOTEBOOK}.csv").read_text()


def test_nothing_to_compare_is_no_success(results):
    assert tool.main(["check", "other"]) == 1
    assert tool.main(["make", "other"]) == 1
