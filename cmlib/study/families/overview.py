"""Families of events on the report's first page: bars with intervals, and how sure they are."""

from cmlib.study.families.summary import say_limit

CAPTION = (
    "**What cycles per instruction follow.** Families of events: importance [%] with the interval of 90 % of resampled "
    "models, and cycles per 1,000 instructions more in a family's busy than in its quiet steps"
)


def family_bars(families, n=5):
    """The first families as bars.

    Parameters
    ----------
    families : Families
        From :func:`cmlib.study.families`.
    n : int, default 5

    Returns
    -------
    DataFrame
        As :meth:`cmlib.report.Results.overview_bars` takes it; a note tells the cycles per 1,000 instructions that
        go with the family, and the category of the account.
    """
    first = families.table.head(n).rename(columns={"importance": "value"})
    bars = first[["name", "value", "low", "high"]].reset_index(drop=True)
    return bars.assign(note=[_note(row) for row in first.itertuples()])


def say_overview(families):
    """What limits a program, if there is no account that tells it, and how sure its families are.

    Parameters
    ----------
    families : Families

    Returns
    -------
    dict of str to str
        ``limits`` and ``sure``, as :meth:`cmlib.report.Results.overview` takes them: error of the model beside
        the mean's, and how much of the first five families resampled models share.
    """
    limits = "" if len(families.categories) else say_limit(families).rstrip(".")
    return {"limits": limits, "sure": _sure(families)}


def _sure(families):
    error = families.errors.set_index("test").loc["held-out blocks"]
    shared = 100 * families.stability["overlap"].iloc[0]
    return (
        f"a model of cycles per instruction by families errs by {error['families']:.1f} % on held-out blocks, the mean "
        f"by {error['mean']:.1f} %; of the first five families two resampled models share {shared:.0f} %"
    )


def _note(row):
    cycles = f"{row.cycles_per_kilo_instruction:.0f} cycles ({row.cycles_low:.0f} to {row.cycles_high:.0f})"
    return ", ".join(filter(None, [cycles, row.category]))
