"""Find which tables and figures of the papers a profile's results reproduce, and from which data.

An item is a table or figure of a paper; data/papers/items.csv lists all of them. The manifests name the recordings
that a notebook read for each result (:mod:`cmlib.io.provenance`). :func:`reproduction` returns the state of every
item.
"""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.io.provenance import KINDS, OTHERS_HARDWARE, OWN_HARDWARE, SOFTWARE_EVENTS, Provenance
from cmlib.report.results import paper

__all__ = ["count_measured", "find_provenances", "read_items", "reproduction"]

DIAGRAM = "diagram or list"
RUN_TIMES = "run times"
REPRODUCED, IN_PART, NOT = "reproduced", "in part", "not"
# Values of the column "needs" of items.csv.
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
        One row per item of data/papers/items.csv, "" where there is nothing. Columns: ``paper``, ``item``, ``shows``
        (its content); ``notebook`` and ``result`` (the result of a notebook that shows it); ``needs`` (counts, run
        times, the paper's numbers, or nothing: a diagram or list); ``counted_in`` (``table.column`` with the names of
        the measured programs), ``of`` (number of programs in the paper); ``lacking`` (differences from the paper that
        no recording removes) and ``record`` (the command that records missing data).
    """
    return pd.read_csv(places.shipped("papers") / "items.csv", keep_default_na=False, dtype=str)


def reproduction(folder: Path, sections: Iterable[dict]) -> pd.DataFrame:
    """Find the state of every table and figure of the papers.

    Parameters
    ----------
    folder : pathlib.Path
        A profile's results.
    sections : iterable of dict
        The manifests of its notebooks.

    Returns
    -------
    DataFrame of str
        One row per item. The columns ``paper``, ``item``, ``shows``, ``notebook`` and ``lacking`` are those of
        :func:`read_items`. The others are:

        - ``status``: *reproduced*, *in part* (something is lacking, programs of the paper are missing or replaced, or
          the counts are not from hardware counters) or *not* (no result shows it).
        - ``data``: kind of the data behind the result, such as ``own hardware``; "" where status is *not*.
        - ``programs``: number of the paper's programs that were measured, such as ``4 of 16``, or of programs that
          replace them, such as ``13 kernels of ours for 15``; "" if it is not known.
        - ``record``: the command that records the missing data, "" if no data are missing.
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
    """Find the provenances of a result's counts.

    Parameters
    ----------
    manifest : dict
        The manifest of the result's notebook.
    entry : dict
        A figure, table or number in it.

    Returns
    -------
    list of Provenance
        One for each kind of counts and public set; empty where none is recorded.
    """
    stored = manifest.get("data", [])
    return [Provenance(**stored[position]) for position in entry.get("data", [])]


def count_measured(items: pd.DataFrame) -> pd.Series:
    """Count the items of each paper that rest on measurements.

    Parameters
    ----------
    items : DataFrame
        The result of :func:`reproduction`.

    Returns
    -------
    Series of int
        Number of items by paper that are reproduced, at least in part, from hardware events, software events or run
        times. Simulated items, diagrams, lists and numbers of the papers are not counted.
    """
    kinds = (*_MEASURED, RUN_TIMES)
    is_measured = pd.Series(
        [any(kind in data for kind in kinds) for data in items["data"]], items.index, dtype=int
    )
    return is_measured.groupby(items["paper"], sort=False).sum()


def _describe_item(item, provenances, folder):
    """Return the status, data, programs and record of an item (dict of str).

    `provenances` are the provenances of its result, None if no notebook made it.
    """
    if provenances is None:
        return {"status": NOT, "data": "", "programs": "", "record": item.record}
    if item.needs not in (_COUNTS, RUN_TIMES):
        data = DIAGRAM if item.needs == _NOTHING else item.needs
        status = IN_PART if item.lacking else REPRODUCED
        return {"status": status, "data": data, "programs": "", "record": ""}
    kinds = {provenance.kind for provenance in provenances}
    stand_ins = _describe_stand_ins(item.paper, provenances)
    n_programs = _count_programs(folder, item)
    enough = n_programs is None or not item.of or n_programs >= int(item.of)
    is_counted = bool(kinds) and kinds <= (_MEASURED if item.needs == RUN_TIMES else _HARDWARE)
    is_complete = is_counted and enough and not stand_ins
    return {
        "status": REPRODUCED if is_complete and not item.lacking else IN_PART,
        "data": _describe_data(item, provenances),
        "programs": _describe_programs(item, n_programs, stand_ins),
        "record": "" if is_complete else item.record,
    }


def _describe_data(item, provenances):
    """Return the kinds of data that were read for an item (str): kinds of counts, or run times."""
    kinds = {provenance.kind for provenance in provenances}
    if item.needs == RUN_TIMES and kinds and kinds <= _MEASURED:
        return RUN_TIMES
    return " and ".join(sorted(kinds, key=KINDS.index)) or "not known"


def _describe_stand_ins(paper_name, provenances):
    """Return which programs replace those of a paper (str), "" if the paper's own programs were measured.

    The public sets that reproduction.yaml names contain the paper's own programs; no other recordings do.
    """
    paper_programs = _PAPERS[paper_name]
    sets = {provenance.public_set for provenance in provenances}
    if sets & set(paper_programs["sets"]):
        return ""
    return paper_programs["programs of ours"] if "" in sets or not sets else "programs of others"


def _describe_programs(item, n_programs, stand_ins):
    """Return how many of the paper's programs, or of their replacements, were measured; "" if not known."""
    if not item.of or n_programs is None:
        return stand_ins
    return f"{n_programs} {stand_ins} for {item.of}" if stand_ins else f"{n_programs} of {item.of}"


def _count_programs(folder, item):
    """Count the paper's programs, or those measured in their place, in a table of the results.

    Return None if the item names no table, or the table or its column is missing.
    """
    table, _, column = item.counted_in.partition(".")
    file = folder / f"{table}.csv"
    if not table or not file.is_file():
        return None
    rows = pd.read_csv(file)
    if column not in rows:  # of an older version's run
        return None
    listed = _PAPERS[item.paper].get("listed")
    if listed is None:
        return rows[column].nunique()
    names = paper(listed["file"])[listed["entry"]]
    return len(_plain_names(rows[column]) & _plain_names(list(names)[: listed["first"]]))


def _plain_names(names):
    """Return the set of the programs' names without underscores, because spellings differ in them."""
    return {name.replace("_", "") for name in names}
