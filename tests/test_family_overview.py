"""What the first page shows of families is what their tables hold."""

from types import SimpleNamespace

import pandas as pd

from cmlib import report
from cmlib.study.family_overview import CAPTION, family_bars, say_certainty

TABLE = pd.DataFrame(
    {
        "name": ["mispredicted branches", "waiting for L2", "instructions"],
        "importance": [60.0, 30.0, 10.0],
        "low": [50.0, 0.0, 2.0],
        "high": [80.0, 45.0, 12.0],
        "cycles_per_kilo_instruction": [120.4, 33.0, -2.0],
        "cycles_low": [90.0, -3.0, -4.0],
        "cycles_high": [150.0, 60.0, 1.0],
        "category": ["bad speculation", "", "retired"],
    }
)
ERRORS = pd.DataFrame(
    {"test": ["held-out blocks", "another pass"], "families": [3.25, 9.0], "mean": [18.0, 20.0]}
)
FOUND = SimpleNamespace(table=TABLE, errors=ERRORS, stability=pd.DataFrame({"overlap": [0.812]}))


def test_bars_are_the_first_families_with_their_cycles_and_the_accounts_category(tmp_path):
    bars = family_bars(FOUND, n=2)
    assert bars["note"].tolist() == [
        "120 cycles per 1,000 instructions (90 to 150), bad speculation",
        "33 cycles per 1,000 instructions (-3 to 60)",
    ]
    assert bars[["value", "low", "high"]].to_numpy().tolist() == [[60.0, 50.0, 80.0], [30.0, 0.0, 45.0]]
    results = report.Results("03_r", title="R", question="?", profile="live", folder=tmp_path)
    results.overview_bars("gcc", bars, CAPTION)
    results.save()
    page = report.build_index(tmp_path / "live").read_text()
    assert page.count('<div class="bar"') == 2 and "mispredicted branches" in page


def test_the_error_stands_beside_the_means_and_the_overlap():
    said = say_certainty(FOUND)
    assert "errs by 3.2 % on held-out blocks, the mean by 18.0 %" in said and said.endswith("share 81 %")
