"""What a notebook leaves behind, what is said when a cell fails, and what is left out."""

import json
import multiprocessing.spawn
import os
import re
import shutil
import tempfile
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from click.testing import CliRunner

from cmlib import places, report
from cmlib.cli import main
from cmlib.errors import CmlibError, InterpreterError, NothingRecordedError
from cmlib.io.provenance import (
    OTHERS_HARDWARE,
    OWN_HARDWARE,
    SIMULATED,
    Provenance,
    forget_read,
    note_read,
)
from cmlib.report.manifests import read_manifests, results_subdir
from tests.small_notebooks import NOTHING, SUMMARY, saving, write_profile
from tests.small_runs import add_run


def new_results(folder):
    return report.Results(
        "02_cleaning", title="Cleaning", question="How *clean*?", profile="smoke", folder=folder
    )


def test_what_is_simulated_says_so_in_captions_and_findings(tmp_path):
    forget_read()
    results = new_results(tmp_path)
    one = pd.DataFrame({"a": [1]})
    results.table(one, "before", "**Table.** One.")
    simulated = note_read(Provenance(SIMULATED, ("app",), ("sim.loads",)))
    results.table(one, "made-up", "**Table.** One.", data=())
    results.table(one, "after", "**Table.** One.")
    results.finding("Two are more than one.", program="app")
    results.save()
    manifest = json.loads((tmp_path / "smoke/02_cleaning/manifest.json").read_text(encoding="utf-8"))
    captions = [table["caption"] for table in manifest["tables"]]
    assert captions == ["**Table.** One."] * 2 + [f"**Table.** One. {simulated.warning}"]
    assert manifest["findings"][0]["text"] == f"Two are more than one. {simulated.warning}"
    assert manifest["origin"] == "Simulated by Valgrind's Callgrind, not measured."


def test_a_result_keeps_the_provenance_that_is_stated_or_of_all_that_was_read(tmp_path):
    forget_read()
    results = new_results(tmp_path)
    one = pd.DataFrame({"a": [1]})
    results.table(one, "nothing-read", "**Table.** One.")
    note_read(Provenance(OWN_HARDWARE, ("gcc",), ("cycles",)))
    note_read(Provenance(OWN_HARDWARE, ("bzip2",), ("cycles", "branches")))
    results.table(one, "own", "**Table.** One.")
    others = note_read(Provenance(OTHERS_HARDWARE, ("cbench",), (), "a15-cbench"))
    results.table(one, "of-others", "**Table.** One.", data=others)
    results.number("of both", 1.0)
    results.save()
    manifest = json.loads((tmp_path / "smoke/02_cleaning/manifest.json").read_text(encoding="utf-8"))
    own = {
        "kind": OWN_HARDWARE,
        "programs": ["bzip2", "gcc"],
        "events": ["branches", "cycles"],
        "public_set": "",
    }
    published = {
        "kind": OTHERS_HARDWARE,
        "programs": ["cbench"],
        "events": [],
        "public_set": "a15-cbench",
    }
    kept = manifest["data"]
    of_tables = [[kept[at] for at in table["data"]] for table in manifest["tables"]]
    assert of_tables == [[], [own], [published]]
    assert [kept[at] for at in manifest["numbers"][0]["data"]] == [own, published]
    captions = [table["caption"] for table in manifest["tables"]]
    assert captions == ["**Table.** One."] * 2 + ["**Table.** One. *Data:* others' hardware (a15-cbench)."]


def test_results_appear_whole_or_not_at_all(tmp_path):
    results = new_results(tmp_path)
    results.table(pd.DataFrame({"a": [1.5]}), "t", "**Table.** One number.")
    assert not (tmp_path / "smoke/02_cleaning").exists()
    results.save()
    kept = pd.read_csv(tmp_path / "smoke/02_cleaning/t.csv")
    assert kept["a"].tolist() == [1.5]
    half = new_results(tmp_path)
    half.table(pd.DataFrame({"b": [2]}), "u", "Never saved.")
    assert sorted(f.name for f in (tmp_path / "smoke/02_cleaning").iterdir()) == [
        "manifest.json",
        "t.csv",
        "t.parquet",
    ]


