"""Advise on the largest losses of slots.

:func:`advise_on_losses` takes the bounds of the categories and the verdict, and returns a list of entries (dicts).
:func:`read_advice` returns the texts by category; they are in the top-down tables and in ``runtimes.yaml``.
"""

from cmlib.topdown.category_tables import LOSSES
from cmlib.topdown.sentences import describe_advice

_NOTHING = 0.005  # lower bound [share of the slots] up to which a category may be nothing
_MOST_OF_IT = 0.5  # advice is on the parts of a category if together they surely are this share of it
_ACTED_ON = {"bad speculation": "mispredicted branches"}  # part that the advice on a category is on
_NEAR = 2 / 3  # advice is on every loss that may be so large against the largest one
_SMALL = 0.1  # upper bound [share of the slots] below which a loss is surely small
_NAMED = 0.9  # ratio of lower to upper bound from which on the upper bound is named in any case
_SAME = 0.01  # share of the slots up to which an upper bound is that of all lost slots
_MATTERS = 5  # saving without misses [% of the cycles] from which on there is advice against them
# Commands that show how much of the back end waits for loads, by processor or vendor; "" where it is not known.
_LEVEL_2 = {
    "": "perf stat -M TopdownL2 on Intel, -M PipelineL2 on AMD Zen 4 and later",
    "intel": "perf stat -M TopdownL2",
    "amd_zen4": "perf stat -M PipelineL2",
    "amd_zen5": "perf stat -M PipelineL2",
}


def read_advice(table, runtime_advice, processor):
    """Return advice by category (dict of str): a runtime's, or else that of the processor's table.

    Parameters
    ----------
    table : cmlib.topdown.category_tables.TopdownTable
    runtime_advice : dict of str to str
        Advice of the language runtime, from :func:`cmlib.topdown.runtimes.advice_for`.
    processor : str
        Its name; the advice on the back end names the command that splits it there.
    """
    texts = {category.name: category.advice for category in table.categories if category.advice}
    texts |= runtime_advice
    vendor = processor.partition("_")[0]
    command = _LEVEL_2.get(processor, _LEVEL_2.get(vendor))
    if command:
        texts["back end"] = f"{texts['back end'].rstrip('.')} ({command})"
    return texts


def advise_on_losses(shares, verdict, texts, misses):
    """Advise on each of the largest losses, the one that limits the program first, then the surest.

    A loss is a category, or each of its parts, if these surely are most of it. Left out are losses that may be nothing,
    and those that are surely small while another may be larger. If none remains, the advice is on the misses that
    would save most.

    Parameters
    ----------
    shares : DataFrame
        Bounds of the categories, from :func:`cmlib.topdown.bounds`.
    verdict : cmlib.topdown.verdict.Bottleneck
    texts : dict of str to str
        Advice by category, from :func:`read_advice`.
    misses : list of dict
        From :func:`cmlib.cost.savings_without_misses`.

    Returns
    -------
    list of dict
        Keys: category, action, at_most [% of the cycles; None if no count bounds it] and text.
    """
    if not verdict.limits:
        return [_advise(texts, "retired")]
    category_by_loss = _find_losses(shares, texts)
    chosen = _choose_losses(shares, verdict, category_by_loss)
    if chosen.empty:
        return _advise_on_misses(misses, texts)
    limits = {name: _limit_loss(shares, name) for name in chosen.index}
    possible = verdict.limits if verdict.certainty == "open" else ()
    other_categories = sorted({*possible} - {category_by_loss[name] for name in limits})
    last = chosen.index[-1]
    return [
        _advise(texts, name, at_most, other_categories if name == last else ())
        for name, at_most in limits.items()
    ]


def _find_losses(shares, texts):
    """Return the losses with the category of level 1 that each is in (dict): categories, or their parts."""
    losses = {}
    for name in LOSSES:
        parts = shares[(shares["parent"] == name) & shares.index.isin(list(texts))]
        is_split = parts["low"].sum() > max(_MOST_OF_IT * shares.at[name, "low"], _NOTHING)
        for loss in parts.index if is_split else [name]:
            losses[loss] = name
    return losses


def _choose_losses(shares, verdict, category_by_loss):
    """Return the bounds of the losses that there is advice on, in its order (DataFrame)."""
    limiting = verdict.limits[:1] if verdict.certainty in ("decided", "likely") else ()
    ranked = shares.loc[[*category_by_loss], ["low", "high"]]
    ranked = ranked.assign(limit=[category in limiting for category in category_by_loss.values()])
    ranked = ranked.sort_values(["limit", "low"], ascending=False)
    threshold = max(_NEAR * ranked["low"].max(), _NOTHING)
    is_sure = ranked["low"].gt(_NOTHING) & ranked["high"].gt(threshold)
    is_surely_small = ranked["high"].lt(_SMALL) & ranked["high"].lt(ranked["high"].max())
    return ranked[(ranked["limit"] & ranked["high"].gt(threshold)) | (is_sure & ~is_surely_small)]


def _limit_loss(shares, name):
    """Return the most that advice on a loss can bring [% of the cycles].

    Returns None if no count bounds the loss, except that it is less than what did not retire.
    """
    low, high = shares.loc[name, ["low", "high"]]
    is_bounded = high < 1 - shares.at["retired", "low"] - _SAME or low > _NAMED * high
    if not is_bounded:
        return None
    acted_on = _ACTED_ON.get(name, name)
    return round(100 * float(min(high, shares.at[acted_on, "high"])), 2)


def _advise_on_misses(misses, texts):
    """Advise on the misses whose absence would save most, if that is 5 % of the cycles or more."""
    saved = [row for row in misses if (row["percent"] or 0) >= _MATTERS and not row["overstates"]]
    if not saved:
        return []
    largest = max(saved, key=lambda row: row["percent"])
    category = "memory" if "memory" in texts else "back end"
    return [_advise(texts, category, largest["high"], saved=largest)]


def _advise(texts, category, at_most=None, other_categories=(), saved=None):
    """Return an entry of advice; its text names others that may be as large, and what misses `saved` are."""
    text = texts[category]
    action = text[0].lower() + text[1:].rstrip(".")
    entry = {"category": category, "action": action, "at_most": at_most}
    return entry | {"text": describe_advice(entry, other_categories, saved)}
