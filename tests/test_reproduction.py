"""The table of what the papers' tables and figures are here."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

from cmlib import places
from cmlib.io.provenance import OTHERS_HARDWARE, OWN_HARDWARE, SIMULATED, SOFTWARE_EVENTS, Provenance
from cmlib.report.reproduction import count_measured, read_items, reproduction
from tests.notebook_functions import functions_of

NUMBERS = {  # as the papers number them
    "CounterMiner": ([f"Fig. {n}" for n in range(1, 17)], [f"Table {n}" for n in ("I", "II", "III", "IV")]),
    "GBRT": ([f"Fig. {n}" for n in range(1, 7)], ["Table 1", "Table 2"]),
    "Fingerprinting": (["Fig. 1", "Fig. 2"], ["Table 1", "Table 2"]),
    "AutoPerf": ([f"Fig. {n}" for n in range(1, 13)], ["Table 1", "Table 2", "Table 3"]),
    "Online regression": ([f"Fig. {n}" for n in range(1, 11)], []),
}


def section(notebook, *figures, read=()):
    """Manifest of a notebook that has made some figures of what it read."""
    data = [asdict(provenance) for provenance in read]
    made = [{"name": name, "data": list(range(len(data)))} for name in figures]
    return {"notebook": notebook, "figures": made, "tables": [], "data": data}


def states(folder, *sections):
    return reproduction(folder, sections).set_index(["paper", "item"])


def write_table(folder, name, **columns):
    (folder / name).parent.mkdir(parents=True)
    pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)


def test_every_table_and_figure_of_the_papers_has_its_row():
    items = read_items()
    assert {paper: list(rows) for paper, rows in items.groupby("paper", sort=False)["item"]} == {
        paper: figures + tables for paper, (figures, tables) in NUMBERS.items()
    }


def test_every_row_names_a_notebook_its_result_and_what_it_needs():
    for item in read_items().itertuples():
        assert item.notebook in places.notebook_files(), item
        assert item.result, item
        assert item.needs in {"counts", "run times", "the paper's numbers", "nothing"}


@pytest.mark.parametrize(
    "kind, public_set, data, programs",
    [
        (OTHERS_HARDWARE, "spec-llc", "others' hardware", "2 of 57"),
        (SOFTWARE_EVENTS, "", "software events", "2 programs of Debian for 57"),
        (OWN_HARDWARE, "", "own hardware", "2 programs of Debian for 57"),
        (OTHERS_HARDWARE, "spec2000", "others' hardware", "2 programs of others for 57"),
    ],
)
def test_whose_data_is_what_the_run_read(tmp_path, kind, public_set, data, programs):
    write_table(tmp_path, "07_compression/fits", case=["gcc-1", "bzip2-1", "gcc-1"])
    read = Provenance(kind, ("gcc-1", "bzip2-1"), ("page-faults",), public_set)
    shown = states(tmp_path, section("07_compression", "fig01", read=[read])).loc[
        ("Online regression", "Fig. 1")
    ]
    assert (shown["status"], shown["data"], shown["programs"]) == ("in part", data, programs)


def test_without_public_data_nothing_claims_hardware_of_others(tmp_path):
    """Every notebook has every result, but has read software events alone."""
    read = [Provenance(SOFTWARE_EVENTS, ("gcc-1",), ("page-faults",))]
    items = read_items()
    sections = [
        section(notebook, *rows["result"].unique(), read=read) for notebook, rows in items.groupby("notebook")
    ]
    shown = reproduction(tmp_path, sections)
    assert not shown["data"].str.contains("hardware").any()
    needs_counts = (items["needs"] == "counts").to_numpy()
    assert set(shown.loc[needs_counts, "data"]) == {"software events"}
    assert set(shown.loc[needs_counts, "status"]) == {"in part"}
    assert set(shown["status"]) == {"in part", "reproduced"}


def test_a_result_that_names_no_data_is_not_reproduced_as_a_measurement(tmp_path):
    shown = states(tmp_path, section("03_ranking", "importances")).loc[("CounterMiner", "Table III")]
    assert (shown["status"], shown["data"]) == ("in part", "not known")


def test_programs_that_stand_for_the_papers_are_counted_and_named(tmp_path):
    write_table(tmp_path, "03_ranking/errors", program=["kmeans", "wordcount", "gcc", "kmeans"])
    read = Provenance(OWN_HARDWARE, ("kmeans", "wordcount", "gcc"), ("cycles",))
    shown = states(tmp_path, section("03_ranking", "fig08", read=[read])).loc[("CounterMiner", "Fig. 8")]
    assert (shown["status"], shown["programs"]) == ("in part", "2 Spark programs of ours for 8")
    assert shown["record"].startswith("cmlib record-all")


def test_kernels_whose_names_are_written_with_an_underscore_are_counted(tmp_path):
    names = ["linear_regression", "parallel_dot_product", "MySQL", "gcc"]
    write_table(tmp_path, "06_anomaly_detection/table2", **{"for the paper's": names})
    read = Provenance(SOFTWARE_EVENTS, ("histogram",), ("page-faults",))
    shown = states(tmp_path, section("06_anomaly_detection", "fig11", read=[read]))
    assert shown.at[("AutoPerf", "Fig. 11"), "programs"] == "3 kernels of ours for 15"


def test_run_times_need_no_counters_but_the_papers_programs(tmp_path):
    read = Provenance(SOFTWARE_EVENTS, ("sort",), ("task-clock",))
    shown = states(tmp_path, section("08_tuning", "fig14", read=[read])).loc[("CounterMiner", "Fig. 14")]
    assert (shown["status"], shown["data"]) == ("in part", "run times")
    assert shown["programs"] == "Spark programs of ours"
    simulated = states(tmp_path, section("08_tuning", "fig14", read=[Provenance(SIMULATED, ("sort",))]))
    assert simulated.at[("CounterMiner", "Fig. 14"), "data"] == "simulated"


def test_what_no_notebook_made_is_not_reproduced_and_diagrams_need_no_data(tmp_path):
    shown = states(tmp_path, section("05_fingerprinting", "fig01"))
    assert shown.at[("Fingerprinting", "Fig. 1"), "status"] == "reproduced"
    assert shown.at[("Fingerprinting", "Fig. 1"), "data"] == "diagram or list"
    others = shown.drop(("Fingerprinting", "Fig. 1"))
    assert set(others["status"]) == {"not"}
    assert set(others[["data", "programs"]].to_numpy().ravel()) == {""}


def test_measured_items_are_those_of_counts_and_run_times(tmp_path):
    sections = [
        section("08_tuning", "fig13", "fig14", "table4", read=[Provenance(SOFTWARE_EVENTS, ("sort",))]),
        section("05_fingerprinting", "fig01", "fig02", read=[Provenance(SIMULATED, ("array",))]),
    ]
    measured = count_measured(reproduction(tmp_path, sections))
    assert measured.to_dict() == {
        "CounterMiner": 2,
        "GBRT": 0,
        "Fingerprinting": 0,
        "AutoPerf": 0,
        "Online regression": 0,
    }


def test_programs_agree_within_a_quarter_and_by_chance_as_often_as_with_others_values():
    functions = functions_of("10_summary", TOLERANCE=0.25)
    assert functions["agrees"](1.25, 1.0) and not functions["agrees"](1.26, 1.0)
    assert functions["agrees"](0.0, 0.0) and not functions["agrees"](0.1, 0.0)
    assert functions["count_shuffled"]([1.0, 1.0, 0.0], [1.0, 1.0, 1.0]) == 2
    assert functions["count_shuffled"]([1.0, 2.0, 4.0], [1.0, 2.0, 4.0]) == 0


def test_the_readme_counts_what_the_stored_notebook_counted():
    root = Path(__file__).resolve().parents[1]
    cells = json.loads((root / "notebooks/10_summary.ipynb").read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    html = "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    number = r"<td[^>]*>(\d+)</td>\s*"
    stored = re.findall(rf"<td[^>]*>([A-Z][\w ]+)</td>\s*{4 * number}</tr>", html)
    readme = (root / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\|([A-Z]\w+(?: regression)?)[^|]*\|(\d+)\|(\d+)\|(\d+)\|(\d+)\|$", readme, re.M)
    assert len(stored) == 5 and shown == stored
