"""Write the sentences of a summary from the numbers.

Each function takes a part of the summary and returns Markdown. `docs/summary.md` describes the parts. To change a
sentence of ``cmlib summarize``, edit this module.
"""

from cmlib.topdown.category_tables import LOSSES
from cmlib.topdown.cycle_costs import format_number
from cmlib.units import unit_of

_LEVELS = {
    "seconds": "{} s",
    "CPU seconds": "{} CPU s",
    "instructions": "{} instructions",
    "cycles": "{} cycles",
    "instructions a second": "{} instructions/s",
    "instructions a cycle": "IPC {}",
    "kernel cycles": "{} % of the cycles in the kernel",
    "kernel instructions a cycle": "IPC {} in the kernel",
    "user instructions a cycle": "IPC {} in user mode",
    "GHz": "{} GHz",
    "CPUs": "{} CPUs utilized",
}
_NAMES_OF_CHANGES = {"GHz": "clock [GHz]", "CPUs": "CPUs utilized", "instructions a cycle": "IPC"}
_UNKNOWN_WIDTH = 99.5  # if the bounds of retired slots are wider [%], the number of lost slots is not known


def describe_slots(account, unbounded, printed):
    """Describe how the slots were used, and which loss is the largest.

    Parameters
    ----------
    account : dict
        The key ``account`` of the summary, without texts.
    unbounded : list of str
        Losses about which nothing is known.
    printed : dict of str to float
        Shares that the recording tool printed, keyed by category.

    Returns
    -------
    str
    """
    rows = {row["name"]: row for row in account["categories"]}
    is_open = account["how"] == "open"
    is_all_unbounded = len(unbounded) == len(LOSSES)
    if account["how"] == "little lost":
        return f"**Little is lost**: at least {_round(rows['retired']['low'])} % of all slots retired an op."
    if is_open and account["adds_up_to"] != 100:
        return _describe_wrong_sum(account["adds_up_to"])
    if is_open and is_all_unbounded and account["printed_adds_up_to"] != 100:
        return _describe_wrong_sum(account["printed_adds_up_to"])
    bounded = [row for name, row in rows.items() if name in LOSSES and name not in unbounded]
    bounded = sorted(bounded, key=lambda row: (row["low"], row["high"]), reverse=True)
    text = _name_possible_limits(account, bounded, unbounded) if is_open else _name_limits(account)
    text += _describe_stalls(account["stalls"])
    if is_open and not unbounded:
        shares = ", ".join(f"{row['name']} {_format_bounds(row)} %" for row in bounded)
        text += f". Of all slots: {shares}"
    else:
        text += f"{'. Of' if is_open else ': of'} all slots, {_describe_losses(bounded, unbounded, rows['retired'])}"
    if account["printed"]:
        text += f", by what the recording tool printed{_name_not_printed(printed)}"
    if account["adds_up_to"] != 100:
        text += f"; the categories add up to {_round(account['adds_up_to'])} % of all slots"
    return f"{text}."


def describe_disputed(account):
    """Describe the printed shares that are ignored, and the reason.

    Parameters
    ----------
    account : dict
        The key ``account`` of the summary.

    Returns
    -------
    str
        Empty if no printed shares are ignored.
    """
    if not account["disputed"]:
        return ""
    shares = ", ".join(f"{share:.1f} % {name}" for name, share in account["disputed"].items())
    if account["printed_adds_up_to"] != 100:
        reason = f"add up to {_round(account['printed_adds_up_to'])} % and are not used"
    else:
        reason = "the counts contradict and which are not used"
    return f"the recording tool printed {shares}, which {reason}"


def describe_advice(entry, other_categories, saved):
    """Describe what to try, and how many cycles this can save.

    Parameters
    ----------
    entry : dict
        Keys: ``category``, ``action`` and ``at_most`` (largest saving [% of the cycles], or None).
    other_categories : sequence of str
        Categories that may be larger losses.
    saved : dict or None
        Saving without the misses of a cache, from :func:`cmlib.cost.savings_without_misses`.

    Returns
    -------
    str
    """
    text = f"{entry['category']}: {entry['action']}"
    if saved:
        text += (
            f"; without {saved['without']}, by the counts over time, {_round(saved['percent'])} % fewer cycles "
            f"(range over plausible latencies: {_round(saved['low'])}–{_round(saved['high'])})"
        )
    elif entry["at_most"] is not None:
        text += f"; if all of this loss went: at most {_round(entry['at_most'])} % fewer cycles"
    elif entry["category"] != "retired":
        text += "; no count of its own bounds what that would bring"
    if other_categories:
        names = " or ".join(_with_article(name) for name in other_categories)
        text += f"; not decided is whether {names} takes more"
    return text


