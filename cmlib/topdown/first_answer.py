"""Decide what to say first about a program, and what to try first.

:func:`find_first_answer` returns a :class:`FirstAnswer`. The terminal, the page of the program and `answers.json` show
it. It asks the questions of an experienced engineer in this order:

1. Does the program compute at all?
2. Which events have a known cost?
3. Which command separates the losses that the counts do not separate?
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
# The following limits are shares of all cycles (0-1), unless a comment says otherwise.
_LARGE = 0.15  # a known cost from this weight on is named first
_NOTABLE = 0.01  # a known cost from this upper bound on is explained
_ADVISED = 0.05  # advice is given on a known cost from this upper bound on
_MOSTLY_USEFUL = 0.55  # useful work is named first if the middle of its range reaches this share
_ABOUT_AS_LARGE = 0.9  # costs are named together from this fraction of the largest upper bound on
_MOSTLY = 0.5  # a cost of the kernel is its likely cause from this fraction of the kernel's time on
# Largest loss by instruction supply, if no event bounds it. In published accounts, programs with much code lose 15 to
# 30 % (Kanev et al., ISCA 2015).
_MOST_OF_SUPPLY = 0.4
# Cycles with too few instructions that perf does not count as stalled by the front end.
_MOST_BESIDE_STALLS = 0.2
_SUPPLY = "instruction supply"  # loss that the remaining cycles contain, besides those of the back end

_KERNEL_ADVICE = {
    "page faults": (
        "cause fewer page faults: reuse memory instead of returning it to the system, and use huge pages "
        "(madvise MADV_HUGEPAGE, MAP_POPULATE)"
    ),
    "context switches": "cause fewer context switches: larger batches, fewer locks, fewer threads",
}


@dataclass(frozen=True)
class FirstAnswer:
    """What is said first about a program.

    Attributes
    ----------
    kind : str
        How the answer was found:

        - ``off CPU``: the program used less than half a CPU.
        - ``kernel``: a third of the CPU time or more is in the kernel.
        - ``known cost``: events with a known cost take a large part of the cycles.
        - ``slots``: it is known how the slots of the pipeline were used.
        - ``useful work``: most cycles begin useful operations.
        - ``likely back end``: all other losses are too small.
        - ``not separated``: several losses are possible.
        - ``not known``: cycles were not counted, or the counts cannot be used.
    headline : str
        One or two sentences.
    details : list of str
        Sentences that explain the headline.
    advice : list of dict
        What to try, the most important first. Keys: ``category``, ``action``, ``at_most`` (largest saving [% of the
        cycles, or of the CPU time for the kind ``kernel``], or None) and ``text``.
    separate : str
        Command that shows which of several possible losses is the largest. If cycles were not counted, it simulates the
        program. Empty if no such command is known, or if another step comes first.
    hint : str
        How to get narrower ranges. Empty if there is no way.
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
    """Find what to say first about a program.

    Parameters
    ----------
    utilization : cmlib.topdown.utilization.Utilization
        CPUs used, and time in the kernel.
    cycles : list of cmlib.topdown.cycle_costs.CycleShare
        Shares of the cycles. Empty if they are not known.
    account : dict or None
        The key ``account`` of the summary: how the slots of the pipeline were used. None if this is not known.
    separate : str
        Command that shows which of several possible losses is the largest. Empty if no such command is known.
    texts : dict of str to str
        Advice, keyed by category.
    words : list of str
        Words of the program's command line, or ``["COMMAND"]``.
    lacks_cycles : bool
        True if cycles were not counted. For example, some virtual machines have no counters.
    hint : str
        How to get narrower ranges. Empty if there is no way.
    most_of_front_end : float, default 1.0
        Largest possible loss of the front end [share of the slots].
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
        return _answer_by_slots(utilization, cycles, account, separate, hint)
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

    A program that slept and one that was preempted have the same counts. The advice therefore begins with ways to find
    out which it was.
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
    """Answer for a program with much system time.

    Page faults or context switches are named if they may take half of the kernel's time or more.
    """
    likely_costs = [cost for cost in utilization.costs if cost.high >= _MOSTLY * utilization.kernel]
    trace = command_code("perf", "trace", "-s", "--", *words)
    record = command_code("perf", "record", "-g", "-e", "cycles:k", "--", *words)
    advice = [_advise_on_kernel(_KERNEL_ADVICE[cost.name], cost.high) for cost in likely_costs]
    advice.append(
        _advise_on_kernel(
            f"find the system calls and kernel functions that take it ({trace}, {record})", utilization.kernel
        )
    )
    return FirstAnswer(IN_KERNEL, utilization.describe(), utilization.describe_costs(), advice, "", "")


def _advise_on_kernel(action, at_most):
    """Make an entry of advice that saves some percent of the CPU time."""
    return {
        "category": "kernel",
        "action": action,
        "at_most": round(at_most, 2),
        "text": f"{action}; at most {at_most:.0f} % less CPU time",
    }


def _answer_by_slots(utilization, cycles, account, separate, hint):
    """Answer for a program with known use of the slots."""
    details = [*_describe_utilization(utilization), *_describe_known_costs(cycles)]
    used_hint = hint if separate else ""
    return FirstAnswer(SLOTS, account["text"], details, account["advice"], separate, used_hint)


def _answer_by_costs(utilization, cycles, account, separate, texts, hint, most_of_supply):
    """Answer for a program with known shares of the cycles.

    `most_of_supply` is the largest plausible loss by instruction supply [share of the cycles].
    """
    useful, *costs, rest = cycles
    bounded_advice = [entry for entry in (account or {}).get("advice", []) if entry["at_most"] is not None]
    advice = _advise_on_costs(costs, texts, bounded_advice)
    large_costs = [share for share in costs if share.weight() >= _LARGE]
    if large_costs:
        kind = KNOWN_COST
        headline = _name_largest_costs(large_costs)
    elif (useful.low + useful.high) / 2 >= _MOSTLY_USEFUL:
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


def _limit_supply(stalled):
    """Return the largest plausible loss by instruction supply [share of the cycles].

    `stalled` are the cycles that perf counts as stalled by the front end. It is None if they were not counted.
    """
    if stalled is None:
        return _MOST_OF_SUPPLY
    return min(_MOST_OF_SUPPLY, stalled + _MOST_BESIDE_STALLS)


def _is_likely_back_end(useful, costs, rest, most_of_supply):
    """Return True if the back end is probably the largest loss.

    The remaining cycles (`rest`) are lost to the back end and to instruction supply. The largest plausible loss by
    instruction supply (`most_of_supply`) is subtracted. What remains must exceed every other share.
    """
    other_limits = [useful.high, most_of_supply, *(share.high for share in costs)]
    return _SUPPLY in rest.contains and rest.low - most_of_supply >= max(other_limits)


def _name_largest_costs(shares):
    """Return the headline that names the largest known cost, and the costs that may be about as large."""
    largest_limit = max(share.high for share in shares)
    largest = [share for share in shares if share.high >= _ABOUT_AS_LARGE * largest_limit]
    if len(largest) == 1:
        return f"Largest known cost: {largest[0].name}, {_format_range(largest[0])} of the cycles."
    names = _enumerate([f"{share.name} ({_format_range(share)})" for share in largest])
    return f"Largest known costs, in cycles, not separated from each other: {names}."


def _name_back_end(rest, most_of_supply):
    """Return the headline that the back end is the likely limit."""
    back_end = " or ".join(name for name in rest.contains if name != _SUPPLY)
    return (
        f"Likely the back end ({back_end}): {_format_range(rest)} of the cycles are lost and not explained. "
        f"Instruction supply seldom loses more than {100 * most_of_supply:.0f} %."
    )


def _answer_without_cycles(utilization, words, lacks_cycles):
    """Answer for a program if neither the cycles nor the slots are known.

    `lacks_cycles` is False if cycles were counted, but the counts cannot be used.
    """
    if not lacks_cycles:
        details = utilization.describe_costs()
        return FirstAnswer(NOT_KNOWN, utilization.describe(), details, [], "", "")
    headline = "Cycles were not counted, so what limits the program is not known."
    details = _describe_utilization(utilization)
    count = command_code("perf", "stat", "--", *words)
    simulate = command_line("cmlib", "diagnose", "--simulate", "--", *words)
    action = f"count on a machine with hardware counters ({count}), or simulate: {as_code(simulate)}"
    entry = {"category": NOT_KNOWN, "action": action, "at_most": None, "text": action}
    return FirstAnswer(NOT_KNOWN, headline, details, [entry], simulate, "")


def _describe_utilization(utilization):
    """Describe the kernel's share of the CPU time and its costs, as a list of sentences."""
    sentence = utilization.describe()
    sentences = [sentence] if sentence else []
    return [*sentences, *utilization.describe_costs()]


