"""The smoke profile's results, made once for all tests that read them, from the start on and beside the others."""

import contextlib
import os
import sys
from pathlib import Path

from cmlib import report
from cmlib.io.archive import locked
from tests import needs
from tests.browser.lab import guarded

_READ_BY = {"smoke", "smoke_folder"}  # fixtures
_MAKE = "import sys; from tests.smoke_profile import make; make(sys.argv[1])"
# Files that take longest, longest first.
_LONGEST = (
    "tests/browser/test_lab.py",
    "tests/browser/test_own_program.py",
    "tests/browser/test_report_page.py",
    "tests/test_readme.py",
    "tests/test_compare_command.py",
    "tests/test_fingerprint.py",
    "tests/test_simulated_report.py",
    "tests/test_compare_simulated.py",
    "tests/test_read_only.py",
    "tests/test_samples.py",
    "tests/test_simulated_fingerprint.py",
    "tests/test_kernels.py",
    "tests/test_summarize.py",
    "tests/test_record_protocol.py",
    "tests/test_parallel.py",
    "tests/test_side_by_side.py",
    "tests/test_archive_files.py",
    "tests/test_record_failures.py",
    "tests/test_detector.py",
    "tests/test_rank.py",
    "tests/test_damaged_samples.py",
    "tests/test_sources.py",
    "tests/test_linear_reading.py",
    "tests/test_stored_lines.py",
    "tests/test_cli.py",
    "tests/test_record_attached.py",
    "tests/test_record_passes.py",
    "tests/test_passwords.py",
    "tests/test_compare_recordings.py",
    "tests/test_topdown_spellings.py",
    "tests/test_campaign.py",
    "tests/test_record_imports.py",
    "tests/test_explore.py",
    "tests/test_anomaly_study.py",
    "tests/test_provenance.py",
    "tests/test_report.py",
    "tests/test_clean.py",
    "tests/test_machine_code.py",
    "tests/test_accuracy.py",
    "tests/test_install.py",
    "tests/test_colocated.py",
    "tests/test_clusters.py",
)


def shared_folder(tmp_path_factory):
    """The folder of a run of the suite, the same for all its processes."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def folder_of(tmp_path_factory):
    """Where the results are, or will be; the same for all processes of a run of the suite.

    `.ci/run` has made them already, and says where in CMLIB_SMOKE.
    """
    if made := os.environ.get("CMLIB_SMOKE"):
        return Path(made)
    shared = shared_folder(tmp_path_factory) / "smoke"
    shared.mkdir(exist_ok=True)
    return shared / "results with a space"


def make(folder):
    """Make the results, or wait for who does."""
    folder = Path(folder)
    if "CMLIB_SMOKE" in os.environ:
        return
    ended = folder.with_name("ended")
    with locked(folder.parent):
        if not ended.exists():
            database = {"database": f"sqlite:///{folder / 'store.sqlite'}"}
            report.run_profile("smoke", parameters=database, results=folder)
            ended.touch()


def readers(items):
    """The tests that read the results."""
    return [item for item in items if _READ_BY & set(item.fixturenames)]


@contextlib.contextmanager
def being_made(items, tmp_path_factory):
    """Have the first process make them while the block runs, if any test reads them that is not skipped."""
    first = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"
    if not first or "CMLIB_SMOKE" in os.environ or all(needs.missing(item) for item in readers(items)):
        yield None
        return
    folder = folder_of(tmp_path_factory)
    command = [sys.executable, "-c", _MAKE, folder]
    with guarded(command, env=os.environ, log=folder.with_name("log.txt")) as process:
        yield process


def in_order(items):
    """The tests of the longest files first, those that wait for results that are still to be made last."""
    made = "CMLIB_SMOKE" in os.environ
    waiting = {item.path for item in items if "smoke" in item.fixturenames and not made}
    places = {name: place for place, name in enumerate(_LONGEST)}
    return sorted(
        items,
        key=lambda item: (item.path in waiting, places.get(item.nodeid.partition("::")[0], len(places))),
    )
