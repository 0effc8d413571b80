"""The parameters a notebook may be given: what is right passes unchanged, and all else is refused by name."""

import ast
import codecs
import datetime
import itertools
import math
import re

import nbformat
import papermill
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from papermill.translators import PythonTranslator

from cmlib import report
from cmlib.cli import main
from cmlib.places import notebook_files
from cmlib.report.notebook import begin
from cmlib.report.parameters import parse_parameters, read_cells
from tests import small_notebooks

PARAMETERS = """\
program: str = "all"  # programs to study, separated by commas
n_steps: int = 200  # steps of progress
method: str = "joint"  # cleaning
share: float = 0.25  # share = of samples kept for the test
jobs: int = -1  # worker processes
interactive: bool = True  # widgets at the end
"""
LIMITS = 'limits = {"n_steps": (20, 2000), "method": ["joint", "scaling"], "share": (0.05, 0.5)}\nrest = 1'
RIGHT = {
    "program": "gcc,bzip2",
    "n_steps": 20,
    "method": "scaling",
    "share": 0.5,
    "jobs": 2,
    "interactive": False,
}


def write_notebook(path, parameters=PARAMETERS, limits=LIMITS):
    tagged = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[tagged, nbformat.v4.new_code_cell(limits)]), path)
    return path


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    return write_notebook(tmp_path_factory.mktemp("notebooks") / "02_cleaning.ipynb")


# --- what a notebook declares


def test_declared_parameters_are_the_tagged_cell(notebook):
    declared = report.declared_parameters(notebook)
    assert {name: p.default for name, p in declared.items()} == {
        "program": "all",
        "n_steps": 200,
        "method": "joint",
        "share": 0.25,
        "jobs": -1,
        "interactive": True,
    }
    assert declared["share"].comment == "share = of samples kept for the test"


def test_a_comment_begins_behind_the_value_in_any_alphabet(tmp_path):
    path = write_notebook(tmp_path / "n.ipynb", 'title: str = "Größe, 大きさ"  # of what\n')
    assert report.declared_parameters(path)["title"].comment == "of what"


@pytest.mark.parametrize(
    "line",
    ["n_steps = 3", "a, b = 1, 2", "n_steps: int", "n_steps: int = range(3)", "n_steps: int = (", "x = \0"],
)
def test_a_parameter_that_is_no_literal_is_refused(tmp_path, line):
    with pytest.raises(ValueError):
        report.declared_parameters(write_notebook(tmp_path / "n.ipynb", line))


@pytest.mark.parametrize("limits", ["limits = {", "limits = {'n_steps': range(3)}"])
def test_limits_that_are_no_constants_are_refused(tmp_path, limits):
    with pytest.raises(ValueError, match="limits"):
        report.declared_parameters(write_notebook(tmp_path / "n.ipynb", limits=limits))


def code_of(notebook):
    return "\n".join(cell["text"] for cell in read_cells(notebook) if cell["cell_type"] == "code")


@pytest.mark.parametrize("path", notebook_files().values(), ids=lambda path: path.stem)
def test_papermill_and_the_notebook_itself_take_the_same_parameters(path):
    declared = report.declared_parameters(path)
    inferred = papermill.inspect_notebook(path)
    settings = {name for name, parameter in declared.items() if parameter.shared}
    assert (
        inferred.pop("settings")["inferred_type_name"] == "dict"
        and inferred.keys() == declared.keys() - settings
    )
    for name, line in inferred.items():
        default, comment = declared[name].default, declared[name].comment
        assert (line["inferred_type_name"], line["help"]) == (type(default).__name__, comment)
        assert ast.literal_eval(line["default"]) == default
        declared[name].check(default, path.name)
    begins = re.search(r"begin\((.*?)\)\n", code_of(path), re.S)[1]
    given = ast.parse(f"begin({begins})").body[0].value.keywords
    assert {word.arg for word in given} == {word.value.id for word in given} == inferred.keys()


