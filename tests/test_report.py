"""What a notebook may be given, what it leaves behind, and what is said when a cell fails."""

import json
import re

import matplotlib.figure
import nbformat
import pandas as pd
import pytest

from cmlib import places, report

PARAMETERS = """\
program = "all"  # programs to study, separated by commas
n_steps = 200  # steps of progress [20, 2000]
method = "joint"  # {joint, scaling}
share = 0.25  # share = of samples kept for the test [0.05, 0.5]
"""


def write_notebook(path, *cells, parameters=PARAMETERS):
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "language": "python", "display_name": "Python 3"}
    tagged = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    notebook.cells = [tagged, *(nbformat.v4.new_code_cell(cell) for cell in cells)]
    nbformat.write(notebook, path)
    return path


@pytest.fixture
def notebook(tmp_path):
    return write_notebook(tmp_path / "02_cleaning.ipynb")


def test_declared_parameters_are_the_tagged_cell(notebook):
    declared = report.declared_parameters(notebook)
    assert {name: p.default for name, p in declared.items()} == {
        "program": "all",
        "n_steps": 200,
        "method": "joint",
        "share": 0.25,
    }
    assert declared["share"].comment == "share = of samples kept for the test [0.05, 0.5]"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"n_step": 3}, "did you mean 'n_steps'"),
        ({"zzz": 3}, "it takes program, n_steps, method, share"),
        ({"n_steps": 3}, "outside [20, 2000]"),
        ({"n_steps": "many"}, "takes a number, got 'many'"),
        ({"n_steps": True}, "takes a number, got True"),
        ({"method": "magic"}, "none of joint, scaling"),
        ({"program": 7}, "takes a str, got 7"),
    ],
)
def test_wrong_parameters_are_refused_with_what_is_right(notebook, given, says):
    with pytest.raises(ValueError, match="params/x.yaml") as refused:
        report.check_parameters(notebook, given, "params/x.yaml")
    assert says in str(refused.value)


def test_right_parameters_pass(notebook):
    report.check_parameters(notebook, {"n_steps": 20, "method": "scaling", "program": "gcc,bzip2"}, "x.yaml")
    assert set(report.declared_parameters(notebook)) >= {"n_steps", "method", "program"}


@pytest.mark.parametrize("line", ["n_steps += 1", "a, b = 1, 2", "n_steps = range(3)"])
def test_a_parameter_that_is_no_literal_is_refused(tmp_path, line):
    with pytest.raises(ValueError):
        report.declared_parameters(write_notebook(tmp_path / "n.ipynb", parameters=line))


def new_results(folder):
    return report.Results(
        "02_cleaning", title="Cleaning", question="How *clean*?", profile="smoke", folder=folder
    )


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


def test_a_number_that_was_not_measured_is_refused(tmp_path):
    with pytest.raises(ValueError, match="record only what was measured"):
        new_results(tmp_path).number("error", float("nan"))


def test_two_results_of_one_name_are_refused(tmp_path):
    results = new_results(tmp_path)
    results.number("error", 1.0)
    with pytest.raises(ValueError, match="two numbers are called 'error'"):
        results.number("error", 2.0)


def test_the_page_shows_every_figure_number_and_table(tmp_path):
    results = new_results(tmp_path)
    results.figure(matplotlib.figure.Figure(), "fig06", "**Figure 6.** Errors <before> & after.")
    results.number("mean error", 5.5, "%", paper=7.7, note="fewer programs")
    results.table(pd.DataFrame({"event": ["ls_stlf"], "error": [12.25]}), "errors", "**Table I.** Errors.")
    results.finding("Cleaning *helps*.")
    results.finding("IPC follows `ls_stlf`.", program="gcc")
    results.save()
    page = report.build_index(tmp_path / "smoke").read_text()
    for link in re.findall(r'(?:src|href)="([^"#]+)"', page):
        assert (tmp_path / "smoke" / link).is_file() or link.startswith("02_cleaning/02_cleaning."), link
    for shown in (
        "<strong>Figure 6.</strong>",
        "&lt;before&gt; &amp; after",
        "7.70",
        "5.50",
        "ls_stlf",
        "Cleaning <em>helps</em>",
    ):
        assert shown in page, shown
    assert page.index("Cleaning <em>helps</em>") < page.index("<h3>gcc</h3>") < page.index("IPC follows <code>")


def test_no_results_is_said_with_the_command(tmp_path):
    with pytest.raises(ValueError, match="cmlib run"):
        report.build_index(tmp_path)


def test_unknown_paper_lists_the_known():
    with pytest.raises(ValueError, match="known: .*counterminer"):
        report.paper("minercounter")
    assert report.paper("counterminer")["cleaned_error_percent"]["mean"] == 7.7


@pytest.fixture
def small_profile(tmp_path, monkeypatch):
    """A profile of one notebook, whose second cell is the caller's."""

    def build(cell):
        monkeypatch.setattr(places, "notebooks_dir", lambda: tmp_path)
        monkeypatch.setattr(places, "params_dir", lambda: tmp_path / "params")
        (tmp_path / "params/tiny").mkdir(parents=True)
        (tmp_path / "params/tiny/01_small.yaml").write_text("n_steps: 30\n")
        lines = 'n_steps = 20  # [20, 2000]\nresults_folder = ""  # where results go\n'
        write_notebook(tmp_path / "01_small.ipynb", cell, parameters=lines)
        return tmp_path / "out"

    return build


def test_a_profile_runs_and_leaves_page_notebook_and_numbers(small_profile):
    out = small_profile(
        "from cmlib.report import Results\n"
        "r = Results('01_small', title='Small', question='Does it run?', profile='tiny', folder=results_folder)\n"
        "r.number('steps', n_steps)\n"
        "r.save()"
    )
    page = report.run_profile("tiny", parameters={"n_steps": 40}, results=out)
    manifest = json.loads((out / "tiny/01_small/manifest.json").read_text())
    assert manifest["numbers"][0]["value"] == 40
    assert page.is_file() and (out / "tiny/01_small/01_small.html").is_file()


def test_a_failing_cell_is_named_with_its_notebook_and_error(small_profile):
    out = small_profile("x = 1\n1 / 0")
    with pytest.raises(
        report.NotebookError, match=r"01_small.ipynb, cell \d+ .*ZeroDivisionError: division by zero"
    ):
        report.run_profile("tiny", results=out)
    assert (out / "tiny/01_small.failed.ipynb").is_file()
    assert not (out / "tiny/01_small").exists()


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
