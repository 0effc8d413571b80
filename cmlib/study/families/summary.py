"""What families of events say about a program, in sentences."""

_NAMED = 3


def say_families(families):
    """Which families cycles per instruction follow, and how sure that is.

    Parameters
    ----------
    families : Families
        From :func:`cmlib.study.families`.

    Returns
    -------
    str
        Markdown.
    """
    named = "; ".join(_family(row) for row in families.table.head(_NAMED).itertuples())
    return f"Cycles per instruction follow {named}. {_sure(families)} {_error(families)}"


def say_limit(families):
    """What limits a program: its first family of stalls or misses, in one sentence.

    Parameters
    ----------
    families : Families

    Returns
    -------
    str
        Markdown; empty if no family is of stalls or misses.
    """
    losses = families.table[families.table["class"].isin(["stall", "miss"])]
    if losses.empty:
        return ""
    row = losses.iloc[0]
    category = f", where the top-down account has {row['category']}" if row["category"] else ""
    return (
        f"What costs cycles here goes with **{row['name']}**: {_cycles(row)} more of them in busy than in quiet "
        f"stretches{category}."
    )


def say_family_pairs(pairs):
    """Which families act together, and whether a model gains by it.

    Parameters
    ----------
    pairs : FamilyPairs
        From :func:`cmlib.study.family_pairs`.

    Returns
    -------
    str
        Markdown.
    """
    together, without = pairs.errors["together"], pairs.errors.drop("together").min()
    first = pairs.pairs.iloc[0]
    judged = "" if together < without else "Nothing shows that they do: a "
    model = "model in which families act together errs by"
    return (
        f"Of families, {first['label']} act together most ({first['importance']:.0f} % of all pair effects). "
        f"{judged or 'A '}{model} {together:.1f} % on held-out stretches, the best in which each acts alone by "
        f"{without:.1f} %."
    )


def first_by_ways(families):
    """The first family by each way of weighing them.

    Parameters
    ----------
    families : Families

    Returns
    -------
    dict of str to str
        ``model``, ``boosted``, ``permutation`` and ``conditional`` to the name of a family.
    """
    named = families.ways.set_index("name")
    return {way: named[way].idxmax() for way in ("model", "boosted", "permutation", "conditional")}


def _family(row):
    return (
        f"**{row.name}** ({row.importance:.0f} % of what the model adds and takes away, "
        f"90 % interval {row.low:.0f}–{row.high:.0f})"
    )


def _cycles(row):
    mean, low, high = row["cycles_per_kilo_instruction"], row["cycles_low"], row["cycles_high"]
    return f"{mean:.0f} cycles per 1,000 instructions ({low:.0f}–{high:.0f})"


def _sure(families):
    stable = families.stability.iloc[0]
    count = int(stable["families"])
    overlap = (
        f"How sure: of the first five of {count} families, two resampled models share "
        f"{100 * stable['overlap']:.0f} % (random rankings: {100 * stable['random rankings']:.0f} %)"
        if count > 5
        else f"How sure: of {count} families in all, the first five are always the same"
    )
    first = first_by_ways(families)
    others = {
        "boosted": "a boosted model",
        "permutation": "permutation",
        "conditional": "conditional Shapley values",
    }
    differing = [f"{others[way]}: {name}" for way, name in first.items() if name != first["model"]]
    return f"{overlap}; " + (
        f"other ways put another family first ({'; '.join(differing)})."
        if differing
        else "three other ways of weighing put the same family first."
    )


def _error(families):
    row = families.errors.iloc[-1]
    where = "another pass" if row["test"] == "another pass" else "stretches that it never saw"
    return (
        f"The model errs by {row['families']:.1f} % on {where}; a boosted model of single events by "
        f"{row['single events']:.1f} %, the mean by {row['mean']:.1f} %."
    )