def test_text_stands_to_the_left_and_numbers_to_the_right(tmp_path):
    index = pd.Index(["gcc"], name="program")
    frame = pd.DataFrame({"event": ["ls_stlf"], "error": [12.25]}, index)
    shown = new_results(tmp_path).table(frame, "t", "**Table.**").data
    left = '<t[dh] style="text-align: left">'
    assert [bool(re.search(f"{left}{text}<", shown)) for text in ("gcc", "ls_stlf", "event")] == [True] * 3
    assert "<td>12.25</td>" in shown and "<th>error</th>" in shown


def test_a_pivoted_table_has_one_heading_a_column(tmp_path):
    frame = pd.DataFrame({"event": ["x"], "method": ["joint"], "error": [1.0]})
    wide = frame.pivot(index="event", columns="method", values="error").reset_index()
    shown = new_results(tmp_path).table(wide, "t", "**Table.**").data
    assert len(re.findall("<th[ >]", shown)) == 2


def test_counts_among_the_numbers_have_no_decimals(tmp_path):
    results = new_results(tmp_path)
    results.number("events found", 12, "of 20")
    results.number("error", 2.104, "%", paper=14.0)
    shown = results.numbers().data
    assert re.findall(r"<td>([\d.]+)</td>", shown) == ["12", "2.10", "14"]


@pytest.mark.parametrize("decimals", [2, {"n": 0}])
def test_a_missing_integer_is_a_dash(tmp_path, decimals):
    frame = pd.DataFrame({"n": pd.array([1, None], dtype="Int64")})
    results = report.Results("02_a", title="A", question="?", profile="p", folder=tmp_path)
    cells = re.findall("<td>(.*)</td>", results.table(frame, "t", "T.", decimals=decimals).data)
    assert cells == ["1", "–"]


def test_a_number_that_was_not_measured_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Save only measured numbers"):
        new_results(tmp_path).number("error", float("nan"))


def test_two_results_of_one_name_are_refused(tmp_path):
    results = new_results(tmp_path)
    results.number("error", 1.0)
    with pytest.raises(ValueError, match="two numbers are called 'error'"):
        results.number("error", 2.0)


def test_a_table_without_columns_is_shown_with_its_caption(tmp_path):
    shown = new_results(tmp_path).table(pd.DataFrame(), "none", "**Table.** Nothing.")
    assert "<table" in shown.data


