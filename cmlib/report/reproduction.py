"""Find the tables and figures of the papers that the results of a profile reproduce.

:func:`reproduction` takes a folder of results and returns one row per table or figure, called item.
``data/papers/items.csv`` lists all items. The manifests of the notebooks contain the recordings behind each
result.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from cmlib import places
from cmlib.io.provenance import KINDS, OTHERS_HARDWARE, OWN_HARDWARE, SOFTWARE_EVENTS, Provenance
from cmlib.report.results import paper

__all__ = ["count_measured", "find_provenances", "read_items", "reproduction"]

_DIAGRAM = "diagram or list"
_RUN_TIMES = "run times"
_REPRODUCED, _IN_PART, _NOT = "reproduced", "in part", "not"
# Values of the column "needs" in items.csv
_COUNTS, _NOTHING = "counts", "nothing"
_HARDWARE = {OWN_HARDWARE, OTHERS_HARDWARE}
_MEASURED = _HARDWARE | {SOFTWARE_EVENTS}
_PAPERS = places.yaml_beside(__file__)
_COLUMNS = ["paper", "item", "shows", "status", "data", "programs", "notebook", "lacking", "record"]


def read_items() -> pd.DataFrame:
    """Read the list of all tables and figures of the papers.

    Returns
    -------
    DataFrame of str
        One row per item, with the following columns. A missing value is "".

        - ``paper``, ``item``, ``shows``: paper, number and content of the item
        - ``notebook``, ``result``: the notebook and its result that show the item
        - ``needs``: counts, run times, the paper's numbers, or nothing
        - ``counted_in``: ``table.column`` with the names of the measured programs
        - ``of``: number of programs in the paper
        - ``lacking``: differences from the paper that no recording can remove
        - ``record``: command that records missing data
    """
    return pd.read_csv(places.shipped("papers") / "items.csv", keep_default_na=False, dtype=str)


def reproduction(folder: Path, sections: Iterable[dict]) -> pd.DataFrame:
    """Find the state of each table and figure of the papers.

    Parameters
    ----------
    folder : pathlib.Path
        Results of a profile.
    sections : iterable of dict
        Manifests of its notebooks.

    Returns
    -------
    DataFrame of str
        One row per item. ``paper``, ``item``, ``shows``, ``notebook`` and ``lacking`` are columns of
        :func:`read_items`. The other columns are:

        - ``status``: *reproduced*, *in part* or *not*. An item is reproduced in part if programs are missing
          or replaced, or if counts are not from hardware counters.
        - ``data``: kind of the data. For example, ``own hardware``.
        - ``programs``: number of measured programs. For example, ``4 of 16``, or ``13 kernels of ours for
          15`` if they replace programs of the paper.
        - ``record``: command that records missing data
    """
    provenances_by_result = {
        (section["notebook"], entry["name"]): find_provenances(section, entry)
        for section in sections
        for entry in (*section["figures"], *section["tables"])
    }
    rows = [
        item._asdict() | _describe_item(item, provenances_by_result.get((item.notebook, item.result)), folder)
        for item in read_items().itertuples(index=False)
    ]
    return pd.DataFrame(rows)[_COLUMNS]


def find_provenances(manifest: dict, entry: dict) -> list[Provenance]:
    """Find the sources of a result's counts.

    Parameters
    ----------
    manifest : dict
        Manifest of the notebook.
    entry : dict
        A figure, table or number in the manifest.

    Returns
    -------
    list of Provenance
        One source per kind of counts and public data set. Empty if no source is recorded.
    """
    stored = manifest.get("data", [])
    return [Provenance(**stored[position]) for position in entry.get("data", [])]


def count_measured(items: pd.DataFrame) -> pd.Series:
    """Count the items of each paper that are based on measurements.

    Parameters
    ----------
    items : DataFrame
        Result of :func:`reproduction`.

    Returns
    -------
    Series of int
        Number of items with data from hardware events, software events or run times, indexed by paper.
    """
    kinds = (*_MEASURED, _RUN_TIMES)
    is_measured = pd.Series(
        [any(kind in data for kind in kinds) for data in items["data"]], items.index, dtype=int
    )
    return is_measured.groupby(items["paper"], sort=False).sum()


def _describe_item(item: Any, provenances: list[Provenance] | None, folder: Path) -> dict[str, str]:
    """Return the status, data, programs and record command of an item.

    `provenances` is None if no notebook made the result.
    """
    if provenances is None:
        return {"status": _NOT, "data": "", "programs": "", "record": item.record}
    if item.needs not in (_COUNTS, _RUN_TIMES):
        data = _DIAGRAM if item.needs == _NOTHING else item.needs
        status = _IN_PART if item.lacking else _REPRODUCED
        return {"status": status, "data": data, "programs": "", "record": ""}
    kinds = {provenance.kind for provenance in provenances}
    stand_ins = _describe_stand_ins(item.paper, provenances)
    n_programs = _count_programs(folder, item)
    enough = n_programs is None or not item.of or n_programs >= int(item.of)
    is_counted = bool(kinds) and kinds <= (_MEASURED if item.needs == _RUN_TIMES else _HARDWARE)
    is_complete = is_counted and enough and not stand_ins
    return {
        "status": _REPRODUCED if is_complete and not item.lacking else _IN_PART,
        "data": _describe_data(item, provenances),
        "programs": _describe_programs(item, n_programs, stand_ins),
        "record": "" if is_complete else item.record,
    }


def _describe_data(item: Any, provenances: list[Provenance]) -> str:
    """Return the kinds of data behind an item."""
    kinds = {provenance.kind for provenance in provenances}
    if item.needs == _RUN_TIMES and kinds and kinds <= _MEASURED:
        return _RUN_TIMES
    return " and ".join(sorted(kinds, key=KINDS.index)) or "not known"


def _describe_stand_ins(paper_name: str, provenances: list[Provenance]) -> str:
    """Describe the programs that replace the programs of a paper.

    Return "" if the programs of the paper were measured. Only the public sets in reproduction.yaml contain
    these.
    """
    paper_programs = _PAPERS[paper_name]
    sets = {provenance.public_set for provenance in provenances}
    if sets & set(paper_programs["sets"]):
        return ""
    return paper_programs["programs of ours"] if "" in sets or not sets else "programs of others"


def _describe_programs(item: Any, n_programs: int | None, stand_ins: str) -> str:
    """Write how many programs were measured. Empty if unknown."""
    if not item.of or n_programs is None:
        return stand_ins
    return f"{n_programs} {stand_ins} for {item.of}" if stand_ins else f"{n_programs} of {item.of}"


def _count_programs(folder: Path, item: Any) -> int | None:
    """Count the measured programs in a table of the results. None if the table is missing."""
    table, _, column = item.counted_in.partition(".")
    file = folder / f"{table}.csv"
    if not table or not file.is_file():
        return None
    rows = pd.read_csv(file)
    if column not in rows:  # the table of an older version
        return None
    listed = _PAPERS[item.paper].get("listed")
    if listed is None:
        return rows[column].nunique()
    names = paper(listed["file"])[listed["entry"]]
    return len(_remove_underscores(rows[column]) & _remove_underscores(list(names)[: listed["first"]]))


def _remove_underscores(names: Iterable[str]) -> set[str]:
    """Remove underscores from names, because spellings differ in them."""
    return {name.replace("_", "") for name in names}
