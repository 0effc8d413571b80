"""Widgets for an account: which program, which level, which stretch, how cleaned, adjusted or not."""

from cmlib.explore.panel import Panel, dropdown, number, paragraph, slider, table
from cmlib.plot.topdown import accounts as draw_accounts


def topdown(accounts):
    """Where the cycles of a program go, over its progress."""
    if not accounts:
        return Panel.empty()

    def draw(program, level, first, last, cleaning, merging):
        one = accounts[program, cleaning, merging]
        if first >= last:
            raise ValueError(f"the stretch begins at {first} % and ends at {last} %; choose a later end.")
        stretch = (one.ipc.index >= first / 100) & (one.ipc.index <= last / 100)
        names = _names(one.account, level)
        shares = one.account.shares.loc[stretch, names]
        figure, axes = draw_accounts(
            {program: shares}, {program: one.ipc[stretch]}, parents=one.account.table.parents
        )
        axes[1, 0].set_xlim(first / 100, last / 100)
        return figure, _said(one, shares)

    programs, cleanings, mergings = (
        list(dict.fromkeys(key[place] for key in accounts)) for place in range(3)
    )
    controls = {
        "program": dropdown("program", programs),
        "level": dropdown("level", [("1", 1), ("2", 2), ("3", 3)], 1),
        "first": slider("from [%]", 0, 100, value=0),
        "last": slider("to [%]", 0, 100, value=100),
        "cleaning": dropdown("cleaning", cleanings, cleanings[-1]),
        "merging": dropdown("merging", mergings, mergings[-1]),
    }
    return Panel(draw, controls)


def _names(account, level):
    """Categories of a level; where one is not split so far, the one above."""
    names = list(account.level())
    for _ in range(level - 1):
        names = [below for name in names for below in (list(account.level(name)) or [name])]
    return names


def _said(one, shares):
    rows = [[name, number(100 * share, 1, "%")] for name, share in shares.mean().items()]
    total = number(100 * shares.sum(axis=1).mean(), 1, "%")
    return paragraph(f"The categories add up to {total} of the slots in this stretch.") + table(
        ["category", "share of slots"], rows
    )
