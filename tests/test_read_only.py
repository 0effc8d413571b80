"""A package and a home that can't be written, as where cmlib is installed for all users: commands work all the same."""

import os
import subprocess
import sys

import pytest

from tests.soft_recordings import ROOT

pytestmark = pytest.mark.full

READ_ONLY = """
package=$1 home=$2; shift 2
for folder in "$package" "$home"; do
  mount --bind "$folder" "$folder" && mount -o remount,bind,ro "$folder" || exit 99
done
exec "$@"
"""
STREAM = ROOT / "data/samples/gcc-1/software-00.txt.gz"


@pytest.fixture
def cmlib(tmp_path):
    """A function that runs a command of cmlib's; results can be written, or not."""

    def run(*arguments, results):
        (tmp_path / "home").mkdir(exist_ok=True)
        before = [
            "unshare",
            "--mount",
            "--map-root-user",
            "sh",
            "-c",
            READ_ONLY,
            "sh",
            ROOT,
            tmp_path / "home",
        ]
        command = [sys.executable, "-c", "from cmlib.cli import main; main()", *arguments]
        environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        environment |= {
            "HOME": str(tmp_path / "home"),
            "CMLIB_RESULTS": str(results),
            "PYTHONPATH": str(ROOT),
        }
        environment |= {"CMLIB_DATA": str(tmp_path)}
        done = subprocess.run([*before, *command], env=environment, capture_output=True, text=True)
        if done.returncode == 99 or done.stderr.startswith("unshare:"):
            pytest.skip(
                f"nothing can be mounted here, not even in a namespace of its own: {done.stderr.strip()}"
            )
        return done

    return run


@pytest.mark.needs("perf")
def test_lines_are_recorded(cmlib, tmp_path):
    results = tmp_path / "results"
    busy = [sys.executable, "-S", "-c", "for _ in range(60): sum(range(30_000))"]
    options = ["--samples", "--compress", "--events", "task-clock,page-faults", "--period", "100000"]
    done = cmlib("record", "p", *options, "--", *busy, results=results)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "samples/p/software-lines-00.csv").exists()
    assert not (tmp_path / "home/.cache").exists() and (results / ".numba").is_dir()


def test_a_diagnosis_gets_as_far_as_its_recordings(cmlib, tmp_path):
    done = cmlib("diagnose", "--recorded", "p", results=tmp_path / "results")
    assert done.returncode == 2 and "cannot cache" not in done.stderr and "Traceback" not in done.stderr
    assert "record" in done.stderr