@pytest.mark.parametrize("content", ["", "{", "[]", "\ufeff{}"])
def test_a_notebook_that_is_none_or_cut_off_is_named(tmp_path, content):
    (tmp_path / "n.ipynb").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"n\.ipynb"):
        report.declared_parameters(tmp_path / "n.ipynb")
    with pytest.raises(ValueError, match=r"there is no notebook m\.ipynb under"):
        report.declared_parameters(tmp_path / "m.ipynb")


# --- values


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"n_step": 3}, "no parameter 'n_step'; did you mean 'n_steps'?"),
        ({"zzz": 3}, "it takes program, n_steps, method, share, jobs, interactive."),
        ({7: 3}, "no parameter 7; it takes"),
        ({"n_steps": 3}, "n_steps = 3 is outside [20, 2000] (steps of progress)"),
        ({"n_steps": "many"}, "takes a whole number, got 'many'"),
        ({"n_steps": True}, "takes a whole number, got True"),
        ({"n_steps": 30.5}, "takes a whole number, got 30.5"),
        ({"n_steps": [30]}, "takes a whole number, got [30]"),
        ({"n_steps": None}, "takes a whole number, got None"),
        ({"share": math.nan}, "share = nan is outside [0.05, 0.5]"),
        ({"share": math.inf}, "share = inf is outside"),
        ({"share": "0.2"}, "takes a number, got '0.2'"),
        ({"method": "magic"}, "none of joint, scaling."),
        ({"method": "scalling"}, "none of joint, scaling; did you mean 'scaling'?"),
        ({"program": 7}, "takes a str, got 7; write it in quotes"),
        ({"program": datetime.date(2026, 11, 21)}, "takes a str, got datetime.date(2026, 11, 21)"),
        ({"interactive": 1}, "takes a bool, got 1"),
    ],
)
def test_wrong_parameters_are_refused_with_what_is_right(notebook, wrong, says):
    with pytest.raises(ValueError, match="params/x.yaml") as refused:
        report.check_parameters(notebook, wrong, "params/x.yaml")
    assert says in str(refused.value)


def test_right_parameters_pass(notebook):
    assert report.check_parameters(notebook, RIGHT, "x.yaml") is None


numbers = st.one_of(st.integers(), st.integers(0, 3000), st.floats(), st.floats(0, 1))
words = st.sampled_from(["joint", "scaling", "scalling", "all", "gcc"]) | st.text(
    st.characters(exclude_categories=())
)
scalars = st.one_of(st.none(), st.booleans(), numbers, words, st.binary(), st.dates(), st.datetimes())
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from([*RIGHT, "n_step", "Program", "sharé"]) | scalars.filter(lambda value: value == value)


@given(st.dictionaries(names, values, max_size=3))
def test_any_value_is_allowed_by_its_comment_or_refused(notebook, made):
    try:
        report.check_parameters(notebook, made, "params/x.yaml")
    except ValueError as error:
        assert "params/x.yaml" in str(error) and len(str(error)) < 800
        return
    allowed = {
        "program": lambda value: type(value) is str,
        "n_steps": lambda value: type(value) is int and 20 <= value <= 2000,
        "method": lambda value: value in ("joint", "scaling"),
        "share": lambda value: type(value) in (int, float) and 0.05 <= value <= 0.5,
        "jobs": lambda value: type(value) is int,
        "interactive": lambda value: type(value) is bool,
    }
    assert all(allowed[name](value) for name, value in made.items())
    # The cell that Papermill makes of it says the same.
    cell = ast.parse(PythonTranslator.codify(made)).body
    assert {line.targets[0].id: ast.literal_eval(line.value) for line in cell} == made


# --- files


