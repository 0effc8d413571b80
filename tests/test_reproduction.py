"""The table of what the papers' tables and figures are here."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from cmlib import places
from cmlib.report.reproduction import read_items, reproduction

NUMBERS = {  # as the papers number them
    "CounterMiner": ([f"Fig. {n}" for n in range(1, 17)], [f"Table {n}" for n in ("I", "II", "III", "IV")]),
    "GBRT": ([f"Fig. {n}" for n in range(1, 7)], ["Table 1", "Table 2"]),
    "Fingerprinting": (["Fig. 1", "Fig. 2"], ["Table 1", "Table 2"]),
    "AutoPerf": ([f"Fig. {n}" for n in range(1, 13)], ["Table 1", "Table 2", "Table 3"]),
    "Online regression": ([f"Fig. {n}" for n in range(1, 11)], []),
}


def section(notebook, *figures):
    return {"notebook": notebook, "figures": [{"name": name} for name in figures], "tables": []}


def test_every_table_and_figure_of_the_papers_has_its_row():
    items = read_items()
    assert {paper: list(rows) for paper, rows in items.groupby("paper", sort=False)["item"]} == {
        paper: figures + tables for paper, (figures, tables) in NUMBERS.items()
    }


def test_every_row_names_a_notebook_and_what_is_lacking_or_of_whom():
    for item in read_items().itertuples():
        assert item.notebook in places.notebook_files(), item
        assert item.result or item.lacking, item
        assert item.data in {
            "our hardware",
            "others' hardware",
            "software events",
            "simulated",
            "the paper's numbers",
            "diagram or list",
        }


@pytest.mark.parametrize(
    "programs, status",
    [(["kmeans", "wordcount", "gcc"], "reproduced"), (["kmeans", "kmeans", "gcc"], "in part")],
)
def test_programs_of_the_paper_are_counted_in_the_tables_of_the_run(tmp_path, programs, status):
    (tmp_path / "merging_runs").mkdir()
    table = pd.DataFrame({"program": programs})
    table.to_csv(tmp_path / "merging_runs/run-times.csv", index=False)
    rows = reproduction(tmp_path, [section("merging_runs", "fig02")]).set_index(["paper", "item"])
    shown = rows.loc[("GBRT", "Fig. 2")]
    assert shown["status"] == status
    assert shown["programs"] == f"{len({*programs} & {'kmeans', 'wordcount'})} of 2"


def test_programs_whose_names_are_written_with_an_underscore_are_counted(tmp_path):
    (tmp_path / "06_anomaly_detection").mkdir()
    table = pd.DataFrame({"for the paper's": ["linear_regression", "parallel_dot_product", "MySQL", "gcc"]})
    table.to_csv(tmp_path / "06_anomaly_detection/table2.csv", index=False)
    rows = reproduction(tmp_path, [section("06_anomaly_detection", "fig11")]).set_index(["paper", "item"])
    assert rows.at[("AutoPerf", "Fig. 11"), "programs"] == "3 kernels of ours for 15"


def test_what_no_notebook_made_is_not_reproduced_and_simulations_are_in_part(tmp_path):
    rows = reproduction(tmp_path, [section("05_fingerprinting", "fig02")])
    status = rows.set_index(["paper", "item"])["status"]
    assert status.loc[("Fingerprinting", "Fig. 2")] == "in part"
    assert set(status.drop(("Fingerprinting", "Fig. 2"))) == {"not"}
    assert set(rows.loc[rows["status"] == "not", ["data", "programs"]].to_numpy().ravel()) == {""}
    assert (rows.loc[rows["paper"] == "CounterMiner", "status"] == "not").sum() == 20


def test_the_readme_counts_what_the_stored_notebook_counted():
    root = Path(__file__).resolve().parents[1]
    cells = json.loads((root / "notebooks/10_summary.ipynb").read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    html = "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    number = r"<td[^>]*>(\d+)</td>\s*"
    stored = re.findall(rf"<td[^>]*>([A-Z][\w ]+)</td>\s*{number}{number}{number}</tr>", html)
    readme = (root / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\|([A-Z]\w+(?: regression)?)[^|]*\|(\d+)\|(\d+)\|(\d+)\|$", readme, re.M)
    assert len(stored) == 5 and shown == stored
