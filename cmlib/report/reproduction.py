"""Compare the results of a profile with the tables and figures of the papers.

:func:`reproduction` takes a folder of results. It returns one row for each table and figure of the papers.
A row says whether the results contain this table or figure, and which programs and counts it is based on.
A table or figure is called item here. ``data/papers/items.csv`` lists all items. The manifest of a notebook
(``manifest.json`` in its results) lists the recordings from which each result was computed.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from cmlib import places
from cmlib.io.provenance import KINDS, OTHERS_HARDWARE, OWN_HARDWARE, SOFTWARE_EVENTS, Provenance
from cmlib.report.results import paper

__all__ = ["count_measured", "find_provenances", "read_items", "reproduction"]

_AND = " and "  # separates kinds of counts in the column "data"
_DIAGRAM = "diagram or list"
_RUN_TIMES = "run times"
_REPRODUCED, _IN_PART, _NOT = "reproduced", "in part", "not"
# Values of the column "needs" in items.csv
_COUNTS, _NOTHING = "counts", "nothing"
# Kinds of counts, see Provenance
_HARDWARE = {OWN_HARDWARE, OTHERS_HARDWARE}
_MEASURED = _HARDWARE | {SOFTWARE_EVENTS}
_PAPERS = places.yaml_beside(__file__)  # programs of each paper, keyed by paper
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
        - ``counted_in``: ``table.column`` of the results with the names of the measured programs
        - ``of``: number of programs in the item of the paper
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

        - ``status``: *reproduced*, *in part* or *not*. An item is reproduced in part if programs of the paper
          are missing or replaced, if counts are not from hardware counters, or if ``lacking`` is not empty.
          Run times need no hardware counters.
        - ``data``: kind of the data. For example, ``own hardware``.
        - ``programs``: number of measured programs. For example, ``4 of 16``. If other programs replace the
          programs of the paper, their description follows. For example, ``13 kernels of ours for 15``.
        - ``record``: command that records missing data. Empty if nothing can be added by recording.
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
    """Return the sources of the counts from which a result was computed.

    Parameters
    ----------
    manifest : dict
        Manifest of the notebook.
    entry : dict
        A figure, table or number in the manifest.

    Returns
    -------
    list of Provenance
        One entry for each pair of a kind of counts and a public data set. Empty if the manifest names no source.
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
    measured_kinds = {*_MEASURED, _RUN_TIMES}
    is_measured = pd.Series(
        [not measured_kinds.isdisjoint(data.split(_AND)) for data in items["data"]], items.index, dtype=int
    )
    return is_measured.groupby(items["paper"], sort=False).sum()


def _describe_item(item: Any, provenances: list[Provenance] | None, folder: Path) -> dict[str, str]:
    """Return the status, data, programs and record command of an item.

    `provenances` is None if no notebook made the result of the item.
    """
    if provenances is None:
        return {"status": _NOT, "data": "", "programs": "", "record": item.record}
    if item.needs not in (_COUNTS, _RUN_TIMES):
        # A diagram, or a result computed from numbers in the paper. Recordings cannot improve it.
        data = _DIAGRAM if item.needs == _NOTHING else item.needs
        status = _IN_PART if item.lacking else _REPRODUCED
        return {"status": status, "data": data, "programs": "", "record": ""}
    kinds = {provenance.kind for provenance in provenances}
    replacements = _describe_replacements(item.paper, provenances)
    n_programs = _count_programs(folder, item)
    # If the number of programs is unknown here or in the paper, it is not a reason for "in part".
    has_all_programs = n_programs is None or not item.of or n_programs >= int(item.of)
    # Run times are also measured in runs that count software events.
    sufficient_kinds = _MEASURED if item.needs == _RUN_TIMES else _HARDWARE
    is_counted = bool(kinds) and kinds <= sufficient_kinds
    needs_no_recording = is_counted and has_all_programs and not replacements
    return {
        "status": _REPRODUCED if needs_no_recording and not item.lacking else _IN_PART,
        "data": _describe_data(item, kinds),
        "programs": _describe_programs(item, n_programs, replacements),
        "record": "" if needs_no_recording else item.record,
    }


def _describe_data(item: Any, kinds: set[str]) -> str:
    """Describe the data of an item, from the kinds of counts that were read."""
    if item.needs == _RUN_TIMES and kinds and kinds <= _MEASURED:
        return _RUN_TIMES
    return _AND.join(sorted(kinds, key=KINDS.index)) or "not known"


def _describe_replacements(paper_name: str, provenances: list[Provenance]) -> str:
    """Describe the programs that replace the programs of a paper.

    Return "" if programs of the paper were measured. Only some public sets contain their recordings.
    ``reproduction.yaml`` lists these sets.
    """
    about_paper = _PAPERS[paper_name]
    public_sets = {provenance.public_set for provenance in provenances}
    if public_sets & set(about_paper["sets"]):
        return ""
    # Recordings that are not in a public set have the name "". Results without a source are treated like them.
    has_own_recordings = "" in public_sets or not public_sets
    return about_paper["programs of ours"] if has_own_recordings else "programs of others"


def _describe_programs(item: Any, n_programs: int | None, replacements: str) -> str:
    """Write the number of measured programs, and the description of replacements.

    For example, ``4 of 16`` or ``13 kernels of ours for 15``. The number is left out if it is unknown.
    """
    if not item.of or n_programs is None:
        return replacements
    return f"{n_programs} {replacements} for {item.of}" if replacements else f"{n_programs} of {item.of}"


def _count_programs(folder: Path, item: Any) -> int | None:
    """Count the measured programs of an item in a table of the results.

    The column ``counted_in`` of the item names the table. If the paper lists its programs, only these (or
    replacements with the same name) are counted. Return None if the table is missing.
    """
    table, _, column = item.counted_in.partition(".")
    file = folder / f"{table}.csv"
    if not table or not file.is_file():
        return None
    rows = pd.read_csv(file)
    if column not in rows:  # the table was written by an older version of cmlib
        return None
    program_list = _PAPERS[item.paper].get("listed")
    if program_list is None:
        return rows[column].nunique()
    names = list(paper(program_list["file"])[program_list["entry"]])[: program_list["first"]]
    return len(_remove_underscores(rows[column]) & _remove_underscores(names))


def _remove_underscores(names: Iterable[str]) -> set[str]:
    """Remove underscores from names. Some names have underscores only in the paper or only here."""
    return {name.replace("_", "") for name in names}