def test_files_of_parameters_are_read(tmp_path):
    file = tmp_path / "02.yaml"
    written = "# mine\nprogram: größer\nn_steps: 30\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        file.write_bytes(written.encode(encoding))
        assert report.read_parameters(file) == {"program": "größer", "n_steps": 30}
    for nothing in (b"", b"\n", b"# none\n", b"---\n", b"{}", b"null"):
        file.write_bytes(nothing)
        assert report.read_parameters(file) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"- program\n- all\n", "contains list instead of lines `name: value`"),
        (b"program all\n", "contains str instead of"),
        (b"n_steps: 30\nprogram: all\nn_steps: 40\n", "n_steps is given twice"),
        (b"{jobs: 1, jobs: 1}", "jobs is given twice"),
        (b"n_steps: [30\n", "is not valid YAML: while parsing"),
        (b"a: 1\n\tb: 2\n", "is not valid YAML"),
        (
            "program: größer\n".encode("latin-1"),
            "is not valid YAML: unacceptable character #x00f6",
        ),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is not valid YAML"),
        (b"a: 1\n---\nb: 2\n", "expected a single document"),
        (b"when: 2026-13-45\n", "month must be in 1..12"),
        (b"a: !!int ''\n", "is not valid YAML"),
        (b"a: !!python/object:os.system x\n", "is not valid YAML"),
        (b"a: " + b"[" * 600, "is not valid YAML"),
        (b"a: " + b"9" * 5000 + b"\n", "is not valid YAML"),
        (b"3: x\n", "3 is not a parameter name"),
        (b"no: x\n", "False is not a parameter name"),
        (b"? [a]\n: b\n", "is not valid YAML"),
    ],
)
def test_a_file_that_holds_no_parameters_is_named(tmp_path, content, says):
    (tmp_path / "02.yaml").write_bytes(content)
    with pytest.raises(ValueError, match=r"02\.yaml") as refused:
        report.read_parameters(tmp_path / "02.yaml")
    assert says in str(refused.value) and len(str(refused.value).splitlines()) == 1


def test_two_different_values_of_a_setting_are_refused(tmp_path):
    file = tmp_path / "02.yaml"
    file.write_text("jobs: 2\nsettings:\n  jobs: 8\n")
    with pytest.raises(ValueError, match=r"02\.yaml: jobs has two values, 2 and, under settings, 8"):
        report.read_parameters(file)
    file.write_text("jobs: 8\nsettings:\n  jobs: 8\n")
    assert report.read_parameters(file) == {"jobs": 8}


tokens = st.sampled_from(
    [*RIGHT, ": ", ":", "\n", "\n  ", "- ", "? "]
    + ["[", "]", "{", "}", ",", "&a ", "*a", "<<: ", "| ", "> ", "'", '"', "#"]
    + ["!x ", "%YAML 9.9\n"]
    + ["---\n", "...\n", "\t", "\ufeff", "\0", "\x85", "\\ud800", "0x", "0b2"]
    + ["0o8", "1:1", "1e999", ".inf", ".nan", "-.inf", "~", "=", "1_000"]
    + ["2026-11-21", "2026-13-45", "2026-11-21t1:2:3.4-99:99", "9" * 5000, "true", "no", "@", "`", "é", "😀"]
)  # fmt: skip
texts = st.lists(tokens | st.text(max_size=3), max_size=12).map("".join)


def encoded(text, encoding):
    return text.encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace")


contents = st.one_of(
    st.builds(encoded, texts, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "latin-1"])),
    st.binary(max_size=60),
    st.binary(max_size=20).map(lambda tail: codecs.BOM_UTF16_LE + tail),
)


@given(contents)
def test_any_content_is_parameters_or_refused(notebook, content):
    try:
        found = parse_parameters(content, "params/x.yaml")
        report.check_parameters(notebook, found, "params/x.yaml")
    except ValueError as error:
        assert "params/x.yaml" in str(error) and len(str(error)) < 800
        str(error).encode("utf-8", "backslashreplace")
    else:
        assert set(found) <= {*RIGHT}


