"""Run the commands for a user's own program exactly as README shows them.

`run live` is in browser/test_own_program.py; `diagnose` on a machine with counters in test_fingerprint.py.
"""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.detector import AutoPerf
from cmlib.cli import main
from cmlib.collect import machine, record
from cmlib.compare import comparison
from tests.perf_output import GOLDEN

ROOT = Path(__file__).parents[1]
OWN = ("record", "import", "run", "diagnose", "compare")
RECORD, IMPORT = "record myapp -- ./myapp --its arguments", "import NAME FILE…"
TRY_OUT = "import tryout data/recordings/gcc/sweep-p0-09.csv.gz"
SUMMARIZE, REMOVE = "summarize data/recordings/gcc/sweep-p0-09.csv.gz", "remove tryout"
SERVICE = "record service --pid 812 --seconds 60"
DIAGNOSE, COMPARE = "diagnose -- ./myapp", "compare './old' './new'"
ELSEWHERE = {
    "diagnose --simulate -- ./myapp",  # test_simulated_diagnosis.py
    "compare --history FOLDER",  # test_history.py
    "run live -p program=tryout",
    "run live -p program=myapp",
    "run paper",  # test_report.py
    "run smoke",  # smoke_profile.py
    "record myapp --samples --compress -- ./myapp",  # test_samples.py
    "record myapp --simulate -- ./myapp",  # test_simulate.py
    "record --program sort",  # test_programs.py
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with programs of the names in README, and a machine whose counters can't be read."""
    for name in ("myapp", "old", "new"):
        (tmp_path / name).write_text("#!/bin/sh\nls / >/dev/null\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "myapp").write_text("#!/bin/sh\nls / >/dev/null\nsleep 0.25\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path / "data"))
    none = machine.Census(0, 0, complaint="branches:u was not counted")
    monkeypatch.setattr(machine, "census", lambda: none)
    return tmp_path


def typed(line, **names):
    words = [names.get(word, word) for word in shlex.split(line)]
    return CliRunner().invoke(
        main, [part for word in words for part in ([word] if isinstance(word, str) else word)]
    )


def test_readme_is_short():
    """The list of studies does not count, so that studies can be added."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, _, after = text.partition("Studies ask further questions")
    assert len(before.split()) + len(after.partition("\n## ")[2].split()) <= 700


def test_every_line_for_one_s_own_program_is_typed_in_some_test():
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/commands.md"))
    found = {
        line.split(" # ")[0].split("   #")[0].strip()
        for line in re.findall(rf"(?<!from )cmlib ((?:{'|'.join(OWN)}) [^`\n]*)", text)
    }
    assert found == {RECORD, IMPORT, TRY_OUT, SERVICE, DIAGNOSE, COMPARE} | ELSEWHERE


@pytest.mark.needs("perf")
def test_a_program_is_recorded(folder):
    done = typed(RECORD)
    assert done.exit_code == 0, done.output
    assert "recorded instead: page-faults" in done.stderr and "cmlib run live -p program=myapp" in done.stdout
    runs = record.existing_runs(folder / "data/recordings/myapp")
    assert list(runs) == ["software-p0-00", "software-p1-00", "software-p2-00"]
    assert {meta["command"] for meta in runs.values()} == {"./myapp --its arguments"}


@pytest.mark.needs("perf")
def test_a_running_service_is_recorded(folder):
    with subprocess.Popen(["sh", "-c", "while :; do ls / >/dev/null; done"]) as service:
        done = typed(SERVICE, **{"812": str(service.pid), "60": "2"})
        service.kill()
    assert done.exit_code == 0, done.output
    assert "counting sh (process" in done.stderr and "cmlib run live -p program=service" in done.stdout
    assert list(record.existing_runs(folder / "data/recordings/service")) == ["software-p0-00"]


def test_the_example_file_is_imported_and_removed(folder):
    name = TRY_OUT.split()[-1]
    done = typed(TRY_OUT, **{name: str(ROOT / name)})
    assert done.exit_code == 0, done.output
    assert "Study it: cmlib run live -p program=tryout" in done.stderr
    assert list(record.existing_runs(folder / "data/recordings/tryout")) == ["mlpx12-p0-00"]
    assert CliRunner().invoke(main, REMOVE.split(), input="y\n").exit_code == 0
    assert not (folder / "data/recordings/tryout").exists()


def test_the_summary_of_the_example_file_is_the_one_shown():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f".venv/bin/cmlib {line}" in readme for line in (SUMMARIZE, REMOVE))
    (shown,) = re.findall(r"^```text\n(.*)\n```$", readme, re.M)
    name = SUMMARIZE.split()[-1]
    assert shown in typed(SUMMARIZE, **{name: str(ROOT / name)}).stdout.splitlines()


def test_files_are_imported(folder):
    files = [str(GOLDEN / f"perf-6.1-zen5/{name}.csv") for name in ("ocoe", "mlpx")]
    done = typed(IMPORT, NAME="myapp", **{"FILE…": files})
    assert done.exit_code == 0, done.output
    assert "12 of 12 event names are those of the event table `amd_zen5`" in done.stderr
    assert list(record.existing_runs(folder / "data/recordings/myapp")) == ["mlpx12-p0-00", "ocoe-p0-00"]


def test_a_diagnosis_says_what_it_lacks():
    done = typed(DIAGNOSE)
    assert done.exit_code == 2 and "cmlib diagnose --simulate" in done.stderr


@pytest.mark.full
@pytest.mark.needs("perf")
def test_two_versions_are_compared(monkeypatch):
    quick = Autoencoder(n_starts=1, epochs=50)
    monkeypatch.setattr(
        comparison, "AutoPerf", lambda **how: AutoPerf(autoencoder=quick, max_clusters=1, folds=3, **how)
    )
    done = typed(COMPARE)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("no change")
