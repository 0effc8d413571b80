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


def families(by_program, *, top=6):
    """The families of a program by one definition of importance, and what one of them adds.

    Controls: program, definition, families shown, and the family whose cycles are drawn over progress beside all.

    Parameters
    ----------
    by_program : dict of str to cmlib.study.Families
        By program; empty where nothing is recorded.
    top : int, default 6
        Families shown at first.

    Returns
    -------
    Panel
    """
    if not by_program:
        return Panel.empty()

    def draw(program, way, top, family):
        one = by_program[program]
        rows = _rows(one, way).head(top)
        cycles = {
            "all": 1000 * (one.cpi["cpi"] - one.cpi["cpi"].mean()),
            "family": 1000 * one.contributions[family],
        }
        figure, _ = plot.families_beside_cycles(rows, cycles, title=program)
        return figure, _said(one, int(family))

    first = next(iter(by_program))
    controls = {
        "program": dropdown("program", list(by_program), first),
        "way": dropdown("importance", _WAYS),
        "top": slider("families shown", 2, 12, value=top),
        "family": dropdown("over progress", _names(by_program[first])),
    }
    panel = Panel(draw, controls)
    panel.before_redraw("program", lambda program: offer(controls["family"], _names(by_program[program])))
    return panel


def _rows(one, way):
    """Families by one definition, the most important first; only the linear model has intervals."""
    table = one.table.assign(label=one.table["name"].str.wrap(34))
    if way == "model":
        return table
    values = one.ways[way].to_numpy()
    rows = table.assign(importance=values, low=values, high=values).dropna(subset="importance")
    return rows.sort_values("importance", ascending=False, kind="stable")


def _names(one):
    return [(f"{row.family}. {row.name}", str(row.family)) for row in one.table.itertuples(index=False)]


def _said(one, family):
    row = one.table[one.table["family"] == family].iloc[0]
    members = one.members[one.members["family"] == family]
    category = f"; the account's {row['category']} goes with it" if row["category"] else ""
    return text.paragraph(
        f"{text.name(row['name'])}: {text.number(row['cycles_per_kilo_instruction'], 1)} cycles per 1,000 instructions "
        f"({text.number(row['cycles_low'], 1)} to {text.number(row['cycles_high'], 1)}) more in busy than in quiet "
        f"steps{category}. {len(members)} events:"
    ) + text.table(
        ["event", "share of the family [%]", "where cycles per instruction are high"],
        [[each.event, text.number(each.weight, 1), each.direction] for each in members.head(12).itertuples()],
    )
