"""Names of families of events, by what their members count."""

_SECOND = 0.4  # weight of a topic, as a share of the first's, from which it is named too


def family_names(members, what, table):
    """Name families by the topics of their members, the weightiest first.

    Parameters
    ----------
    members : DataFrame
        Columns ``family``, ``event`` and ``weight``, by falling weight within a family.
    what : DataFrame
        Topics of the events (:func:`cmlib.events.kinds`).
    table : DataFrame
        Event table, whose short names tell families of the same topics apart.

    Returns
    -------
    Series of str
        Index: family. Names are unique.
    """
    topics = members.assign(topic=members["event"].map(what["topic"]))
    names = topics.groupby("family").apply(_joined, include_groups=False)
    leading = members.drop_duplicates("family").set_index("family")["event"]
    repeated = names.duplicated(keep=False)
    short = leading.map(table["abbr"]).where(lambda abbr: abbr.notna() & (abbr != ""), leading)
    return names.where(~repeated, names + " (" + short + ")").rename("name")


def _joined(members):
    weights = members.groupby("topic", sort=False)["weight"].sum().sort_values(ascending=False, kind="stable")
    named = [topic for topic, weight in weights.iloc[:2].items() if weight >= _SECOND * weights.iloc[0]]
    return " and ".join(named)
