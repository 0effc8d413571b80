"""Recipes: what they promise, how servers start, fail and stop, and how inputs are kept."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from cmlib.cli import main
from cmlib.errors import CmlibError
from cmlib.experiments.tuning.labels import program_label
from cmlib.experiments.tuning.settings import TABLE_IV
from cmlib_workloads import cpu
from cmlib_workloads.catalog import lacking, prepared, recipe, recipes, to_record
from cmlib_workloads.recipe import (
    LaunchSpec,
    cached_input,
    check_installed,
    folder,
    missing_modules,
    missing_packages,
    run_tool,
    scratch,
)
from cmlib_workloads.server import Server, ServerError, descendants
from cmlib_workloads.servers import datacaching, together, wrk
from tests.processes import wait_until

HIBENCH = {"wordcount", "sort", "pagerank", "aggregation", "join", "scan", "bayes", "kmeans"}
CLOUDSUITE = {
    *("dataanalytics", "datacaching", "dataserving", "graphanalytics"),
    *("inmemoryanalytics", "mediastreaming", "websearch", "webserving"),
}
LISTENER = """
import socket, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    print("listening", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def ports():
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


@pytest.fixture
def port(ports):
    return ports[0]


def listener(tmp_path, port, **options):
    return Server("listener", [sys.executable, "-c", LISTENER, port], tmp_path / "log", port=port, **options)


def alive(pid):
    return Path(f"/proc/{pid}").exists()


def test_the_papers_programs_and_pairs_have_recipes():
    suites = {}
    for name, found in recipes().items():
        assert name == found.name == recipe(name).name
        suites.setdefault(found.suite, set()).add(name)
    assert suites["HiBench"] == HIBENCH
    assert suites["CloudSuite 3.0"] == CLOUDSUITE
    assert suites["co-located"] == {"datacaching-datacaching", "datacaching-graphanalytics"}
    assert {"bzip2", "gcc"} <= suites["SPEC CPU2006"]


def test_a_recipe_says_what_runs_and_on_what_input():
    for found in recipes().values():
        assert all([found.stands_for, found.framework, found.input, found.packages])
        assert any(character.isdigit() for character in found.input) or found.suite == "co-located"


def test_a_program_without_a_function_is_named(monkeypatch):
    monkeypatch.delitem(cpu.MAKERS, "bzip2")
    with pytest.raises(CmlibError, match="'bzip2' .* MAKERS"):
        recipes.__wrapped__()


def test_unknown_names_options_and_scales_are_refused():
    with pytest.raises(CmlibError, match="no recipe for 'sorted'; there are wordcount"):
        prepared("sorted")
    with pytest.raises(CmlibError, match="no option master; it takes none"):
        prepared("bzip2", options={"master": "standalone"})
    with pytest.raises(CmlibError, match="scale must be above 0, got 0"):
        prepared("bzip2", scale=0)


def test_what_is_missing_is_named_with_what_helps():
    lacking = replace(recipe("bzip2"), packages=("bzip2", "no-such-package"), modules=("no_such_module",))
    assert missing_packages(lacking.packages)[-1] == "no-such-package"
    assert missing_modules(lacking.modules) == ["no_such_module"]
    with pytest.raises(CmlibError, match=r"'bzip2' can't run here.*apt-get install .*no-such-package.*pip"):
        check_installed(lacking)


def test_java_may_come_from_any_package(tmp_path, monkeypatch):
    (tmp_path / "java").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "default-jre-headless" in missing_packages(recipe("sort").packages)
    (tmp_path / "java").chmod(0o755)
    assert missing_packages(recipe("sort").packages) == []


def test_what_every_program_lacks_is_told():
    lacked = lacking()
    assert set(lacked) == set(recipes())
    for name, words in lacked.items():
        own = recipe(name)
        modules = [f"{module} (Python)" for module in missing_modules(own.modules)]
        assert sorted(words) == sorted([*missing_packages(own.packages), *modules])


@pytest.mark.parametrize("wrong", [{"scale": 0}, {"options": {"spark.x": "1"}}])
def test_what_is_to_be_recorded_is_checked_at_once(wrong):
    with pytest.raises(CmlibError, match="bzip2"):
        to_record("bzip2", **wrong)


def test_the_list_names_every_program():
    done = CliRunner().invoke(main, ["programs"])
    assert done.exit_code == 0
    assert all(name in done.output for name in recipes())


def test_labels_do_not_depend_on_the_order_of_options():
    one = program_label("sort", options={"spark.b": "1", "spark.a": "2"})
    assert one == program_label("sort", options={"spark.a": "2", "spark.b": "1"})
    assert one == "cmlib record --program sort --scale 1 --option spark.a=2 --option spark.b=1"


def test_table_iv_is_whole_and_each_setting_is_taken():
    assert len(TABLE_IV) == 13
    for setting in TABLE_IV.values():
        assert setting.name.startswith("spark.") and len({setting.low, setting.high}) == 2
        assert all(name.startswith("spark.") for name in setting.needs)


def test_a_server_is_ready_inside_and_gone_outside(tmp_path, port):
    with listener(tmp_path, port) as server:
        pids = server.pids
        assert len(pids) == 2 and all(map(alive, pids))
        socket.create_connection(("127.0.0.1", port), timeout=120).close()
    assert not any(map(alive, pids))


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_a_server_is_gone_after_an_exception(tmp_path, port, kind):
    with pytest.raises(kind), listener(tmp_path, port) as server:
        pids = server.pids
        raise kind
    assert not any(map(alive, pids))


def test_a_server_is_gone_when_its_user_is_killed(tmp_path, port):
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[3])\n"
        "from cmlib_workloads.server import Server\n"
        f"with Server('listener', [sys.executable, '-c', {LISTENER!r}, sys.argv[1]], sys.argv[2], "
        "port=int(sys.argv[1])) as s:\n"
        "    print(*s.pids, flush=True); time.sleep(600)\n"
    )
    root = Path(__file__).parents[1]
    user = subprocess.Popen(
        [sys.executable, "-c", program, str(port), str(tmp_path / "log"), str(root)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with user:
        pids = [int(pid) for pid in user.stdout.readline().split()]
        assert len(pids) == 2
        user.send_signal(signal.SIGKILL)
    assert wait_until(lambda: not any(map(alive, pids)))


def test_a_taken_port_is_named(tmp_path, port):
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(ServerError, match=rf"listener can't start: port {port} of 127.0.0.1 is taken"),
        listener(tmp_path, port),
    ):
        pass
    assert not (tmp_path / "log").exists()


def test_a_server_that_dies_at_start_shows_its_last_lines(tmp_path):
    with (
        pytest.raises(ServerError, match="broken died with exit code 3.*\nno such table"),
        Server(
            "broken",
            ["/bin/sh", "-c", "echo no such table >&2; exit 3"],
            tmp_path / "log",
            port=None,
            ready=bool,
        ),
    ):
        pass


def test_a_server_that_is_never_ready_is_stopped(tmp_path):
    log, command = tmp_path / "log", ["/bin/sh", "-c", "echo waiting; sleep 600"]
    slow = Server(
        "slow", command, log, ready=lambda: not wait_until(lambda: "waiting" in log.read_text()), timeout=0.5
    )
    before = set(descendants(os.getpid()))
    with pytest.raises(ServerError, match="slow was not ready after 0 s(.|\n)*waiting"), slow:
        pass
    assert wait_until(lambda: set(descendants(os.getpid())) <= before)


def test_a_server_that_dies_while_it_is_used_is_told(tmp_path, port):
    with (
        pytest.raises(ServerError, match="while it was used(.|\n)*listening"),
        listener(tmp_path, port) as server,
    ):
        pid = server.pids[0]
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: pid not in server.pids)