def describe_misses(savings, noun="cycles"):
    """Describe how many cycles would be saved if a cache had no misses.

    Parameters
    ----------
    savings : list of dict
        One entry per cache, from :func:`cmlib.cost.savings_without_misses`.
    noun : str, default "cycles"
        What is saved.

    Returns
    -------
    list of str
        One text per cache with an estimate. Then one text per reason why other caches have no estimate.
    """
    clauses = [_describe_saving(row, noun) for row in savings if not row["reason"]]
    for reason in sorted({row["reason"] for row in savings if row["reason"]}, key=str.lower):
        caches = [row["without"].replace(" misses", "") for row in savings if row["reason"] == reason]
        clauses.append(f"Without {' or '.join(caches)} misses: not known, as {reason}")
    return clauses


def describe_contrast(described, reference, changes, is_slower, losses, changed):
    """Describe how one or more phases differ from others.

    Parameters
    ----------
    described, reference : list of dict
        Start and end [s] of the phases. The text describes how `described` differs from `reference`.
    changes : list of tuple
        One tuple per figure: name, change [%], value in the reference as text, and value in the described phase as
        text.
    is_slower : bool
        True if the clock is lower in the described phases.
    losses : list of dict
        Two dicts of the lost slots, keyed by category: in the reference and in the described phase. It may be empty.
    changed : list of dict
        Events with the largest change of their rate. Keys: ``event`` and ``times`` (ratio of the rates).

    Returns
    -------
    str
    """
    texts = []
    for name, percent, before, after in changes:
        texts.append(f"{_NAMES_OF_CHANGES.get(name, name)} {percent:+.0f} % ({before} to {after})")
    text = (
        f"From {_describe_spans(described)}, compared with {_describe_spans(reference)}: {', '.join(texts)}"
    )
    if losses:
        reference_losses, described_losses = losses
        for name, before in reference_losses.items():
            after = described_losses[name]
            if after["low"] > before["high"] or after["high"] < before["low"]:
                text += (
                    f"; {name} {_format_range(after['low'], after['high'])} of the slots "
                    f"(compared with {_format_range(before['low'], before['high'])})"
                )
    if changed:
        events = ", ".join(f"`{row['event']}` × {row['times']:.2g}" for row in changed)
        text += f"; events per cycle: {events}"
    if is_slower:
        text += "; the governor, a power limit or heat lowers the clock, not the program"
    return text


def describe_levels(levels):
    """Write figures with units in one line.

    Parameters
    ----------
    levels : dict of str to float
        Figures of a run. For example, ``seconds`` is the elapsed time [s].

    Returns
    -------
    str
        For example, ``10 s · IPC 0.8``.
    """
    texts = []
    for name, value in levels.items():
        template = _LEVELS.get(name, f"{{}} {name} a second")
        texts.append(template.format(format_number(value)))
    return " · ".join(texts)


def describe_counts(counts, instructions):
    """Write counts in one line.

    Parameters
    ----------
    counts : dict of str to float
        Counts, keyed by event name.
    instructions : float or None
        Number of instructions. If it is known, the counts per 1,000 instructions follow in brackets.

    Returns
    -------
    str
        Empty if `counts` is empty.
    """
    if not counts:
        return ""
    texts = []
    for name, value in counts.items():
        unit = unit_of(name)
        text = f"{format_number(value)} {unit} {name}" if unit else f"{format_number(value)} {name}"
        if instructions and value / instructions > 1e-6 and not unit:
            text += f" ({format_number(1000 * value / instructions)})"
        texts.append(text)
    title = "Counted, in brackets in 1,000 instructions" if instructions else "Counted"
    return f"{title}: {' · '.join(texts)}"


def describe_miss_ratios(ratios):
    """Write miss ratios in one line.

    Parameters
    ----------
    ratios : dict of str to float
        Misses in percent of the accesses. A key names the accesses, for example ``branches``.

    Returns
    -------
    str
        For example, ``Misses: 2 % of branches``.
    """
    texts = []
    for access, percent in ratios.items():
        text = f"{format_number(percent)} % of {access}"
        if percent > 100:
            text += " (over 100 %: not all of them are counted)"
        texts.append(text)
    return f"Misses: {', '.join(texts)}"


def describe_no_answer(hardly_ran):
    """Write that the counts do not show what limits the program."""
    text = "these counts do not show what limits it"
    return f"{text}: this kind of core hardly ran" if hardly_ran else text


