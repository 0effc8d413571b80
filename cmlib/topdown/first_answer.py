"""Decide what to say first of a program, and what to try first.

The order is that of an experienced engineer. First, does the program compute at all? Then, which events have a
known cost? Then, what do the counts not separate, and which command separates it? :func:`find_first_answer` returns
a :class:`FirstAnswer`, from which the terminal, the page and `answers.json` are rendered.
"""

from dataclasses import dataclass

from cmlib.shell import as_code, command_code, command_line
from cmlib.topdown.utilization import IN_KERNEL, OFF_CPU

KNOWN_COST, SLOTS, USEFUL_WORK, LIKELY_BACK_END, NOT_SEPARATED, NOT_KNOWN = (
    "known cost",
    "slots",
    "useful work",
    "likely back end",
    "not separated",
    "not known",
)
_LARGE = 0.15  # weight [share of the cycles] from which on a known cost is looked at first
_NOTABLE = 0.01  # upper bound [share of the cycles] from which on a known cost is explained
_ABOUT_AS_LARGE = 0.9  # of the largest upper bound: such costs are named together
_ADVISED = 0.05  # upper bound [share of the cycles] from which on there is advice on a known cost
_MOST_OF_IT = 0.55  # middle of the range of useful work from which on it is the first thing to reduce
# Most that instruction supply is assumed to lose [share of the cycles] where no event bounds it: published accounts of
# programs with much code have 15 to 30 % (Kanev et al., ISCA 2015), and more is rare.
_MOST_OF_SUPPLY = 0.4
# What cycles with too few instructions may take besides those that perf counts as stalled by the front end.
_MOST_BESIDE_STALLS = 0.2
_SUPPLY = "instruction supply"  # what the rest contains beside the back end
_MOSTLY = 0.5  # share of the kernel's time from which on a cost of the kernel is its likely cause

_KERNEL_ADVICE = {
    "page faults": (
        "cause fewer page faults: reuse memory instead of returning it to the system, and use huge pages "
        "(madvise MADV_HUGEPAGE, MAP_POPULATE)"
    ),
    "context switches": "cause fewer context switches: larger batches, fewer locks, fewer threads",
}


@dataclass(frozen=True)
class FirstAnswer:
    """What is said first of a program.

    Attributes
    ----------
    kind : str
        ``off CPU``, ``kernel``, ``known cost``, ``slots`` (the top-down account decides), ``useful work``,
        ``likely back end`` (by elimination), ``not separated`` or ``not known``.
    headline : str
        One sentence.
    details : list of str
        Sentences that explain it.
    advice : list of dict
        What to try, the first thing first: category, action, at_most [% of the cycles, or of the CPU time if the kernel
        takes it; None if not known] and text.
    separate : str
        The command that records the events that tell the possible losses apart, or that simulates the program if
        cycles were not counted. "" if no loss is left open, or if another step comes first.
    hint : str
        How to get tighter bounds; "" if there is no way.
    """

    kind: str
    headline: str
    details: list
    advice: list
    separate: str
    hint: str


def find_first_answer(
    utilization,
    cycles,
    account,
    separate,
    *,
    texts,
    words,
    lacks_cycles,
    hint,
    most_of_front_end=1.0,
    stalled=None,
):
    """Find what to say first of a program.

    Parameters
    ----------
    utilization : cmlib.topdown.utilization.Utilization
    cycles : list of cmlib.topdown.cycle_costs.CycleShare
        The cycles, split; empty where they can't be.
    account : dict or None
        Account of the slots, as in the summary.
    separate : str
        The command that records the events that tell the possible losses apart; may be "".
    texts : dict of str to str
        Advice by category.
    words : list of str
        Words of the program's command line, or ``["COMMAND"]``.
    lacks_cycles : bool
        True if cycles were not counted, as on a machine without counters.
    hint : str
        How to get tighter bounds; "" if there is no way.
    most_of_front_end : float, default 1.0
        Upper bound of the front end in the account [share of the slots].
    stalled : float, optional
        Cycles that perf counts as stalled by the front end [share of the cycles]. Default: not counted.

    Returns
    -------
    FirstAnswer
    """
    if utilization.state == OFF_CPU:
        return _answer_off_cpu(utilization, words)
    if utilization.state == IN_KERNEL:
        return _answer_in_kernel(utilization, words)
    if account and account["how"] != "open":
        details = [*_describe_utilization(utilization), *_describe_known_costs(cycles)]
        return FirstAnswer(
            SLOTS, account["text"], details, account["advice"], separate, hint if separate else ""
        )
    if cycles:
        most_of_supply = min(most_of_front_end, _limit_supply(stalled))
        return _answer_by_costs(utilization, cycles, account, separate, texts, hint, most_of_supply)
    if account:
        advice = account["advice"] or _advise_separation("what limits it", separate)
        details = _describe_utilization(utilization)
        return FirstAnswer(NOT_SEPARATED, account["text"], details, advice, separate, hint)
    return _answer_without_cycles(utilization, words, lacks_cycles)


