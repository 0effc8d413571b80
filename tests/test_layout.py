"""The architecture as rules: who may touch what, and what notebooks look like."""

import ast
import functools
import graphlib
import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

from cmlib import places

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "cmlib").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
NOTEBOOKS = list(places.notebook_files().values())
SCRIPTS = sorted((ROOT / "notebooks/scripts").rglob("*.py"))


def load_pairing():
    spec = importlib.util.spec_from_file_location("pair_notebooks", ROOT / "tools/pair_notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pairing = load_pairing()

# What only some may import: package -> the modules of cmlib that may. CONTRIBUTING says the same.
RESERVED = {
    "subprocess": {"collect"},
    "sqlalchemy": {"io.store"},
    "pooch": {"io.public"},
    "requests": {"io.public"},
    "papermill": {"report"},
    "nbformat": {"report"},
    "nbconvert": {"report"},
    "matplotlib": {"plot", "explore"},
    "seaborn": {"plot"},
    "ipywidgets": {"explore"},
    "cmlib_workloads": set(),
}
# The storeys: what stands higher may import what stands lower, and nothing the other way round.
GROUND = {
    "errors",
    "extras",
    "intervals",
    "locations",
    "parallel",
    "passwords",
    "places",
    "plugins",
    "processors",
    "scratch",
    "segments",
    "shell",
    "spelling",
    "synthetic",
    "terminal",
    "templates",
}
METHODS = {
    "anomaly",
    "clean",
    "compress",
    "cost",
    "fingerprint",
    "interact",
    "merge",
    "rank",
    "topdown",
    "tuning",
}
SHOWS = {"plot", "explore", "report", "cli"}
ABOVE = {package: {"io", "collect", "compare", "experiments"} | SHOWS for package in METHODS} | {
    "io": {"collect", "compare", "experiments"} | SHOWS,
    "collect": {"compare", "experiments"} | SHOWS,
    "compare": {"experiments"} | SHOWS,
    "experiments": SHOWS,
}


def module_name(path):
    return ".".join(path.relative_to(ROOT / "cmlib").with_suffix("").parts)


@functools.cache
def imported(path):
    """Names that a file imports when it runs: not those that only type hints need."""
    names = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def belongs(module, owners):
    return any(module == owner or module.startswith(f"{owner}.") for owner in owners)


@functools.cache
def imports():
    """Every module of cmlib with every name that it imports."""
    return [(module_name(path), name) for path in MODULES for name in imported(path)]


def test_only_the_owner_touches_host_database_notebooks_and_canvas():
    owned = [(module, name, RESERVED.get(name.split(".")[0])) for module, name in imports()]
    wrong = [
        f"{module} imports {name}; only {owners} may"
        for module, name, owners in owned
        if owners is not None and not belongs(module, owners)
    ]
    assert not wrong, "\n".join(wrong)


def test_contributing_says_who_may_touch_what():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    sentence = next(part for part in text.split("\n\n") if "`tests/test_layout.py` holds them to it" in part)
    named = set(re.findall(r"`([\w.]+)`", sentence.partition("; `tests/")[0]))
    assert named == set.union(*RESERVED.values())


def test_no_storey_imports_what_stands_above_it():
    split = [(module, name.split(".")) for module, name in imports()]
    wrong = [
        f"{module} imports {'.'.join(parts)}"
        for module, parts in split
        if parts[0] == "cmlib" and parts[1:2] and parts[1] in ABOVE.get(module.split(".")[0], ())
    ]
    assert not wrong, "\n".join(wrong)


def test_methods_and_io_do_not_import_each_other():
    """What both need lies below them."""
    wrong = [
        f"{module} imports {name}"
        for module, name in imports()
        if (module.split(".")[0] == "io" and name.split(".")[1:2] and name.split(".")[1] in METHODS)
        or (module.split(".")[0] in METHODS and name.split(".")[1:2] == ["io"])
        if name.split(".")[0] == "cmlib"
    ]
    assert not wrong, "\n".join(wrong)


def test_every_package_has_its_storey():
    packages = {module.split(".")[0] for module, _ in imports()} - {"__init__", "__main__"}
    assert packages <= GROUND | METHODS | SHOWS | {"collect", "compare", "io", "experiments"}


def test_no_error_for_users_is_a_plain_value_error():
    """The command line takes a ValueError for a bug; InputError is the one for users."""
    files = [*MODULES, *sorted((ROOT / "workloads").rglob("*.py"))]
    assert [file.name for file in files if "raise ValueError" in file.read_text(encoding="utf-8")] == []


def test_no_two_packages_import_each_other():
    needs = {}
    for module, name in imports():
        package, parts = module.split(".")[0], name.split(".")
        if parts[0] == "cmlib" and parts[1:2] not in ([], [package]):
            needs.setdefault(package, set()).add(parts[1])
    list(graphlib.TopologicalSorter(needs).static_order())  # a CycleError names them


def test_plots_compute_nothing():
    allowed = {
        "matplotlib",
        "seaborn",
        "math",
        "functools",
        "itertools",
        "collections",
        "typing",
        "__future__",
    }
    for path in (ROOT / "cmlib/plot").glob("*.py"):
        for name in imported(path):
            own = name.startswith(("cmlib.plot", "cmlib.places"))  # colours lie in a file
            assert own or name.split(".")[0] in allowed, f"{path.name} imports {name}"


def test_modules_are_named_for_what_they_do():
    vague = {"utils", "core", "helpers", "common", "misc"}
    wrong = [str(path.relative_to(ROOT)) for path in (*MODULES, *TESTS) if path.stem in vague]
    assert not wrong, "\n".join(wrong)


def test_notebooks_are_equal_to_their_scripts():
    assert [pairing.notebook_of(script) for script in SCRIPTS] == sorted(NOTEBOOKS)
    for script in SCRIPTS:
        notebook = nbformat.read(pairing.notebook_of(script), as_version=4)
        assert script.read_text(encoding="utf-8") == pairing.to_script(notebook), (
            f"{script.name} differs from its notebook: python tools/pair_notebooks.py"
        )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_name_their_kernel_and_no_pair(path):
    metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
    assert {"name", "language"} <= set(metadata["kernelspec"])
    assert "jupytext" not in metadata, "JupyterLab would refuse it once its script is more recent"


def test_notebooks_assert_nothing():
    """They run for recordings of which nobody knows what they show; what must hold is tested here."""
    wrong = [
        f"{path.name}, line {node.lineno}"
        for path in SCRIPTS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
    ]
    assert not wrong, "\n".join(wrong)


def test_stored_outputs_are_small_and_of_no_machine():
    texts = {path.stem: path.read_text(encoding="utf-8") for path in NOTEBOOKS}
    assert sum(map(len, texts.values())) <= 8_000_000
    for name, text in texts.items():
        outputs = [output for cell in json.loads(text)["cells"] for output in cell.get("outputs", [])]
        assert not [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"], name
        seen = json.dumps([o.get("data", {}).get("text/html", o.get("text", "")) for o in outputs])
        assert not re.search(r"/(home|root|tmp|work|Users)/\w", seen), f"{name} names a path of a machine"
        assert "display.Markdown object" not in text, f"{name} lacks what an output shows: make notebooks"


@pytest.mark.parametrize("profile", ["smoke", "paper", "live"])
def test_every_notebook_has_right_parameters_in_every_profile(profile):
    from cmlib.report.planning import plan

    jobs = plan(profile)
    assert [job.notebook for job in jobs] == NOTEBOOKS
    place = "live/all" if profile == "live" else profile
    assert all(job.parameters["profile"] == place and not job.parameters.get("interactive") for job in jobs)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "params").glob("*/*.yaml")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_a_file_of_parameters_says_what_differs_from_the_notebook(path):
    """And its profile, so that plain papermill puts the results where they belong."""
    from cmlib.report import declared_parameters, read_parameters

    given = read_parameters(path)
    declared = declared_parameters(places.notebook_files()[path.stem])
    assert given.pop("profile") == path.parent.name
    assert given and all(declared[name].default != value for name, value in given.items())


def test_the_paper_profile_names_the_programs_that_come_with_cmlib():
    """So that a user's own recordings never change the report of the papers."""
    from cmlib.report.planning import plan

    shipped = {path.name for path in (ROOT / "data/recordings").iterdir()}
    for job in plan("paper"):
        takes_recordings = {"database", "program"} <= set(job.declared)
        if takes_recordings and "pairs" not in job.declared:
            assert set(job.parameters["program"].split(",")) <= shipped, job.name


def test_what_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *extras["cluster"], *extras["compare"]]
    declared = {re.split(r"[\[<>=]", need)[0].lower() for need in needs}
    records = (importlib.metadata.distribution(name).read_text("RECORD") for name in declared)
    brought = {
        name for record in records for name in re.findall(r"^(\w+)(?:/\S*)?\.py,", record, re.MULTILINE)
    }
    sources = [*MODULES, *(ROOT / "workloads").rglob("*.py"), *SCRIPTS]
    packages = {name.split(".")[0] for path in sources for name in imported(path)}
    foreign = packages - set(sys.stdlib_module_names) - {"cmlib", "cmlib_workloads"}
    assert foreign <= brought, foreign - brought


