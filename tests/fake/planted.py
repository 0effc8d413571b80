"""What the fake perf counts where FAKE_PLANTED is set: rates that follow from which micro-benchmark runs.

A made-up processor, and no measurement: caches of 1 MB and 16 MB, and for each class of the paper a handful
of rates per cycle, from which every event of the table follows by its name; an event that names none of them
is noise. A program that is no micro-benchmark goes through phases that follow from its name.
"""

import functools
import random
from pathlib import PurePath

L2_BYTES, L3_BYTES = 1 << 20, 16 << 20
CYCLES_PER_S = 3.0e9
# ipc, then per cycle: lines from the second level, from the third, from memory, prefetched lines, mispredicted
# branches, branches, floating-point operations, cycles without retirement.
NAMES = ("ipc", "l2", "l3", "memory", "prefetched", "mispredicted", "branches", "float", "stalled")
CLASSES = {
    "P_Mem_L2": (0.9, 0.05, 1e-4, 1e-5, 1e-4, 2e-4, 0.1, 1e-5, 0.5),
    "P_Mem_L3": (0.35, 0.004, 0.02, 1e-4, 1e-4, 2e-4, 0.05, 1e-5, 0.75),
    "P_Mem_M": (0.12, 1e-3, 0.002, 0.006, 1e-4, 2e-4, 0.02, 1e-5, 0.93),
    "N_Mem_L2": (2.6, 0.01, 1e-4, 1e-5, 0.04, 2e-4, 0.3, 1e-5, 0.1),
    "N_Mem_L3": (2.2, 0.003, 0.003, 1e-4, 0.03, 2e-4, 0.28, 1e-5, 0.15),
    "N_Mem_M": (1.6, 0.002, 0.001, 0.001, 0.02, 2e-4, 0.22, 1e-5, 0.3),
    "branch-P": (0.7, 1e-4, 1e-5, 1e-6, 1e-4, 0.035, 0.25, 1e-5, 0.45),
    "branch-N": (2.4, 1e-4, 1e-5, 1e-6, 1e-4, 2e-4, 0.8, 1e-5, 0.1),
    "chain-P": (0.5, 1e-5, 1e-5, 1e-6, 1e-5, 1e-5, 0.03, 1e-5, 0.7),
    "chain-N": (3.2, 1e-5, 1e-5, 1e-6, 1e-5, 1e-5, 0.2, 1e-5, 0.05),
    "float-P": (0.4, 1e-5, 1e-5, 1e-6, 1e-5, 1e-5, 0.02, 0.35, 0.75),
    "float-N": (2.8, 1e-5, 1e-5, 1e-6, 1e-5, 1e-5, 0.18, 2.2, 0.06),
    "software-P": (2.1, 2e-4, 1e-5, 1e-6, 1e-4, 0.012, 0.35, 1e-4, 0.3),
    "software-N": (1.9, 1e-4, 1e-5, 1e-6, 1e-4, 1e-5, 0.2, 0.9, 0.2),
}
CHAINS = {
    "branch": "branch",
    "interpreter": "branch",
    "filter": "branch",
    "varint": "branch",
    "median_filter": "branch",
    "reservation": "chain",
    "reservation_float": "float",
    "logistic": "float",
    "floating_point": "software",
    "decimal": "software",
}
TRAINED = ("array", "linked_list", "pointer", "branch", "reservation", "reservation_float", "floating_point")
UNSEEN = (
    "hash_join",
    "binary_search",
    "sparse_matrix",
    "matrix_columns",
    "netlist",
    "count_keys",
    "tree_walk",
    "graph_search",
    *CHAINS,
)
# By part of an event's name: the rate it follows, and a factor.
EVENTS = (
    ("hw_pf", "prefetched", 1.0),
    ("pf_", "prefetched", 0.8),
    ("misp", "mispredicted", 1.0),
    ("brn", "branches", 1.0),
    ("ret_cond", "branches", 0.7),
    ("dram", "memory", 1.0),
    ("local_ccx", "l3", 1.0),
    ("miss_l2", "l3", 1.1),
    ("local_l2", "l2", 1.0),
    ("dc_hit_in_l2", "l2", 0.9),
    ("mab_alloc", "l2", 1.3),
    ("fp_ret", "float", 1.0),
    ("fp_ops", "float", 1.1),
    ("no_retire", "stalled", 0.9),
    ("stall", "stalled", 0.5),
    ("ret_ops", "ipc", 1.1),
    ("ret_instr", "ipc", 1.0),
    ("ld_dispatch", "ipc", 0.3),
    ("store_dispatch", "ipc", 0.12),
    ("instructions", "ipc", 1.0),
)


