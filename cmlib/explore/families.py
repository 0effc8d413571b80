"""Widgets for families: by which definition, and what one of them adds over the program's progress."""

from cmlib import plot
from cmlib.explore import text
from cmlib.explore.controls import dropdown, offer, slider
from cmlib.explore.panel import Panel

_WAYS = [
    ("share in the linear model", "model"),
    ("influence of a boosted model", "boosted"),
    ("permutation, held out", "permutation"),
    ("conditional Shapley values", "conditional"),
]


def families(found, *, top=6):
    """The families of a program by one definition of importance, and what one of them adds.

    Controls: program, definition, families shown, and the family whose cycles are drawn over progress beside all.

    Parameters
    ----------
    found : dict of str to cmlib.study.Families
        By program; empty where nothing is recorded.
    top : int, default 6
        Families shown at first.

    Returns
    -------
    Panel
    """
    if not found:
        return Panel.empty()

    def draw(program, way, top, family):
        one = found[program]
        rows = _rows(one, way).head(top)
        cycles = {
            "all": 1000 * (one.cpi["cpi"] - one.cpi["cpi"].mean()),
            "family": 1000 * one.contributions[family],
        }
        figure, _ = plot.families_beside_cycles(rows, cycles, title=program)
        return figure, _said(one, int(family))

    first = next(iter(found))
    controls = {
        "program": dropdown("program", list(found), first),
        "way": dropdown("importance", _WAYS),
        "top": slider("families shown", 2, 12, value=top),
        "family": dropdown("over progress", _names(found[first])),
    }
    panel = Panel(draw, controls)
    panel.before_redraw("program", lambda program: offer(controls["family"], _names(found[program])))
    return panel


def _rows(found, way):
    """Families by one definition, the most important first; only the linear model has intervals."""
    table = found.table.assign(label=found.table["name"].str.wrap(34))
    if way == "model":
        return table
    values = found.ways[way].to_numpy()
    rows = table.assign(importance=values, low=values, high=values).dropna(subset="importance")
    return rows.sort_values("importance", ascending=False, kind="stable")


def _names(found):
    return [(f"{row.family}. {row.name}", str(row.family)) for row in found.table.itertuples(index=False)]


def _said(found, family):
    row = found.table[found.table["family"] == family].iloc[0]
    members = found.members[found.members["family"] == family]
    category = f"; the account's {row['category']} goes with it" if row["category"] else ""
    return text.paragraph(
        f"{text.name(row['name'])}: {text.number(row['cycles_per_kilo_instruction'], 1)} cycles per 1,000 instructions "
        f"({text.number(row['cycles_low'], 1)} to {text.number(row['cycles_high'], 1)}) more in busy than in quiet "
        f"steps{category}. {len(members)} events:"
    ) + text.table(
        ["event", "share of the family [%]", "where cycles per instruction are high"],
        [[one.event, text.number(one.weight, 1), one.direction] for one in members.head(12).itertuples()],
    )
