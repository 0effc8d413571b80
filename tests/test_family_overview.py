"""What the first page shows of families is what their tables hold."""

from types import SimpleNamespace

import pandas as pd

from cmlib import report
from cmlib.study.families.overview import CAPTION, family_bars, say_overview

TABLE = pd.DataFrame(
    {
        "name": ["mispredicted branches", "waiting for L2", "instructions"],
        "importance": [60.0, 30.0, 10.0],
        "low": [50.0, 0.0, 2.0],
        "high": [80.0, 45.0, 12.0],
        "cycles_per_kilo_instruction": [120.4, 33.0, -2.0],
        "cycles_low": [90.0, -3.0, -4.0],
        "cycles_high": [150.0, 60.0, 1.0],
        "class": ["stall", "stall", "mix"],
        "category": ["bad speculation", "", "retired"],
    }
)
NO_ACCOUNT = TABLE.head(0)
ERRORS = pd.DataFrame(
    {"test": ["held-out blocks", "another pass"], "families": [3.25, 9.0], "mean": [18.0, 20.0]}
)


def found(categories=NO_ACCOUNT):
    stability = pd.DataFrame({"overlap": [0.812]})
    return SimpleNamespace(table=TABLE, errors=ERRORS, stability=stability, categories=categories)


def test_bars_are_the_first_families_with_their_cycles_and_the_accounts_category(tmp_path):
    bars = family_bars(found(), n=2)
    assert bars["note"].tolist() == [
        "120 cycles (90 to 150), bad speculation",
        "33 cycles (-3 to 60)",
    ]
    assert bars[["value", "low", "high"]].to_numpy().tolist() == [[60.0, 50.0, 80.0], [30.0, 0.0, 45.0]]
    results = report.Results("03_r", title="R", question="?", profile="live", folder=tmp_path)
    results.overview_bars("gcc", bars, CAPTION)
    results.save()
    page = report.build_index(tmp_path / "live").read_text()
    assert page.count('<div class="bar"') == 2 and "mispredicted branches" in page


def test_the_error_stands_beside_the_means_and_the_overlap():
    said = say_overview(found())["sure"]
    assert "errs by 3.2 % on held-out blocks, the mean by 18.0 %" in said and said.endswith("share 81 %")


def test_what_limits_a_program_is_told_by_families_only_where_no_account_tells_it():
    assert say_overview(found(categories=pd.DataFrame({"category": ["front end"]})))["limits"] == ""
    assert "goes with **mispredicted branches**" in say_overview(found())["limits"]