def classes(command):
    """Class and factors of what a command does, by the share of its run that is over: a list of (until, rates)."""
    words = [PurePath(word).name for word in command]
    name = next((word for word in words if word in TRAINED + UNSEEN), None)
    if name is None:
        return _phases(random.Random("-".join(sorted(set(words) - {"sh", "true", "cmlib"}))))
    form = words[words.index("--form") + 1]
    drawn = random.Random(name)
    spread = 0.1 if name in TRAINED else 0.2
    own = [drawn.lognormvariate(0, spread) for _ in NAMES]
    if name in CHAINS:
        return [(1.0, _scaled(CLASSES[f"{CHAINS[name]}-{form}"], own))]
    size = int(words[words.index("--size") + 1])
    level = "L2" if size <= L2_BYTES else "L3" if size <= L3_BYTES else "M"
    rates = _scaled(CLASSES[f"{form}_Mem_{level}"], own)
    if name == "netlist":
        return [(0.45, _scaled(rates, [1, 1, 1, 0.8, 1, 6, 2, 1, 1])), (1.0, rates)]
    return [(1.0, rates)]


def rows(command, ends, pinned, groups, draw=0):
    """What perf writes: an interval that ends at each of `ends` [s], events as perf names them, noise by `draw`."""
    share = dict.fromkeys(pinned, 1.0) | {event: 1 / len(groups) for group in groups for event in group}
    shares = {event.partition(":")[0]: value for event, value in share.items()}
    for end, row in zip(ends, counts(command, ends, list(shares), shares, draw), strict=True):
        for event, value in zip(share, row, strict=True):
            shown = f"{value},,{event},99667417,{100 * share[event]:.2f}"
            yield f"     {end:.9f},{f'<not counted>,,{event},0,0.00' if value is None else shown},,\n"


def counts(command, ends, events, shares, draw):
    """Counts of events in intervals that end at `ends` [s]; shares of time each event is on a counter.

    The first interval is not counted: the program has switched nothing on. Returns None there.
    """
    words = [PurePath(word).name for word in command]  # the same noise in whichever folder
    drawn = random.Random(f"{draw} {words} {events}")
    phases = classes(command)
    of_run = {event: drawn.lognormvariate(0, 0.03) for event in events}
    rows, before = [], 0.0
    for number, end in enumerate(ends):
        rates = next(rates for until, rates in phases if end / ends[-1] <= until + 1e-9)
        wobble = drawn.lognormvariate(0, 0.03)
        cycles = CYCLES_PER_S * (end - before) * drawn.uniform(0.98, 1.0)
        row = []
        for event in events:
            noise = drawn.lognormvariate(0, 0.02 / max(shares[event], 0.04) ** 0.5)
            rate = 1.0 if event == "cycles" else _rate(event, rates) * of_run[event] * wobble * noise
            row.append(None if number == 0 else round(cycles * rate))
        rows.append(row)
        before = end
    return rows


def _rate(event, rates):
    place, factor = _told(event)
    return factor if place is None else factor * rates[place]


@functools.cache
def _told(event):
    """Which rate an event follows, and its factor; no rate, and its own, for noise."""
    for part, name, factor in EVENTS:
        if part in event:
            return NAMES.index(name), factor
    return None, 10 ** random.Random(event).uniform(-5, -1)


def _phases(drawn):
    """Three phases of a program nobody trained on, each near some class."""
    ends = sorted(drawn.uniform(0.1, 0.9) for _ in range(2))
    own = [drawn.lognormvariate(0, 0.15) for _ in NAMES]
    kinds = [CLASSES[drawn.choice(sorted(CLASSES))] for _ in range(3)]
    return [(until, _scaled(kind, own)) for until, kind in zip((*ends, 1.0), kinds, strict=True)]


def _scaled(rates, factors):
    return [rate * factor for rate, factor in zip(rates, factors, strict=True)]