def _describe_known_costs(cycles):
    """Describe each kind of event with a known cost, in one sentence each."""
    return [event.describe() for share in cycles for event in share.events if event.high >= _NOTABLE]


def _advise_on_costs(costs, texts, bounded_advice):
    """Advise on all known costs that may be large, the largest upper bound first.

    `bounded_advice` are the entries of the account's advice with an upper bound. They are added if they name another
    category.
    """
    large_costs = [share for share in costs if share.high >= _ADVISED]
    entries = [_advise(share.category, texts, 100 * share.high, cause=share.name) for share in large_costs]
    categories = {entry["category"] for entry in entries}
    entries += [entry for entry in bounded_advice if entry["category"] not in categories]
    return sorted(entries, key=lambda entry: -entry["at_most"])


def _advise(category, texts, at_most, cause=""):
    """Make an entry of advice on a category.

    `at_most` is the largest saving [% of the cycles], or None. `cause` replaces the category in the text.
    """
    text = texts[category]
    action = text[0].lower() + text[1:].rstrip(".")
    sentence = f"{cause or category}: {action}"
    if at_most is not None:
        sentence += f"; at most {at_most:.0f} % fewer cycles"
        at_most = round(at_most, 2)
    return {"category": category, "action": action, "at_most": at_most, "text": sentence}


def _advise_separation(names, command):
    """Advise to run the command that separates some losses.

    The list is empty if there is no command.
    """
    if not command:
        return []
    action = f"separate {names}"
    text = f"{action}: {as_code(command)}"
    return [{"category": NOT_SEPARATED, "action": action, "at_most": None, "text": text}]


def _enumerate(names):
    """Join names with commas and "and"."""
    *first_names, last_name = names
    return f"{', '.join(first_names)} and {last_name}" if first_names else last_name


def _format_range(share):
    """Format the range of a share as percent, for example ``34 to 46 %``."""
    low, high = 100 * share.low, 100 * share.high
    if low < 1:
        return f"at most {high:.0f} %"
    if round(low) == round(high):
        return f"{high:.0f} %"
    return f"{low:.0f} to {high:.0f} %"
