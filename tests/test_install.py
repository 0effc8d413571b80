"""A wheel has in it whatever the package reads, works from any folder, and keeps its own folder clean."""

import email
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[1]
EXAMPLES = [
    f"{name}/mlpx12-p0-00{suffix}"
    for name in ("bzip2", "gcc", "kmeans", "wordcount")
    for suffix in (".csv.gz", ".json")
]
SHIPPED = {
    "data/colocated": "cmlib/_shipped/colocated",
    "data/cost": "cmlib/_shipped/cost",
    "data/events": "cmlib/_shipped/events",
    "data/fingerprint": "cmlib/_shipped/fingerprint",
    "data/papers": "cmlib/_shipped/papers",
    "data/processors": "cmlib/_shipped/processors",
    "data/programs": "cmlib/_shipped/programs",
    "data/public": "cmlib/_shipped/public",
    "data/topdown": "cmlib/_shipped/topdown",
    "notebooks": "cmlib/_shipped/notebooks",
    "params": "cmlib/_shipped/params",
}


def files_under(folder, prefix):
    made = {"__pycache__", ".ipynb_checkpoints"}
    return {
        f"{prefix}/{file.relative_to(folder).as_posix()}"
        for file in folder.rglob("*")
        if file.is_file() and not made & set(file.parts)
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built by the backend itself, which needs no network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, folder], cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder of packages with the wheel in it: unpacking is what installing comes to."""
    folder = tmp_path_factory.mktemp("site packages ü")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


def in_folder(folder, installed, *command, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CMLIB_")}
    told = kept | {"PYTHONPATH": str(installed)} | environment
    return subprocess.run([sys.executable, *command], cwd=folder, env=told, capture_output=True, text=True)


def test_the_wheel_holds_the_package_and_all_it_reads_and_no_recordings(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}
    expected = files_under(ROOT / "cmlib", "cmlib")
    expected |= files_under(ROOT / "workloads/cmlib_workloads", "cmlib_workloads")
    for here, there in SHIPPED.items():
        expected |= files_under(ROOT / here, there)
    expected |= {f"cmlib/_shipped/recordings/{name}" for name in EXAMPLES}
    assert names == expected
    kinds = {Path(name).suffix for name in names}
    assert {".py", ".j2", ".c", ".cpp", ".h", ".hpp", ".scala", ".java", ".csv", ".yaml", ".ipynb"} <= kinds
    assert wheel.stat().st_size < 9e6  # public recordings, and notebooks with their figures


def test_the_wheel_says_what_it_needs(wheel):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(wheel) as packed:
        (about,) = (name for name in packed.namelist() if name.endswith("METADATA"))
        told = email.message_from_bytes(packed.read(about))
        (scripts,) = (name for name in packed.namelist() if name.endswith("entry_points.txt"))
        assert b"cmlib = cmlib.cli:main" in packed.read(scripts)
    needed = [line for line in told.get_all("Requires-Dist") if "extra ==" not in line]
    assert {re.split(r"[<>=]", line)[0] for line in needed} == {
        re.split(r"[<>=]", line)[0] for line in project["dependencies"]
    }
    assert told["Requires-Python"] == project["requires-python"]


def test_installed_it_finds_what_it_brings_and_writes_to_the_current_folder(installed, tmp_path):
    program = (
        "from cmlib import places, report; from cmlib.io import events\n"
        "shipped = map(places.shipped, ('events', 'papers'))\n"
        "for f in (*shipped, places.notebooks_dir(), places.params_dir()):\n"
        "    print(f.is_dir(), f)\n"
        "print(len(events.table()) > 100, len(report.paper('counterminer')) > 3)\n"
        "print(places.recordings_dir(), places.results_dir(), sep='\\n')\n"
    )
    done = in_folder(tmp_path, installed, "-c", program)
    assert done.returncode == 0, done.stderr
    *brought, read, recordings, results = done.stdout.splitlines()
    assert all(line.startswith(f"True {installed}/cmlib/_shipped/") for line in brought)
    assert read == "True True"
    assert (recordings, results) == (f"{tmp_path}/data/recordings", f"{tmp_path}/data/results")


def test_without_recordings_it_says_where_they_come_from_and_leaves_its_own_folder_as_it_was(
    installed, tmp_path
):
    before = files_under(installed, "")
    main = "from cmlib.cli import main; main()"
    done = in_folder(tmp_path, installed, "-c", main, "run", "smoke", "01")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    told = done.stderr.splitlines()[-1]
    assert f"nothing recorded yet under {tmp_path}/data/recordings: run `cmlib record NAME" in told
    assert "CMLIB_DATA" in told
    assert files_under(installed, "") == before


@pytest.mark.needs("cc", "valgrind")
def test_diagnose_has_its_tree_in_any_folder(installed, tmp_path):
    (tmp_path / "work.c").write_text(
        "int main(void) { volatile int n = 0; while (n < 300000) n++; return 0; }"
    )
    subprocess.run(["cc", "-o", "work", "work.c"], cwd=tmp_path, check=True)
    main = "from cmlib.cli import main; main()"
    diagnose = ["diagnose", "--simulate", "--json", "--keep", "work", "--", "./work"]
    done = in_folder(tmp_path, installed, "-c", main, *diagnose)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert {phase["class"] for phase in answer["phases"]} == {"N"}
    again = in_folder(tmp_path, installed, "-c", main, "diagnose", "--json", "--recorded", "work")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["phases"] == answer["phases"]