def test_conda_and_pip_share_one_list():
    import yaml

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    lowest = re.search(r"\d+\.\d+", project["requires-python"])[0]
    tried = [c.rsplit(" ", 1)[1] for c in project["classifiers"] if "Python :: 3." in c]
    assert tried[0] == lowest and tried == [f"3.{minor}" for minor in range(11, 11 + len(tried))]
    above = f"3.{int(tried[-1].split('.')[1]) + 1}"
    assert conda == [f"python>={lowest},<{above}", "pip", {"pip": ["-e .[compare]"]}]
    locked = {line.split("==")[0] for line in (ROOT / "requirements.lock").read_text().splitlines()}
    extras = project["optional-dependencies"]
    for need in (
        project["dependencies"] + extras["dev"] + extras["cluster"] + extras["compare"] + extras["postgres"]
    ):
        assert re.split(r"[\[<>=]", need)[0].lower() in locked, (
            f"{need} is not in requirements.lock: make lock"
        )


@pytest.mark.needs("git")
def test_no_address_and_no_path_of_a_machine_is_kept():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    text = {
        ".py",
        ".md",
        ".toml",
        ".yml",
        ".yaml",
        ".lock",
        ".json",
        ".csv",
        ".ipynb",
        ".c",
        ".h",
        ".cpp",
        ".sh",
        "",
    }
    for name in listed:
        path = ROOT / name
        if path.suffix in text and path.is_file() and path != Path(__file__):
            content = path.read_text(encoding="utf-8", errors="replace")
            found = re.search(
                r"(?<![\w.])/(?:work|root|home/\w+)/\w|--(?:extra-)?index-url|/opt/pypi", content
            )
            assert found is None, f"{name} holds {found[0]!r}"