def _describe_wrong_sum(percent):
    """Return the sentence that the categories do not add up to all slots."""
    return (
        f"**Not decided**: the categories add up to {_round(percent)} % of all slots, so that none of them can be "
        "relied on."
    )


def _name_possible_limits(account, bounded, unbounded):
    """Name the losses that may be the largest."""
    names = [row["name"] for row in bounded if row["name"] in account["limits"]]
    names += [name for name in account["limits"] if name in unbounded]
    if len(names) == len(LOSSES):
        return "**Not decided**: any of the three losses may be the largest"
    *first_names, last_name = [_with_article(name) for name in names]
    losses = f"{', '.join(first_names)} or {last_name}" if first_names else last_name
    return f"**Not decided**: {losses} may be the largest loss"


def _name_limits(account):
    """Name the categories that limit the program, in bold."""
    if account["how"] == "counted":
        text = " and ".join(account["limits"])
        if len(account["limits"]) > 1:
            text += " about equally"
    else:
        text = " or ".join(_with_article(name) for name in account["limits"])
    if account["how"] == "likely":
        text = f"likely {text}"
    return f"**{text[:1].upper()}{text[1:]}**"


def _describe_stalls(stalls):
    """Return the stalled cycles by category in brackets, or ""."""
    if not stalls:
        return ""
    largest_first = sorted(stalls.items(), key=lambda item: item[1], reverse=True)
    shares = ", ".join(f"{_round(share)} % {name}" for name, share in largest_first)
    return f" (stalled cycles: {shares})"


def _describe_losses(bounded, unbounded, retired):
    """Describe the range of each loss, and name the losses that no event bounds."""
    if not unbounded:
        texts = []
        for row in bounded:
            verb = "to" if texts else "are lost to"
            texts.append(f"{_format_range(row['low'], row['high'])} {verb} {_with_article(row['name'])}")
        return ", ".join(texts)
    is_known = retired["high"] - retired["low"] < _UNKNOWN_WIDTH
    text = f"{_format_range(100 - retired['high'], 100 - retired['low'])} are lost, " if is_known else ""
    for row in bounded:
        text += f"{_format_range(row['low'], row['high'])} to {_with_article(row['name'])}, "
    if is_known or len(unbounded) < len(LOSSES):
        text += "and "
    names = " or ".join(_with_article(name) for name in unbounded)
    return f"{text}no count bounds what {names} takes of it"


def _name_not_printed(printed):
    """Name the losses that the tool did not print, or return ""."""
    names = [_with_article(name) for name in LOSSES if name not in printed]
    return f" of all but {' and '.join(names)}" if names else ""


def _describe_saving(row, noun):
    """Describe the saving without the misses of one cache."""
    counts = row.get("counts")
    name = f"`{row['event']}` ({counts})" if counts else row["without"]
    if row["high"] is not None and row["percent"] < 0.5 and row["high"] < 1:
        return f"Without {name}: at most {max(row['high'], 0.1):.1f} % fewer {noun}"
    text = f"Without {name}: {_round(row['percent'])} %"
    if row["low"] is not None:
        text += f" (range over plausible latencies: {_round(row['low'])}–{_round(row['high'])})"
    text += f" fewer {noun}"
    if row.get("of_runs") and row["of_runs"] > 1:
        text += f", from {row['runs'] if row['runs'] > 1 else 'one'} of {row['of_runs']} runs"
    if row.get("overstates"):
        text += "; it counts more than loads, and overstates"
    return text


def _describe_spans(spans):
    """Join the start and end of phases [s], for example ``0 to 1.5 s and 3 to 4 s``."""
    return " and ".join(f"{span['start']:.4g} to {span['end']:.4g} s" for span in spans)


def _with_article(name):
    """Return the name of a category with its article. Bad speculation has no article."""
    return name if name == "bad speculation" else f"the {name}"


def _round(value):
    """Round half up. For example, 36.5 is 37 in all sentences."""
    return int(value + 0.5 + 1e-9)


def _format_bounds(row):
    """Format the bounds of a category, for example ``10–20``, or ``15`` if they are equal."""
    low = _round(row["low"])
    high = _round(row["high"])
    return f"{low}–{high}" if low != high else f"{high}"


def _format_range(low, high):
    """Format a range of percent, for example ``less than 1 %``, ``at most 5 %``, ``15 %`` or ``10–20 %``."""
    if low < 0.5:
        return "less than 1 %" if high < 0.95 else f"at most {_round(high)} %"
    if high - low < 3:
        return f"{_round((low + high) / 2)} %"
    return f"{_round(low)}–{_round(high)} %"