def _answer_off_cpu(utilization, words):
    """Answer for a program that was on a CPU for less than half of the time.

    A sleeping program and a preempted one have the same counts, so the advice begins with ways to find out which it is.
    Faster code has a limited effect only on a program that slept.
    """
    details = [
        "The counts do not show why. Either it slept (it waited for input or output, a lock or a timer), or it was "
        "preempted (it was ready to run, but other programs had the CPU).",
        f"If it only slept, faster code saves at most {100 * utilization.cpus:.0f} % of the time. "
        "If it was preempted, this limit does not hold.",
        *utilization.describe_costs(),
    ]
    record = command_code("perf", "sched", "record", "--", *words)
    time = command_code("/usr/bin/time", "-v", *words)
    advice = [
        _advise_off_cpu("repeat it on an idle machine: if it then uses more CPUs, it was preempted"),
        _advise_off_cpu(
            f"trace the scheduler (as root): {record}, then `perf sched timehist --summary --state`; sleep and iowait "
            "are the time that it waited, preempt and delay the time that it was ready but had no CPU"
        ),
        _advise_off_cpu(f"without root, run {time}: many involuntary context switches suggest preemption"),
        _advise_off_cpu("if it slept, find what it waited for (`perf trace -s`, or offcputime of BCC)"),
    ]
    return FirstAnswer(OFF_CPU, utilization.describe(), details, advice, "", "")


def _advise_off_cpu(action):
    """Make an entry of advice for a program that is mostly off the CPU."""
    return {"category": OFF_CPU, "action": action, "at_most": None, "text": action}


def _answer_in_kernel(utilization, words):
    """Answer for a program with much system time: page faults or switches if they explain most of it."""
    likely_costs = [cost for cost in utilization.costs if cost.high >= _MOSTLY * utilization.kernel]
    actions = [_KERNEL_ADVICE[cost.name] for cost in likely_costs]
    trace = command_code("perf", "trace", "-s", "--", *words)
    record = command_code("perf", "record", "-g", "-e", "cycles:k", "--", *words)
    actions.append(f"find the system calls and kernel functions that take it ({trace}, {record})")
    most_by_cost = {cost.name: cost.high for cost in likely_costs}
    limits = [*most_by_cost.values(), utilization.kernel]
    advice = [
        {
            "category": "kernel",
            "action": action,
            "at_most": round(limit, 2),
            "text": f"{action}; at most {limit:.0f} % less CPU time",
        }
        for action, limit in zip(actions, limits, strict=True)
    ]
    return FirstAnswer(IN_KERNEL, utilization.describe(), utilization.describe_costs(), advice, "", "")


def _name_largest_costs(shares):
    """Return the headline on known costs: the largest, and those whose upper bound is about as large."""
    most = max(share.high for share in shares)
    largest = [share for share in shares if share.high >= _ABOUT_AS_LARGE * most]
    if len(largest) == 1:
        return f"Largest known cost: {largest[0].name}, {_format_range(largest[0])} of the cycles."
    names = _enumerate([f"{share.name} ({_format_range(share)})" for share in largest])
    return f"Largest known costs, in cycles, not separated from each other: {names}."


def _limit_supply(stalled):
    """Return the most that instruction supply is assumed to lose [share of the cycles]."""
    if stalled is None:
        return _MOST_OF_SUPPLY
    return min(_MOST_OF_SUPPLY, stalled + _MOST_BESIDE_STALLS)


def _answer_by_costs(utilization, cycles, account, separate, texts, hint, most_of_supply):
    """Answer where the slots decide nothing: by the largest known cost, useful work, or what is not separated."""
    useful, *costs, rest = cycles
    bounded = [entry for entry in (account or {}).get("advice", []) if entry["at_most"] is not None]
    advice = _advise_on_costs(costs, texts, bounded)
    large_costs = [share for share in costs if share.weight() >= _LARGE]
    if large_costs:
        kind = KNOWN_COST
        headline = _name_largest_costs(large_costs)
    elif (useful.low + useful.high) / 2 >= _MOST_OF_IT:
        kind = USEFUL_WORK
        headline = f"Mostly useful work: {_format_range(useful)} of what the processor can begin per cycle."
        advice = [_advise("retired", texts, None), *advice]
    elif _is_likely_back_end(useful, costs, rest, most_of_supply):
        kind = LIKELY_BACK_END
        headline = _name_back_end(rest, most_of_supply)
        advice = [*_advise_separation(_enumerate(rest.contains), separate), *advice]
    else:
        kind = NOT_SEPARATED
        headline = f"Not separated: {_enumerate(rest.contains)} take {_format_range(rest)} of the cycles."
        advice = [*_advise_separation(_enumerate(rest.contains), separate), *advice]
    details = [*_describe_utilization(utilization), *_describe_known_costs(cycles)]
    return FirstAnswer(kind, headline, details, advice, separate, hint)


