"""The same results in this process, in worker processes and on a cluster, whatever becomes of the workers."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from distributed import Client

import cmlib
from cmlib.parallel import Workers, WorkersLostError, parallel_map
from tests import tasks
from tests.processes import has_ended, wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]

# Each task leaves the number of its process; the first ones are quick, so that results have come.
SCRIPT = """\
import os, sys, time
from pathlib import Path

from cmlib.parallel import Workers, parallel_map

def work(number):
    Path(FOLDER, f"{os.getpid()}.pid").touch()
    time.sleep(0 if number < 3 else 600)
    return number

FOLDER, workers = sys.argv[1], Workers(2, *sys.argv[2:])
try:
    for number in parallel_map(work, range(50), workers):
        print(number, flush=True)
except KeyboardInterrupt:
    sys.exit("interrupted")
"""

NOTEBOOK = """\
import os, time
from pathlib import Path
from cmlib.parallel import Workers, parallel_map
from cmlib.report import Results
results = Results("01_slow", title="Slow", question="How long?", profile="tiny", folder=results_folder or None)
results.number("steps", 1)
Path(FOLDER, f"{os.getpid()}.pid").touch()
list(parallel_map(work, range(50), Workers(2)))
"""


def waits(pid):
    """Whether a process sleeps until something happens, and not for a moment only."""

    def sleeps():
        time.sleep(0.01)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"

    return all(sleeps() for _ in range(10))


@contextlib.contextmanager
def as_from_a_terminal(*command, **options):
    """A Python process in a group of its own, which gets Ctrl-C with all it has started; killed at the end."""
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT}
    command = [sys.executable, *map(str, command)]
    with subprocess.Popen(command, start_new_session=True, **piped, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def pids(folder):
    return [int(path.stem) for path in folder.glob("*.pid")]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Start a process that lasts as long as this module's tests."""
    folder, processes = tmp_path_factory.mktemp("dask"), []

    def start(*command):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        processes.append(subprocess.Popen([sys.executable, *map(str, command)], **quiet))
        return processes[-1]

    yield start
    for process in reversed(processes):
        process.terminate()
        process.wait(20)


WORKER = ("--no-dashboard", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")


@pytest.fixture(scope="module")
def cluster(start, tmp_path_factory):
    """A real scheduler and two workers, each a process of its own, on loopback."""
    file = tmp_path_factory.mktemp("dask") / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)
    start("-m", "distributed.cli.dask_scheduler", *options)
    workers = [start("-m", "distributed.cli.dask_worker", "--scheduler-file", file, *WORKER) for _ in "12"]
    assert wait_until(file.exists)
    with Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(2, timeout=300)
        yield client, workers


def on(cluster):
    return Workers(executor="dask", scheduler=cluster[0].scheduler.address)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"executor": "threads"}, "executor is 'processes', or 'dask' with"),
        ({"executor": "dask"}, "scheduler '': .*`dask scheduler`"),
        ({"scheduler": "tcp://127.0.0.1:8786"}, "executor is 'processes', and scheduler 'tcp"),
    ],
)
def test_workers_that_do_not_go_together_are_refused(given, says):
    with pytest.raises(ValueError, match=says):
        Workers(**given)


@pytest.mark.parametrize("jobs", [1, 2, -1])
def test_results_keep_the_order(jobs):
    assert list(parallel_map(tasks.square, range(7), Workers(jobs))) == [0, 1, 4, 9, 16, 25, 36]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_worker_comes_back(jobs):
    with pytest.raises(ArithmeticError, match="three"):
        list(parallel_map(tasks.fail_on_three, range(5), Workers(jobs)))


def test_nothing_to_do_is_no_error():
    assert list(parallel_map(tasks.square, [])) == []


def test_what_is_done_in_a_worker_stays_there():
    for own, inner in parallel_map(tasks.own_and_nested_pids, range(4), Workers(2)):
        assert inner == [own] * 3 and own != os.getpid()


def test_a_killed_process_is_told_and_the_next_work_is_done():
    with pytest.raises(WorkersLostError, match="a worker process died.*jobs=1"):
        list(parallel_map(tasks.die, ["x", "y"], Workers(2)))
    assert list(parallel_map(tasks.square, range(3), Workers(2))) == [0, 1, 4]


