"""Give advice on the largest losses of slots.

A slot is an opportunity to begin one operation in a cycle. :func:`advise_on_losses` takes the bounds of the lost slots.
It returns one entry of advice per large loss. :func:`read_advice` reads the texts from the top-down tables and from
``runtimes.yaml``.
"""

from cmlib.topdown.category_tables import LOSSES
from cmlib.topdown.sentences import describe_advice

_POSSIBLY_ZERO = 0.005  # a loss with a lower bound up to this share of the slots may be empty
# Each part is a loss of its own if the parts take this fraction of the category or more.
_MOST_OF_CATEGORY = 0.5
_ADVISED_PART = {"bad speculation": "mispredicted branches"}  # part of a category that the advice is about
_NEARLY_LARGEST = 2 / 3  # advice is given on losses that may reach this fraction of the largest lower bound
_SMALL = 0.1  # a loss with a lower upper bound [share of the slots] is certainly small
_NEARLY_EXACT = 0.9  # a loss is bounded if its lower bound exceeds this fraction of its upper bound
_EQUAL = 0.01  # difference between shares of the slots up to which they are taken as equal
_LEAST_SAVING = 5  # smallest saving without misses [% of the cycles] for which advice is given
# Commands that show how much of the back end waits for loads, by processor or vendor. The key "" is for unknown ones.
_LEVEL_2 = {
    "": "perf stat -M TopdownL2 on Intel, -M PipelineL2 on AMD Zen 4 and later",
    "intel": "perf stat -M TopdownL2",
    "amd_zen4": "perf stat -M PipelineL2",
    "amd_zen5": "perf stat -M PipelineL2",
}


def read_advice(table, runtime_advice, processor):
    """Read the advice on each category.

    The advice for a language runtime replaces the advice of the processor's table.

    Parameters
    ----------
    table : cmlib.topdown.category_tables.TopdownTable
        Top-down table of the processor.
    runtime_advice : dict of str to str
        Advice for the language runtime by category, from :func:`cmlib.topdown.runtimes.advice_for`.
    processor : str
        Name of the processor. Empty if not known. The advice on the back end names the perf command for this processor.

    Returns
    -------
    dict of str to str
        Advice by category.
    """
    texts = {category.name: category.advice for category in table.categories if category.advice}
    texts |= runtime_advice
    vendor = processor.partition("_")[0]
    command = _LEVEL_2.get(processor, _LEVEL_2.get(vendor))
    if command:
        texts["back end"] = f"{texts['back end'].rstrip('.')} ({command})"
    return texts


def advise_on_losses(shares, verdict, texts, misses):
    """Give advice on each of the largest losses.

    A loss is a category of level 1. If its parts take at least half of it, each part is a loss of its own. There is no
    advice on a loss that may be empty or is certainly small. If no loss remains, the advice is on the cache misses with
    the largest saving.

    Parameters
    ----------
    shares : DataFrame
        Lower and upper bound of each category, from :func:`cmlib.topdown.bounds`.
    verdict : cmlib.topdown.verdict.Bottleneck
        The loss that limits the program, and how certain this is.
    texts : dict of str to str
        Advice, keyed by category, from :func:`read_advice`.
    misses : list of dict
        Cycles that the program would save if a cache had no misses, from :func:`cmlib.cost.savings_without_misses`.

    Returns
    -------
    list of dict
        One entry per loss. The loss that limits the program comes first, then the losses with the largest lower bounds.
        Keys:

        - ``category``: name of the loss
        - ``action``: what to try
        - ``at_most``: largest saving [% of the cycles]. None if not known.
        - ``text``: a sentence with all of this
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
    """Return the losses that advice can be about.

    The keys are losses, and the values are the categories of level 1 that contain them.
    """
    losses = {}
    for name in LOSSES:
        parts = shares[(shares["parent"] == name) & shares.index.isin(list(texts))]
        is_split = parts["low"].sum() > max(_MOST_OF_CATEGORY * shares.at[name, "low"], _POSSIBLY_ZERO)
        for loss in parts.index if is_split else [name]:
            losses[loss] = name
    return losses


def _choose_losses(shares, verdict, category_by_loss):
    """Select the losses for which advice is given, and return their bounds as a DataFrame."""
    limiting = verdict.limits[:1] if verdict.certainty in ("decided", "likely") else ()
    ranked = shares.loc[[*category_by_loss], ["low", "high"]]
    ranked = ranked.assign(limit=[category in limiting for category in category_by_loss.values()])
    ranked = ranked.sort_values(["limit", "low"], ascending=False)
    threshold = max(_NEARLY_LARGEST * ranked["low"].max(), _POSSIBLY_ZERO)
    is_sure = ranked["low"].gt(_POSSIBLY_ZERO) & ranked["high"].gt(threshold)
    is_surely_small = ranked["high"].lt(_SMALL) & ranked["high"].lt(ranked["high"].max())
    return ranked[(ranked["limit"] & ranked["high"].gt(threshold)) | (is_sure & ~is_surely_small)]


def _limit_loss(shares, name):
    """Return the largest saving that advice on a loss can bring [% of the cycles].

    Returns None if the loss may be anything between 0 and the share of all lost slots.
    """
    low, high = shares.loc[name, ["low", "high"]]
    most_lost = 1 - shares.at["retired", "low"]
    is_bounded = high < most_lost - _EQUAL or low > _NEARLY_EXACT * high
    if not is_bounded:
        return None
    advised_part = _ADVISED_PART.get(name, name)
    return round(100 * float(min(high, shares.at[advised_part, "high"])), 2)


def _advise_on_misses(misses, texts):
    """Give advice on the misses with the largest saving, if it is 5 % of the cycles or more."""
    usable = [row for row in misses if (row["percent"] or 0) >= _LEAST_SAVING and not row["overstates"]]
    if not usable:
        return []
    largest = max(usable, key=lambda row: row["percent"])
    category = "memory" if "memory" in texts else "back end"
    return [_advise(texts, category, largest["high"], saved=largest)]


def _advise(texts, category, at_most=None, other_categories=(), saved=None):
    """Make an entry of advice on a category.

    `other_categories` may take more slots. `saved` is the estimated saving without some misses, or None.
    """
    text = texts[category]
    action = text[0].lower() + text[1:].rstrip(".")
    entry = {"category": category, "action": action, "at_most": at_most}
    return entry | {"text": describe_advice(entry, other_categories, saved)}