def test_the_folder_of_what_was_computed_takes_no_report(tmp_path):
    folder = tmp_path / "params" / "cache"
    folder.mkdir(parents=True)
    (folder / "01_collection.yaml").write_text("profile: cache\n")
    with pytest.raises(ValueError, match="Give the report a folder with another name"):
        report.run_profile(str(folder), results=tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_no_results_is_said_with_the_command(tmp_path):
    with pytest.raises(ValueError, match="cmlib run"):
        report.build_index(tmp_path)


def test_unknown_paper_lists_the_known():
    with pytest.raises(ValueError, match="known: .*counterminer"):
        report.paper("minercounter")
    assert report.paper("counterminer")["cleaned_error_percent"]["mean"] == 7.7


@pytest.fixture
def profile(tmp_path, monkeypatch):
    """A function that makes the profile ``tiny`` of such cells, and gives where its results go."""
    monkeypatch.setattr(places, "notebooks_dir", lambda: tmp_path / "notebooks")
    monkeypatch.setattr(places, "params_dir", lambda: tmp_path / "params")

    def build(cells):
        write_profile(tmp_path, cells)
        return tmp_path / "out"

    return build


@pytest.fixture
def small_profile(profile):
    """A profile of one notebook, whose second cell is the caller's."""
    return lambda cell: profile({"01_small": cell})


@pytest.mark.slow
def test_a_profile_runs_and_leaves_page_notebook_and_numbers(small_profile):
    out = small_profile(saving("01_small"))
    page = report.run_profile("tiny", parameters={"n_steps": 40}, results=out)
    manifest = json.loads((out / "tiny/01_small/manifest.json").read_text())
    assert manifest["numbers"][0]["value"] == 40
    executed = (out / "tiny/01_small/01_small.html").read_text()
    assert page.is_file() and "<summary>show code</summary>" in executed


@pytest.mark.parametrize(
    ("script", "mode", "reason"),
    [
        (None, 0, "No such file or directory"),
        ("#!/bin/sh\n", 0o600, "Permission denied"),
        ("#!/bin/sh\necho No module named encodings >&2; exit 1\n", 0o700, "No module named encodings"),
    ],
    ids=["missing", "not executable", "broken"],
)
def test_a_python_that_can_t_be_started_is_named(small_profile, monkeypatch, tmp_path, script, mode, reason):
    python = tmp_path / "python"
    if script:
        python.write_text(script)
        python.chmod(mode)
    monkeypatch.setattr(multiprocessing.spawn, "_python_exe", str(python))
    out = small_profile(saving("01_small"))
    with pytest.raises(InterpreterError, match=f"(?s){python}: .*{reason}.*make setup"):
        report.run_profile("tiny", results=out)
    assert sorted(file.name for file in (out / "tiny").iterdir()) == [".lock"]


def test_a_connection_to_kernels_that_is_refused_is_no_file_that_can_t_be_written(small_profile, monkeypatch):
    def refuse(*arguments, **options):
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("papermill.execute_notebook", refuse)
    with pytest.raises(report.NotebookError, match="its kernel could not be started") as refused:
        report.run_profile("tiny", results=small_profile(saving("01_small")))
    assert "write" not in str(refused.value)


def test_a_fifo_in_the_place_of_a_notebook_s_draft_is_removed_and_not_waited_for(no_kernel, small_profile):
    out = small_profile(saving("01_small"))
    (out / "tiny").mkdir(parents=True)
    os.mkfifo(out / "tiny/01_small.partial.ipynb")
    report.run_profile("tiny", results=out)
    assert (out / "tiny/01_small/01_small.ipynb").is_file()


def test_a_notebook_that_does_not_save_is_refused_and_leaves_no_draft(no_kernel, small_profile):
    out = small_profile(saving("01_small").removesuffix("r.save()"))
    with pytest.raises(report.NotebookError, match=r"01_small\.ipynb did not save its results"):
        report.run_profile("tiny", results=out)
    assert [file.name for file in (out / "tiny").iterdir()] == [".lock"]


def test_a_notebook_that_does_not_save_leaves_the_results_of_the_run_before(no_kernel, small_profile):
    out = small_profile(saving("01_small"))
    report.run_profile("tiny", results=out)
    before = {file: file.read_bytes() for file in (out / "tiny/01_small").iterdir()}
    small_profile(saving("01_small").removesuffix("r.save()"))
    with pytest.raises(report.NotebookError, match="did not save its results"):
        report.run_profile("tiny", results=out)
    assert {file: file.read_bytes() for file in (out / "tiny/01_small").iterdir()} == before
    assert not list((out / "tiny").glob("*.partial*"))


def test_twice_in_a_row_it_leaves_the_second_s_results(no_kernel, small_profile):
    out = small_profile(saving("01_small"))
    for n_steps in (40, 50):
        report.run_profile("tiny", parameters={"n_steps": n_steps}, results=out)
        manifest = json.loads((out / "tiny/01_small/manifest.json").read_text())
        assert manifest["numbers"][0]["value"] == n_steps
        assert sorted(f.name for f in (out / "tiny").iterdir()) == [
            ".lock",
            "01_small",
            "answers.json",
            "index.html",
            "terms.html",
        ]


def test_a_notebook_that_is_left_out_is_shown_as_stored(no_kernel, profile, tmp_path):
    out = profile({"01_small": saving("01_small"), "06_tests": NOTHING.format("06_tests")})
    file = tmp_path / "notebooks/06_tests.ipynb"
    node = nbformat.read(file, as_version=4)
    node.cells[-1].outputs = [nbformat.v4.new_output("stream", text="what it found before")]
    nbformat.write(node, file)
    page = report.run_profile("tiny", results=out).read_text()
    link = "shown as stored"
    assert link in page
    stored = (out / "tiny/06_tests/06_tests.html").read_text()
    assert "what it found before" in stored and "not made in this run" in stored
    assert "run <code>cmlib sample NAME</code>" in stored
    write_profile(tmp_path, {"06_tests": saving("06_tests")})
    assert link not in report.run_profile("tiny", ["06"], results=out).read_text()
    assert "not made in this run" not in (out / "tiny/06_tests/06_tests.html").read_text()


@pytest.fixture
def live(no_kernel, profile, monkeypatch, tmp_path):
    """A function that gives `cmlib run live` with such words about the recorded programs hashy and uncore."""
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    for program in ("hashy", "uncore"):
        add_run(tmp_path / "recordings", program, "ocoe", 0, 0, [("x", 1.0)])
    cell = "r.finding('It ran.', program=program)"
    profile({})
    write_profile(
        tmp_path,
        {name: saving(name, cell) for name in ("01_first", "02_second")},
        more='program: str = "all"  # programs\ndatabase: str = ""  # store\n',
    )
    return lambda *words: CliRunner().invoke(main, ["run", "live", *words])


def test_a_misspelt_program_is_refused_at_once_and_nothing_is_touched(live, tmp_path):
    assert live("-p", "program=hashy").exit_code == 0
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    for words in (["-p", "program=hashyy"], ["01", "-p", "program=uncore,hashyy"]):
        done = live(*words)
        assert done.exit_code == 2 and "(hashy, uncore)" in done.stderr
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before


def test_a_report_never_replaces_or_mixes_with_another_program_s(live, tmp_path):
    """Also where the second run is of some notebooks only; one page leads to all."""
    made = tmp_path / "results/live"
    assert live("-p", "program=uncore").stdout.splitlines()[-1] == str(made / "uncore/index.html")
    uncore = (made / "uncore/index.html").read_bytes()
    assert live("02", "-p", "program=hashy").exit_code == 0
    hashy = (made / "hashy/index.html").read_text()
    assert "<h1>hashy</h1>" in hashy and "uncore" not in hashy and "01_first" not in hashy
    assert (made / "uncore/index.html").read_bytes() == uncore and b"hashy" not in uncore
    over = (made / "index.html").read_text()
    for program in ("hashy", "uncore"):
        assert f'href="{program}/index.html"' in over
    assert live("-p", "program=uncore, hashy").exit_code == 0
    assert {place.name for place in made.iterdir()} == {
        "hashy",
        "uncore",
        "hashy,uncore",
        "index.html",
        "terms.html",
    }


def test_a_report_of_one_program_is_of_the_notebooks_that_are_about_any(live, tmp_path):
    """Those that never read the store don't start, unless they are named or the report is of all programs."""
    write_profile(
        tmp_path, {"02c_of_itself": saving("02c_of_itself")}, more='program: str = "all"  # programs\n'
    )
    made = tmp_path / "results/live"
    assert live("-p", "program=hashy").exit_code == 0
    assert not (made / "hashy/02c_of_itself").exists() and (made / "hashy/02_second").is_dir()
    assert live().exit_code == 0 and (made / "all/02c_of_itself").is_dir()
    assert live("02c", "-p", "program=hashy").exit_code == 0 and (made / "hashy/02c_of_itself").is_dir()


@pytest.mark.parametrize("program", ["..", "../../x", "/x", "a,../b"])
def test_no_name_leads_out_of_the_results(program):
    place = results_subdir("live", {"program": program})
    assert place.count("/") == 1 and ".." not in place.split("/")


@pytest.mark.slow
def test_a_notebook_without_recordings_is_left_out_and_the_page_says_so(no_kernel, profile, capfd):
    """The second of three, whose earlier results are kept and not shown; the summary takes up the first only."""
    summary = saving("10_summary", SUMMARY)
    cells = {"01_small": saving("01_small"), "06_tests": saving("06_tests"), "10_summary": summary}
    out = profile(cells)
    report.run_profile("tiny", results=out)
    assert "06_tests,steps" in (out / "tiny/10_summary/numbers.csv").read_text()
    earlier = (out / "tiny/06_tests/manifest.json").read_bytes()
    profile(cells | {"06_tests": NOTHING.format("06_tests")})
    capfd.readouterr()
    page = report.run_profile("tiny", results=out).read_text()
    lines = capfd.readouterr().err.splitlines()
    assert lines[-1].startswith("left out: 06_tests;")
    ended = [re.sub(r"\d+ s", "… s", line) for line in lines if re.search(r"\d+ of 3$", line)]
    assert ended[-1] == "10_summary took … s, 3 of 3"
    assert any(line.startswith("06_tests was left out after … s") for line in ended)
    assert "Not run" in page and "06_tests/06_tests.html" in page
    assert "<code>cmlib sample NAME</code>" in page
    assert (out / "tiny/06_tests/manifest.json").read_bytes() == earlier
    assert "06_tests" not in (out / "tiny/10_summary/numbers.csv").read_text()
    assert list((out / "tiny").glob("*partial*")) == []
    profile(cells)
    page = report.run_profile("tiny", ["06"], results=out).read_text()
    assert "Not run" not in page and "06_tests/06_tests.html" in page


def test_a_notebook_that_stops_keeps_its_results_and_the_reason(no_kernel, profile):
    stop = (
        "from cmlib.report.notebook import Notebook\nnotebook = Notebook(r, None, {})\n"
        "notebook.stop('It needs cycles.')\nr.number('never', 1)"
    )
    out = profile({"01_small": saving("01_small", f"r.number('steps', 20)\n{stop}")})
    page = report.run_profile("tiny", results=out).read_text()
    manifest = json.loads((out / "tiny/01_small/manifest.json").read_text())
    assert [number["name"] for number in manifest["numbers"]] == ["steps"]
    assert [finding["text"] for finding in manifest["findings"]] == ["It needs cycles."]
    assert "It needs cycles." in page and "Left out" not in page
    assert (out / "tiny/01_small/01_small.html").is_file()


@pytest.mark.slow
def test_a_notebook_that_was_named_must_have_recordings(profile):
    out = profile({"01_small": saving("01_small"), "06_tests": NOTHING.format("06_tests")})
    with pytest.raises(NothingRecordedError, match=r"06_tests\.ipynb: nothing recorded yet: run `cmlib"):
        report.run_profile("tiny", ["06"], results=out)
    assert [file.name for file in (out / "tiny").iterdir()] == [".lock"]


def test_where_nothing_at_all_is_recorded_the_run_says_what_to_run(no_kernel, profile):
    """As with a program's name misspelt: the report of the last good run stays as it was."""
    out = profile({"01_small": saving("01_small")})
    page = report.run_profile("tiny", results=out)
    before = page.read_bytes()
    profile({"01_small": NOTHING.format("01_small"), "10_summary": saving("10_summary", SUMMARY)})
    with pytest.raises(NothingRecordedError, match="nothing recorded yet: run `cmlib sample"):
        report.run_profile("tiny", results=out)
    assert page.read_bytes() == before and [r["notebook"] for r in read_manifests(out / "tiny").sections] == [
        "01_small"
    ]


DAMAGES = {
    "manifest cut off": lambda folder: cut(folder / "manifest.json"),
    "manifest empty": lambda folder: (folder / "manifest.json").write_bytes(b""),
    "manifest no object": lambda folder: (folder / "manifest.json").write_text("[1]"),
    "manifest gone": lambda folder: (folder / "manifest.json").unlink(),
    "of another version": lambda folder: (folder / "manifest.json").write_text('{"notebook": "01_small"}'),
}


def cut(file):
    file.write_bytes(file.read_bytes()[:-3])


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_results_that_are_not_whole_are_told_with_the_command_that_makes_them_again(tmp_path, damage):
    for name in ("01_small", "02_cleaning"):
        results = report.Results(name, title=name, question="?", profile="smoke", folder=tmp_path)
        results.table(pd.DataFrame({"a": [1.5, 2.5]}), "t", "**Table.**")
        results.save()
        (tmp_path / "smoke" / name / f"{name}.ipynb").touch()
    damage(tmp_path / "smoke/01_small")
    (tmp_path / "smoke/03_half.partial").mkdir()
    (tmp_path / "smoke/03_half.partial/manifest.json").write_text("{}")
    page = report.build_index(tmp_path / "smoke").read_text()
    assert "Not shown (1 with damaged results)" in page and "cmlib run smoke 01_small" in page
    assert page.count("<strong>01_small</strong>") == 1 and "03_half" not in page


def test_results_that_can_t_be_written_are_told_before_anything_runs(small_profile, tmp_path):
    out = small_profile("raise SystemExit('ran')")
    out.write_text("a file")
    with pytest.raises(CmlibError, match=r"results cannot be written to .*out/tiny: .*CMLIB_RESULTS"):
        report.run_profile("tiny", results=out)


def test_results_go_where_the_parameter_says_and_a_relative_folder_is_the_caller_s(
    no_kernel, small_profile, tmp_path, monkeypatch
):
    small_profile(saving("01_small", "import os; r.finding(os.environ['CMLIB_DATA'])"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMLIB_DATA", "my data")
    page = report.run_profile("tiny", parameters={"results_folder": "mine"})
    assert page == tmp_path / "mine/tiny/index.html"
    (finding,) = json.loads((page.parent / "01_small/manifest.json").read_text())["findings"]
    assert finding["text"] == f"{tmp_path}/my data"
    assert os.environ["CMLIB_DATA"] == "my data" and "CMLIB_RESULTS" not in os.environ


@pytest.mark.parametrize("writable", [True, False])
def test_compiled_code_goes_to_the_results_where_neither_package_nor_home_can_be_written(
    monkeypatch, tmp_path, writable
):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(places, "_is_writable", lambda folder: writable)
    with places.export_environment(tmp_path):
        assert os.environ.get("NUMBA_CACHE_DIR") == (None if writable else f"{tmp_path}/.numba")
    assert "NUMBA_CACHE_DIR" not in os.environ
    (tmp_path / "file").touch()
    with places.compiling(tmp_path / "file"):
        cache = Path(os.environ.get("NUMBA_CACHE_DIR", "."))
        assert cache.is_dir() and cache.is_relative_to(tempfile.gettempdir()) != writable
    assert cache.exists() == writable


def test_a_folder_of_results_of_one_notebook_is_refused(small_profile, tmp_path):
    out = small_profile(saving("01_small"))
    (tmp_path / "params/tiny/01_small.yaml").write_text("results_folder: elsewhere\n")
    with pytest.raises(ValueError, match="tiny/01_small.yaml: results_folder is the same for all"):
        report.run_profile("tiny", results=out)


@pytest.mark.slow
def test_a_kernel_that_dies_is_told(small_profile):
    out = small_profile("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(report.NotebookError, match=r"01_small\.ipynb: its kernel .* died"):
        report.run_profile("tiny", results=out)


@pytest.mark.slow
def test_a_failing_cell_is_named_with_its_notebook_and_error(small_profile):
    out = small_profile("x = 1\n1 / 0")
    with pytest.raises(
        report.NotebookError, match=r"01_small.ipynb, cell \d+ .*ZeroDivisionError: division by zero"
    ):
        report.run_profile("tiny", results=out)
    assert (out / "tiny/01_small.failed.ipynb").is_file()
    assert not (out / "tiny/01_small").exists()


def test_a_folder_is_a_profile_if_it_holds_parameters_and_is_not_written_into(small_profile, tmp_path):
    out = small_profile("raise SystemExit('ran')")
    (empty := tmp_path / "any").mkdir()
    own = shutil.copytree(tmp_path / "params/tiny", tmp_path / "own")
    elsewhere = shutil.copytree(own, tmp_path / "elsewhere/tiny")
    for profile, results, says in (
        (empty, out, "no profile"),
        (own, tmp_path, "contains parameters"),
        (elsewhere, out, "has the same name as a profile"),
    ):
        with pytest.raises(ValueError, match=says):
            report.run_profile(str(profile), results=results)
    with pytest.raises(report.NotebookError):
        report.run_profile(str(own), results=out)
    assert (out / "own/01_small.failed.ipynb").is_file() and list(empty.iterdir()) == []
    assert [file.suffix for file in own.iterdir()] == [".yaml"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ({"profile": "tinny"}, "no profile 'tinny'.*tiny"),
        ({"profile": "tiny", "notebooks": ["09"]}, "no notebook '09'.*01_small"),
        ({"profile": "tiny", "parameters": {"n_stepps": 3}}, "did you mean 'n_steps'"),
        ({"profile": "tiny", "parameters": {"n_steps": 3}}, "outside"),
    ],
)
def test_wrong_calls_are_refused_before_anything_runs(small_profile, call, says):
    out = small_profile("raise SystemExit('ran')")
    with pytest.raises(ValueError, match=says):
        report.run_profile(**call, results=out)
    assert not out.exists()