def test_no_scheduler_is_said(monkeypatch):
    monkeypatch.setattr("cmlib.parallel._PATIENCE_S", 1)
    with pytest.raises(ValueError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        list(parallel_map(tasks.square, [1], Workers(executor="dask", scheduler="tcp://127.0.0.1:9")))


@pytest.mark.full
def test_a_cluster_gives_the_same_results_and_errors(cluster):
    assert list(parallel_map(len, ["a", "bb", "", "dddd"], on(cluster))) == [1, 2, 0, 4]
    with pytest.raises(TypeError):
        list(parallel_map(len, [1], on(cluster)))


@pytest.mark.parametrize("where", ["processes", pytest.param("dask", marks=pytest.mark.full)])
def test_interrupted_a_script_leaves_no_process_and_no_task(where, tmp_path, request):
    told, client = [], None
    if where == "dask":
        client, _ = request.getfixturevalue("cluster")
        told = ["dask", client.scheduler.address]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("600", "600" if where == "processes" else "1"))
    with as_from_a_terminal(script, tmp_path, *told) as running:
        assert [running.stdout.readline() for _ in range(3)] == ["0\n", "1\n", "2\n"]
        # Python drops an interrupt that comes while a future is deleted: it must come while the next one is waited for.
        assert wait_until(lambda: waits(running.pid))
        os.killpg(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=300)
    assert (running.returncode, said) == (1, "interrupted\n")
    if client is None:
        assert wait_until(lambda: all(map(has_ended, pids(tmp_path))))
    else:
        assert wait_until(lambda: client.run_on_scheduler(lambda dask_scheduler: not dask_scheduler.tasks))


def test_processes_end_with_a_parent_that_was_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with as_from_a_terminal(script, tmp_path):
        assert wait_until(lambda: pids(tmp_path))
        workers = pids(tmp_path)
    assert wait_until(lambda: all(map(has_ended, workers)))


def test_an_interrupted_run_leaves_nothing_half_written(tmp_path):
    (tmp_path / "params/tiny").mkdir(parents=True)
    (tmp_path / "params/tiny/01_slow.yaml").write_text("profile: tiny\n")
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "language": "python", "display_name": "Python 3"}
    lines = 'profile: str = "paper"  # folder\nresults_folder: str = ""  # where results go\n'
    work = f"FOLDER = {str(tmp_path)!r}\n{SCRIPT[SCRIPT.index('def work') : SCRIPT.index('FOLDER, workers')]}"
    tagged = nbformat.v4.new_code_cell(lines, metadata={"tags": ["parameters"]})
    notebook.cells = [tagged, *map(nbformat.v4.new_code_cell, (NOTEBOOK.splitlines()[0], work, NOTEBOOK))]
    nbformat.write(notebook, tmp_path / "01_slow.ipynb")
    command = (
        "import sys; from pathlib import Path; from cmlib import cli, places; folder = Path(sys.argv.pop(1)); "
        "places.notebooks_dir = lambda: folder; places.params_dir = lambda: folder / 'params'; cli.main()"
    )
    environment = os.environ | {"CMLIB_RESULTS": str(tmp_path / "results")}
    with as_from_a_terminal("-c", command, tmp_path, "run", "tiny", env=environment) as running:
        assert wait_until(lambda: len(pids(tmp_path)) == 3 or running.poll() is not None)
        os.killpg(running.pid, signal.SIGINT)
        said, complained = running.communicate(timeout=300)
    assert (running.returncode, said) == (2, ""), complained
    assert complained.strip().endswith("Aborted!") and "Traceback" not in complained
    assert wait_until(lambda: all(map(has_ended, pids(tmp_path))))
    left = {file.name for file in (tmp_path / "results").glob("*/*")}
    assert left <= {".lock"}  # the lock is the system's; its file stays


@pytest.mark.full
def test_a_worker_killed_at_work_costs_a_cluster_nothing_but_time(cluster, tmp_path):
    _, workers = cluster
    once = functools.partial(tasks.die_once, folder=tmp_path)
    assert list(parallel_map(once, range(20), on(cluster))) == list(range(20))
    assert wait_until(lambda: any(worker.poll() is not None for worker in workers))


@pytest.mark.full
def test_another_version_is_refused(cluster, monkeypatch):
    monkeypatch.setattr(cmlib, "__version__", "99.0")
    with pytest.raises(ValueError, match=r"has cmlib .*; this is cmlib 99.0. Install it there"):
        list(parallel_map(len, ["a"], on(cluster)))


@pytest.mark.full
def test_a_worker_without_the_package_is_refused(cluster, start):
    client, _ = cluster
    before = len(client.scheduler_info()["workers"])
    bare = "import sys; sys.modules['cmlib'] = None; from distributed.cli.dask_worker import main; main()"
    start("-c", bare, client.scheduler.address, *WORKER)
    client.wait_for_workers(before + 1, timeout=300)
    with pytest.raises(ValueError, match=r"Dask worker .* cannot import cmlib .*Install it there"):
        list(parallel_map(len, ["a"], on(cluster)))