@pytest.mark.needs("memcached", "cc")
def test_a_load_that_fails_because_its_server_died_tells_of_the_server(port):
    with (
        pytest.raises(ServerError, match="memcached died with exit code 137 while it was used"),
        datacaching(1.0, {}, port=port, keys=500) as counted,
    ):
        os.kill(counted.pids[0], signal.SIGKILL)
        run_tool(counted.command)


def test_an_input_is_made_once_and_never_half(tmp_path):
    made = []

    def make(path):
        made.append(path)
        path.write_text("half")
        if len(made) == 1:
            raise OSError("cut off")
        path.write_text("whole")

    with pytest.raises(OSError, match="cut off"):
        cached_input("text", make, size=3)
    first = cached_input("text", make, size=3)
    assert first == cached_input("text", make, size=3)
    assert (first.read_text(), len(made)) == ("whole", 2)
    assert cached_input("text", make, size=4) != first


def test_scratch_is_removed(tmp_path):
    with scratch("some") as folder:
        (folder / "file").write_text("x")
    assert not folder.exists()


def test_a_tool_that_fails_shows_its_command_and_words():
    with pytest.raises(CmlibError, match=r"`/bin/sh -c echo wrong; exit 4` failed with exit code 4:\nwrong"):
        run_tool(["/bin/sh", "-c", "echo wrong; exit 4"])
    with pytest.raises(CmlibError, match="no-such-tool does not exist"):
        run_tool(["no-such-tool"])


