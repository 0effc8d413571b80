"""Which perf a test runs, the real one or one whose faults are known; what several files test with; and how
hard Hypothesis tries.

Hypothesis profiles: `fast` is the suite's; `HYPOTHESIS_PROFILE=fuzz` tries very much more.
"""

import functools
import gc
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Until tests are collected: what modules make is there to stay.
gc.disable()

# jsonschema, which Jupyter loads, does as well without its parser of IRIs: it takes each process a second to build.
sys.modules.setdefault("rfc3987_syntax", None)

from cmlib.collect.machine import counter_census, event_names, host  # noqa: E402
from cmlib.io.archive import locked  # noqa: E402
from tests import databases, needs, small_runs, smoke_profile  # noqa: E402

FAKE = Path(__file__).parent / "fake"

settings.register_profile("fast", derandomize=True, deadline=None, max_examples=10)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=20_000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# The suite keeps all processors busy by itself. And without lscpu, as on a bare system, scikit-learn
# can't count physical cores and warns, unless it is told how many threads to use.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell that starts the suite in the background makes it deaf to Ctrl-C, and with it what tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TOLD = {"redraw", "pictures"}  # properties of tests that the summary shows


def pytest_xdist_auto_num_workers(config):
    """One more than there are processors: many tests wait for the programs they start."""
    return os.cpu_count() + 1


def pytest_configure(config):
    # Tests beside each other must not wait for one another's counters, nor for those of this host.
    locks = tempfile.TemporaryDirectory(prefix="cmlib-locks-")
    config.add_cleanup(locks.cleanup)
    os.environ["CMLIB_LOCKS"] = locks.name
    config.addinivalue_line("markers", "needs(*things): what the test runs beside Python; see tests/needs.py")
    config.addinivalue_line(
        "markers", "slow: takes about a second of processor time or more; not in `make check`"
    )
    config.addinivalue_line(
        "markers",
        "full: in `make test-all` only: takes long, compiles much, reads results of the smoke profile, or needs "
        "what is large in tests/needs.py",
    )


def pytest_terminal_summary(terminalreporter):
    """What tests measured by the way, and where they left their pictures."""
    told = {
        f"{name}: {value}"
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name in TOLD
    }
    for line in sorted(told):
        terminalreporter.write_line(line)


def pytest_runtest_setup(item):
    needs.check(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in smoke_profile.readers(items):
        item.add_marker("full")
    for item in items:
        if needs.LARGE & set(needs.needed(item)) or "micro_binaries" in item.fixturenames:
            item.add_marker("full")
    result = yield  # `-m` chooses
    items[:] = smoke_profile.in_order(items)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    gc.freeze()
    gc.enable()
    items = [] if session.config.option.collectonly else session.items
    with smoke_profile.being_made(items, session.config._tmp_path_factory) as process:
        result = yield
        if process:
            process.wait()  # others may want it still
        return result


@pytest.fixture(scope="session")
def smoke_folder(tmp_path_factory):
    """Folder of the results of the smoke profile, which may be under way."""
    return smoke_profile.folder_of(tmp_path_factory)


@pytest.fixture(scope="session")
def smoke(smoke_folder):
    """Folder of the smoke profile's own, which one process makes and all read."""
    smoke_profile.make(smoke_folder)
    return smoke_folder / "smoke"


@functools.cache
def asked_once(ask, said_by, *arguments):
    """What the stand-in for perf answers, by what it depends on."""
    return ask(*arguments)


@pytest.fixture
def fake_perf(monkeypatch):
    """A perf whose machine offers six counters, of which the sixth lies; see tests/fake/perf.

    It is run by this Python: what else is called python3 may be a script that takes longer to start. A census starts
    it 28 times, and each recording lists its events: what it says there of the same machine it says once for all
    tests of a process.
    """
    monkeypatch.setenv("PATH", f"{FAKE}:{Path(sys.executable).parent}:{os.environ['PATH']}")

    def once(module, name):
        ask = getattr(module, name)

        def answer(*arguments):
            said_by = tuple(item for item in os.environ.items() if item[0].startswith(("FAKE_", "PATH")))
            return asked_once(ask, said_by, *(tuple(a) if isinstance(a, list) else a for a in arguments))

        monkeypatch.setattr(module, name, answer)

    once(counter_census, "_perf_stat")
    once(host, "perf_version")
    for module in (host, event_names):
        once(module, "perf_list")


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.needs("perf"))])
def any_perf(request):
    """The fake one, then the real one."""
    if request.param == "fake":
        request.getfixturevalue("fake_perf")


@pytest.fixture
def best_perf(request):
    """The real one where it works."""
    if not needs.is_there("perf"):
        request.getfixturevalue("fake_perf")


@pytest.fixture
def no_perf(monkeypatch):
    """Nothing on the PATH."""
    monkeypatch.setenv("PATH", "/nowhere")


@pytest.fixture(scope="module", params=databases.KINDS)
def new_database(request, tmp_path_factory):
    """A function that gives the URL of a new, empty database."""
    with databases.server(request.param, tmp_path_factory.mktemp("stores")) as create:
        yield create


@pytest.fixture
def url(new_database):
    """The URL of a new, empty database."""
    return new_database()


@pytest.fixture
def recordings(tmp_path):
    """Two small runs of two programs."""
    folder = tmp_path / "recordings"
    small_runs.add_run(folder, "alpha", "ocoe", 0, 0, [("x", 3.0), ("y", None)])
    small_runs.add_run(folder, "beta", "mlpx12", 1, 0, [("x", 5.0), ("z", 7.0)], mode="mlpx")
    return folder


@pytest.fixture(scope="session")
def micro_binaries(tmp_path_factory):
    """The folder in which the micro-benchmarks are built, by the process that asks first."""
    from cmlib_workloads.micro import build

    shared = smoke_profile.shared_folder(tmp_path_factory)
    lock = shared / "building-micro"  # the compiler's output has a lock of its own, in its folder
    lock.mkdir(exist_ok=True)
    with locked(lock):
        return build(shared / "micro")


@pytest.fixture(scope="module")
def product_pair():
    """Few rows of four events, two of which act by their product."""
    from cmlib.synthetic import product_pair_data

    return product_pair_data(n_steps=24, n_events=4, n_pairs=1, seed=2)


@pytest.fixture(scope="module")
def fitted(product_pair):
    """A small model of `product_pair`."""
    from cmlib.rank.boosting import Boosting, regressor

    small = Boosting(trees=15, leaves=5, rows_per_leaf=2)
    return regressor(boosting=small).fit(product_pair.X, product_pair.ipc)


@pytest.fixture
def no_kernel(monkeypatch):
    """Cells are executed in this process, which takes no time; how kernels behave, other tests try."""
    from tests import small_notebooks

    monkeypatch.setattr("papermill.execute_notebook", small_notebooks.execute_here)
    monkeypatch.setattr("cmlib.report.run._MOST_AT_ONCE", 1)
