"""Numbers in the documentation: what a notebook computes is not typed there; IPC's table is its benchmark's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = Path(os.environ.get("CMLIB_PUBLIC", ROOT / "../shared/public")).absolute()
# What a notebook computes is not typed on these pages; settings and names are what is left.
COMPUTED_BY_A_NOTEBOOK = {
    "cleaning-benchmark.md": {"90 %"},
    "top-down.md": set(),
    "add-a-cleaning-method.md": set(),
}
RESULT = r"\d[\d,.]* (?:%|points)|\d+ (?:of|out of) (?:the )?\d+|(?<![\w./])\d+\.\d+(?! MiB)(?![\w/])"


@pytest.mark.parametrize("page, settings", COMPUTED_BY_A_NOTEBOOK.items())
def test_results_of_notebooks_are_not_typed_in_prose(page, settings):
    text = re.sub(r"```.*?```", "", (ROOT / "docs" / page).read_text(encoding="utf-8"), flags=re.S)
    typed = {number for number in re.findall(RESULT, text) if number not in settings}
    assert not typed, f"{page} types {sorted(typed)}: link to the notebook that computes them"


@pytest.mark.skipif(not (PUBLIC / "totals/kernel-reports").is_dir(), reason="takes the folder CMLIB_PUBLIC")
def test_ipc_of_regressions_is_as_its_benchmark_computes_it():
    command = [sys.executable, ROOT / "benchmarks/ipc_of_regressions.py", PUBLIC / "totals/kernel-reports"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    page = (ROOT / "docs/compare-method.md").read_text(encoding="utf-8")
    counts = re.findall(r"^.*: (\d+), IPC rose in (\d+), fell in (\d+)$", said, flags=re.M)
    section = page.partition("## IPC is not speed")[2].partition("\n## ")[0]
    rows = re.findall(r"\| (\d+) \| (\d+) \| (\d+) \|$", section, flags=re.M)
    assert len(rows) == 4 and rows == counts
    (n, rose, _), (up, _, fell) = (tuple(map(int, rows[at])) for at in (1, 3))
    wrong = f"{100 * rose / n:.0f} % of the regressions ({rose} of {n}), and in {100 * fell / up:.0f} %"
    assert wrong in " ".join(section.split())
    (rank,) = re.findall(r"with IPC's: ([\d.]+)", said)
    assert f"the two changes is {rank}." in " ".join(section.split())
    assert f"{said.split()[0]} of 181" in section