@pytest.mark.parametrize("name", ["bzip2", "gcc", "perl", "gnugo", "glpk", "povray", "octave"])
def test_cpu_inputs_are_the_same_each_time(name, tmp_path, monkeypatch):
    contents = []
    for place in ("one", "two"):
        monkeypatch.setenv("CMLIB_DATA", str(tmp_path / place))
        with recipe(name).prepare(0.001, {}) as counted:
            contents.append([file.read_bytes() for file in sorted(folder().glob("[a-z]*"))])
            assert counted.command and not counted.pids
    assert contents[0] == contents[1]


@pytest.mark.needs("bzip2")
def test_bzip2_runs_as_it_would_be_recorded():
    with prepared("bzip2", scale=0.01) as counted:
        assert run_tool(counted.command) == ""


@pytest.mark.needs("memcached", "cc")
def test_memcached_alone_is_counted_and_leaves_nothing(port):
    before = set(descendants(os.getpid()))
    with datacaching(0.005, {}, port=port, keys=2000) as counted:
        output = run_tool(counted.command)
        assert counted.pids and "requests/s" in output and "0 misses" in output
    assert wait_until(lambda: set(descendants(os.getpid())) <= before)


@pytest.mark.needs("memcached", "cc")
def test_two_servers_are_counted_together(ports):
    def caching(at):
        return lambda scale, options: datacaching(scale, options, port=at, keys=500)

    port, other = ports
    with together(caching(port), caching(other), 0.001, {}) as counted:
        assert len(counted.pids) == 2
        done = subprocess.run(counted.command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("0 misses") >= 1
    twice = together(caching(port), caching(port), 0.001, {})
    with pytest.raises(ServerError, match=f"port {port} of 127.0.0.1 is taken"), twice:
        pass


@pytest.mark.parametrize("broken", [0, 1])
def test_a_pair_fails_if_either_load_does(broken):
    @contextmanager
    def load(command):
        yield LaunchSpec(["/bin/sh", "-c", command], (1,))

    commands = ["sleep 0.05", "sleep 0.2"]
    commands[broken] = "exit 5"
    first, second = (lambda scale, options, command=command: load(command) for command in commands)
    with together(first, second, 1.0, {}) as counted:
        assert subprocess.run(counted.command, capture_output=True).returncode != 0


def test_wrk_is_asked_to_fail_with_its_answers():
    command = wrk("terms.lua", "http://127.0.0.1:1", 0.2, arguments=["a"])
    assert "-d1s" in command and command[-2:] == ["--", "a"]
