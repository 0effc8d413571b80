"""The same results in this process, in worker processes and on a cluster."""

import subprocess
import sys
import time

import pytest
from distributed import Client

import cmlib
from cmlib.fanout import Workers, fan_out


def square(n):
    return n * n


def fail_on_three(n):
    if n == 3:
        raise ArithmeticError("three")
    return n


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A real scheduler and two workers, each a process of its own, on loopback."""
    folder = tmp_path_factory.mktemp("dask")
    address = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    processes = [subprocess.Popen([*command, "--no-dashboard", "--scheduler-file", str(address)], **quiet)]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(address)]
    worker += ["--no-dashboard", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1"]
    try:
        processes += [subprocess.Popen(worker, **quiet) for _ in range(2)]
        deadline = time.monotonic() + 60
        while not address.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        with Client(scheduler_file=str(address), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            yield client.scheduler.address, processes[1:]
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(20)


@pytest.mark.parametrize("jobs", [1, 2, -1])
def test_results_keep_the_order(jobs):
    assert list(fan_out(square, range(7), Workers(jobs))) == [0, 1, 4, 9, 16, 25, 36]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_worker_comes_back(jobs):
    with pytest.raises(ArithmeticError, match="three"):
        list(fan_out(fail_on_three, range(5), Workers(jobs)))


def test_nothing_to_do_is_no_error():
    assert list(fan_out(square, [])) == []


def test_no_scheduler_is_said():
    with pytest.raises(ValueError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        list(fan_out(square, [1], Workers(executor="dask", scheduler="tcp://127.0.0.1:9")))


def test_a_cluster_gives_the_same_and_survives_a_lost_worker(cluster):
    address, workers = cluster
    assert list(fan_out(len, ["a", "bb", "", "dddd"], Workers(executor="dask", scheduler=address))) == [
        1,
        2,
        0,
        4,
    ]
    with pytest.raises(TypeError):
        list(fan_out(len, [1], Workers(executor="dask", scheduler=address)))
    workers[0].kill()
    assert list(
        fan_out(len, ["a" * n for n in range(9)], Workers(executor="dask", scheduler=address))
    ) == list(range(9))


def test_workers_of_another_version_are_refused(cluster, monkeypatch):
    monkeypatch.setattr(cmlib, "__version__", "99.0")
    with pytest.raises(ValueError, match=r"has cmlib .*; this is cmlib 99.0. Install it there"):
        list(fan_out(len, ["a"], Workers(executor="dask", scheduler=cluster[0])))
