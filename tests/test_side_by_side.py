"""Notebooks that run side by side, and two runs that want the same results."""

import importlib.metadata
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cmlib import places, report
from cmlib.report.run import lock_results
from tests.processes import wait_until
from tests.small_notebooks import SUMMARY, saving, write_profile

pytestmark = pytest.mark.slow

# Ends when the second notebook has begun, which that never does where they run one after the other.
FIRST = """
import os, time
while not os.path.exists("begun"):
    time.sleep(0.02)
"""
# Begins, and fails when it has seen the page with what the first has found.
SECOND = """
import pathlib, time
pathlib.Path("begun").touch()
while not (page := pathlib.Path("index.html")).exists():
    time.sleep(0.02)
pathlib.Path("seen.html").write_text(page.read_text())
1 / 0
"""
# Ports of TCP would be given twice to kernels that begin at once, and one would die.
SETTING = """
import ipykernel.connect
r.number("jobs", jobs)
r.number("threads", int(os.environ["OMP_NUM_THREADS"]))
r.number("by_socket", ipykernel.connect.get_connection_info(unpack=True)["transport"] == "ipc")
"""


@pytest.fixture
def profile(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "notebooks_dir", lambda: tmp_path / "notebooks")
    monkeypatch.setattr(places, "params_dir", lambda: tmp_path / "params")
    return lambda cells: write_profile(tmp_path, cells)


def test_two_run_at_a_time_and_their_pages_are_there_while_the_rest_runs(profile, tmp_path):
    """They share the processes; one fails, and the others go on; what reads results comes last."""
    summary = saving("00_summary", SUMMARY)
    profile({"00_summary": summary, "01_first": FIRST + saving("01_first", SETTING), "02_failing": SECOND})
    with pytest.raises(
        report.NotebookError, match=r"^02_failing\.ipynb, cell 3 .*ZeroDivisionError"
    ) as raised:
        report.run_profile("tiny", parameters={"jobs": 3}, results=tmp_path)
    made = tmp_path / "tiny"
    assert str(made / "02_failing.failed.ipynb") in str(raised.value)
    manifest = json.loads((made / "01_first/manifest.json").read_text())
    assert {n["name"]: n["value"] for n in manifest["numbers"]} == {
        "jobs": 1,
        "threads": 1,
        "by_socket": 1,
    }
    assert "01_first,jobs" in (made / "00_summary/numbers.csv").read_text()
    seen, page = (made / "seen.html").read_text(), (made / "index.html").read_text()
    assert 'href="01_first/01_first.html"' in seen and 'href="00_summary/00_summary.html"' not in seen
    waiting = re.search(r'<details class="running".*?</details>', seen, re.DOTALL).group()
    assert re.findall(r"<li>(.*?)</li>", waiting) == ["The title of 00_summary", "The title of 02_failing"]
    assert 'class="running"' not in page and 'href="00_summary/00_summary.html"' in page
    assert "Failed when last run" in page and "02_failing.failed.ipynb" in page
    assert list(made.glob("*.partial*")) == []


def test_a_kernel_that_dies_is_told_and_the_other_notebook_is_finished(profile, tmp_path):
    profile(
        {
            "01_first": "import os\nos.kill(os.getpid(), 9)",
            "02_second": saving("02_second"),
        }
    )
    with pytest.raises(
        report.NotebookError, match=r"01_first\.ipynb: its kernel could not be started or died"
    ):
        report.run_profile("tiny", parameters={"jobs": 2}, results=tmp_path)
    assert {file.name for file in (tmp_path / "tiny").iterdir()} == {
        ".lock", "01_first", "02_second", "answers.json", "index.html", "terms.html",
    }  # fmt: skip
    # Where it had no page, it is shown as stored, so that links to it work.
    assert [file.name for file in (tmp_path / "tiny/01_first").iterdir()] == ["01_first.html"]


CLASSES_BY_STRINGS = """
from jupyter_client import AsyncKernelClient, AsyncKernelManager
from cmlib.report import kernels
def list_names():
    classes = {*AsyncKernelManager.__mro__, *AsyncKernelClient.__mro__}
    traits = {name: trait for cls in classes for name, trait in vars(cls).items()}
    return [name for name, trait in traits.items() if isinstance(getattr(trait, "klass", None), str)]
assert list_names()
kernels.import_kernel_classes()
assert not list_names(), list_names()
"""