plain = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.text()
nested = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@given(st.dictionaries(st.text(), nested, max_size=4), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_what_yaml_writes_is_read_back(made, encoding):
    written = yaml.safe_dump(made, sort_keys=False).encode(encoding)
    assert repr(parse_parameters(written, "02.yaml")) == repr(made)


# --- the command line

# Nine lists of nine lists each, and so on: a line of 300 letters that would be 10^13 words.
_LISTS = [
    f",&{name} [{','.join([f'*{before}'] * 9)}]" for before, name in itertools.pairwise("abcdefghijklm")
]
_ALIASES = f"[&a [x,x,x,x,x,x,x,x,x]{''.join(_LISTS)}]"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["-p", "n_seed=3"], "did you mean 'n_seeds'?"),
        (["-p", "n_seeds=1"], "outside [2, 100]"),
        (["-p", "n_seeds=.nan"], "takes a whole number, got nan"),
        (["-p", "method=[joint]"], "takes a str, got ['joint']"),
        (["-p", "program=505"], "takes a str, got 505; write it in quotes"),
        (["-p", "profile=live"], "the profile is already the first argument of the command, 'smoke'"),
        (["-p", f"program={_ALIASES}"], "program takes a str, got [['x', 'x'"),
        (["-p", "program=!!timestamp x"], "program: the value '!!timestamp x' is not valid YAML"),
        (["-p", f"program={'[' * 600}"], "[[[[… is not valid YAML"),
        (["-p", "n_seeds=2026-13-45"], "n_seeds: the value '2026-13-45' is not valid YAML: month"),
    ],
)
def test_the_command_line_refuses_the_same(given, says):
    done = CliRunner().invoke(main, ["run", "smoke", "03", *given])
    assert (done.exit_code, done.stdout) == (2, "") and says in done.stderr


def test_a_choice_can_be_what_a_name_of_the_package_holds(tmp_path):
    parameters = 'method: str = "joint"  # cleaning\n'
    path = write_notebook(tmp_path / "n.ipynb", parameters, 'limits = {"method": "cmlib.clean.METHODS"}')
    report.check_parameters(path, {"method": "counterminer-printed"}, "-p")
    with pytest.raises(ValueError, match=r"none of scaling, .*did you mean 'interpolate'"):
        report.check_parameters(path, {"method": "interpolat"}, "-p")


def test_a_notebook_run_by_papermill_alone_refuses_a_wrong_type_as_well():
    with pytest.raises(ValueError, match="program takes a str, got 5"):
        begin("03_ranking", {}, program=5)


def test_widgets_are_shown_only_in_a_session_of_a_jupyter_server(tmp_path, monkeypatch):
    settings = {"interactive": True, "results_folder": str(tmp_path)}
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert not begin("03_ranking", settings).interactive
    monkeypatch.setenv("JPY_SESSION_NAME", "/notebooks/03_ranking.ipynb")
    assert begin("03_ranking", settings).interactive
    assert not begin("03_ranking", settings | {"interactive": False}).interactive


def test_results_of_plain_papermill_do_not_replace_those_of_a_profile(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_RESULTS", str(tmp_path))
    begin("03_ranking", {"profile": "paper"}, program="gcc").results.save()
    before = (tmp_path / "paper/03_ranking/manifest.json").stat().st_mtime_ns
    begin("03_ranking", {}, program="kmeans").results.save()
    assert (tmp_path / "paper/03_ranking/manifest.json").stat().st_mtime_ns == before
    assert (tmp_path / "papermill/03_ranking/manifest.json").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["notebook.stop", "raise UnfitRecordingError"])
def test_plain_papermill_ends_well_where_a_notebook_says_what_it_lacks(ending, tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_RESULTS", str(tmp_path / "results"))
    begun = (
        "from cmlib.errors import UnfitRecordingError\nfrom cmlib.report.notebook import begin\n"
        "notebook = begin('06_anomaly_detection', {})"
    )
    cells = [begun, f"{ending}('It needs cycles.')", "reached = True"]
    file = small_notebooks.write_notebook(
        tmp_path / "x.ipynb", *cells, parameters="program: str = 'all'  # name"
    )
    executed = papermill.execute_notebook(
        file, tmp_path / "out.ipynb", {"program": "gcc"}, progress_bar=False
    )
    *_, stopped, following = executed.cells
    assert [output.traceback for output in stopped.outputs if output.output_type == "error"] == [
        ["It needs cycles."]
    ]
    assert following.execution_count is None
    assert (tmp_path / "results/papermill/06_anomaly_detection").is_dir() == (ending == "notebook.stop")