def _name_back_end(rest, most_of_supply):
    """Return the headline that the back end is likely: the lost cycles that no event explains."""
    back_end = " or ".join(name for name in rest.contains if name != _SUPPLY)
    return (
        f"Likely the back end ({back_end}): {_format_range(rest)} of the cycles are lost and not explained, of which "
        f"instruction supply has seldom more than {100 * most_of_supply:.0f} points."
    )


def _is_likely_back_end(useful, costs, rest, most_of_supply):
    """Return True if the back end is the largest loss by elimination.

    The rest is the back end and instruction supply. Its lower bound, minus the most that instruction supply is assumed
    to lose, must be at least the upper bound of everything else.
    """
    other_limits = [useful.high, most_of_supply, *(share.high for share in costs)]
    return _SUPPLY in rest.contains and rest.low - most_of_supply >= max(other_limits)


def _answer_without_cycles(utilization, words, lacks_cycles):
    """Answer where neither cycles nor slots were counted."""
    details = utilization.describe_costs()
    if not lacks_cycles:
        return FirstAnswer(NOT_KNOWN, utilization.describe(), details, [], "", "")
    headline = "Cycles were not counted, so what limits the program is not known."
    details = [*_describe_utilization(utilization)]
    count = command_code("perf", "stat", "--", *words)
    simulate = command_line("cmlib", "diagnose", "--simulate", "--", *words)
    action = f"count on a machine with hardware counters ({count}), or simulate: {as_code(simulate)}"
    entry = {"category": NOT_KNOWN, "action": action, "at_most": None, "text": action}
    return FirstAnswer(NOT_KNOWN, headline, details, [entry], simulate, "")


def _describe_utilization(utilization):
    """Describe the kernel's share and its costs, where these are notable (list of sentences)."""
    sentence = utilization.describe()
    return [*filter(None, [sentence]), *utilization.describe_costs()]


def _describe_known_costs(cycles):
    """Describe each kind of event with a known cost, in one sentence each."""
    return [event.describe() for share in cycles for event in share.events if event.high >= _NOTABLE]


def _advise_on_costs(costs, texts, bounded):
    """Advise on known costs that are not surely small, the largest upper bound first.

    `bounded` are entries of the account's advice, which name other losses with an upper bound.
    """
    large = [share for share in costs if share.high >= _ADVISED]
    entries = [_advise(share.category, texts, 100 * share.high, cause=share.name) for share in large]
    categories = {entry["category"] for entry in entries}
    entries += [entry for entry in bounded if entry["category"] not in categories]
    return sorted(entries, key=lambda entry: -entry["at_most"])


def _advise(category, texts, at_most, cause=""):
    """Make one entry of advice on a category, with the most that it can bring."""
    text = texts[category]
    action = text[0].lower() + text[1:].rstrip(".")
    sentence = f"{cause or category}: {action}"
    if at_most is not None:
        sentence += f"; at most {at_most:.0f} % fewer cycles"
        at_most = round(at_most, 2)
    return {"category": category, "action": action, "at_most": at_most, "text": sentence}


def _advise_separation(names, separate):
    """Advise to run the command that separates losses (list of one entry); empty if there is none."""
    if not separate:
        return []
    action = f"separate {names}"
    return [
        {
            "category": NOT_SEPARATED,
            "action": action,
            "at_most": None,
            "text": f"{action}: {as_code(separate)}",
        }
    ]


def _enumerate(names):
    """Return names as text: ``memory, core and instruction supply``."""
    *first_names, last_name = names
    return f"{', '.join(first_names)} and {last_name}" if first_names else last_name


def _format_range(share):
    """Return a share of the cycles as text, such as ``34 to 46 %``."""
    low, high = 100 * share.low, 100 * share.high
    if low < 1:
        return f"at most {high:.0f} %"
    if round(low) == round(high):
        return f"{high:.0f} %"
    return f"{low:.0f} to {high:.0f} %"