def test_threads_that_start_kernels_find_all_classes_imported():
    """Two threads that import a class of Jupyter's at the same time can fail with a TypeError."""
    subprocess.run([sys.executable, "-c", CLASSES_BY_STRINGS], check=True)


RUNNING = """
import sys
import textwrap
from pathlib import Path
from cmlib import places
from cmlib.cli import main
folder = Path(sys.argv[1])
places.notebooks_dir, places.params_dir = lambda: folder / "notebooks", lambda: folder / "params"
main(["run", "tiny", "--jobs", "2", "-p", f"results_folder={folder}"])
"""
FOR_EVER = """
import os, time
os.mkdir("{0}.partial")
open("begun-{0}", "w").write(str(os.getpid()))
time.sleep(600)
"""


@pytest.fixture
def running(profile, tmp_path):
    """A function that starts a run of two notebooks that don't end; the process, and those of its notebooks."""
    profile({name: FOR_EVER.format(name) for name in ("01_first", "02_second")})
    started = []

    def start():
        command = [sys.executable, "-c", RUNNING, str(tmp_path)]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(run)
        begun = [tmp_path / "tiny/begun-01_first", tmp_path / "tiny/begun-02_second"]
        assert wait_until(lambda: all(f.exists() and f.read_text() for f in begun), 300)
        return run, [int(file.read_text()) for file in begun]

    yield start
    for run in started:
        run.kill()
        run.communicate()


def test_a_second_run_is_refused_and_one_that_was_killed_is_not_in_the_way(running, tmp_path):
    run, kernels = running()
    drafts = sorted(file.name for file in (tmp_path / "tiny").glob("*.partial*"))
    assert len(drafts) == 2
    with pytest.raises(report.ResultsBusyError, match=r"another `cmlib run` is writing"):
        report.run_profile("tiny", results=tmp_path)
    assert sorted(file.name for file in (tmp_path / "tiny").glob("*.partial*")) == drafts
    run.kill()
    run.wait()
    with lock_results(tmp_path / "tiny"):
        pass
    assert wait_until(lambda: not any(map(is_running, kernels)))


# A file, as the command `cmlib` is one: its folder is searched for modules, and the current one is not.
BESIDE = "if __name__ == '__main__':\n" + textwrap.indent(RUNNING, "    ")
SEARCHED = "import sys; r.number('searched', '' in sys.path)"
WORKING = f"""
import cmlib.explore, cmlib.plot, cmlib.experiments, lightgbm, seaborn, sklearn.ensemble
from cmlib.parallel import Workers, parallel_map
assert list(parallel_map(abs, range(-9, 0), Workers(2))) == list(range(9, 0, -1))
{SEARCHED}
"""


@pytest.mark.full
def test_nothing_is_imported_from_the_current_folder(profile, tmp_path):
    """Neither from the one that the command is given in nor from the results, where kernels work."""
    names = (
        {"cmlib", *sys.stdlib_module_names}
        | importlib.metadata.packages_distributions().keys()
        | {name.partition(".")[0] for name in sys.modules}
    )
    (tmp_path / "tiny").mkdir()
    (tmp_path / "here").mkdir()
    for name in filter(str.isidentifier, names - {"__main__"}):
        for folder in (tmp_path / "here", tmp_path / "tiny"):
            (folder / f"{name}.py").write_text(
                f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r} + chr(10))\nraise SystemExit({name!r})"
            )
    profile({"01_first": saving("01_first", WORKING), "02_second": saving("02_second", SEARCHED)})
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/run.py").write_text(BESIDE)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "bin/run.py"), str(tmp_path)],
        cwd=tmp_path / "here",
        capture_output=True,
        text=True,
        timeout=300,
    )
    imported = tmp_path / "imported"
    assert not imported.exists(), set(imported.read_text().split())
    assert done.returncode == 0, done.stderr
    for name in ("01_first", "02_second"):
        assert json.loads((tmp_path / f"tiny/{name}/manifest.json").read_text())["numbers"][0]["value"] == 0


def is_running(pid):
    """Whether there is such a process, that is not a dead one nobody has asked for yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
