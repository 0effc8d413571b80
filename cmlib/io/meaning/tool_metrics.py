"""Collect the metrics that the recording tool computed: shares of slots, IPC and CPUs.

A slot is an opportunity to begin one operation in a cycle. A share is the fraction of all slots in a category, for
example ``back end``. Tools use different names for the same metric. :func:`collect_metrics` returns the mean values,
and :func:`find_category` the common name of a metric.
"""

import re

import numpy as np
import pandas as pd

IPC = "instructions a cycle"
CPI = "cycles an instruction"
CPUS = "CPUs"
# The four main categories of slots. If a tool printed shares but no counts, the percentage of a category is stored as
# the count of this event.
SHARE_EVENTS = {
    "retired": "retiring",
    "bad speculation": "bad_speculation",
    "front end": "frontend_bound",
    "back end": "backend_bound",
}
# A category is the sum of two parts. Some tools print only the parts.
_PARTS = {
    "retired": ("plain ops", "microcode"),
    "bad speculation": ("mispredicted branches", "pipeline restarts"),
    "front end": ("front-end latency", "front-end bandwidth"),
    "back end": ("memory", "core"),
}
# Names of each metric in the output of perf, toplev, PCM and likwid. They contain only letters and digits, because the
# tools differ in blanks and underscores. Text that _NOT_IN_NAMES matches is removed from the tool's name, too.
_NAMES = {
    "retired": ("retiring", "retired"),
    "plain ops": ("retiringfastpath",),
    "microcode": ("retiringmicrocode",),
    "bad speculation": ("badspeculation", "badspec", "speculation"),
    "front end": ("frontendbound", "frontend", "febound"),
    "back end": ("backendbound", "backend", "bebound"),
    "sibling thread": ("smtcontention", "smtdispcontention"),
    "mispredicted branches": ("branchmispredicts", "badspeculationmispredicts", "branchmispredict"),
    "pipeline restarts": (
        "machineclears",
        "badspeculationpipelinerestarts",
        "badspeculationmachineclears",
    ),
    "front-end latency": ("fetchlatency", "frontendboundlatency", "frontendlatency"),
    "front-end bandwidth": (
        "fetchbandwidth",
        "frontendboundbandwidth",
        "frontendboundbw",
        "frontendbandwidth",
    ),
    "memory": ("memorybound", "backendboundmemory", "backendboundmemorybound"),
    "core": ("corebound", "backendboundcpu", "backendboundcorebound"),
    "resources": ("resourcebound", "backendboundresourcebound"),
    IPC: ("insnpercycle", "ipc", "instructionspercycle", "insnspercycle", "ipcsysuser"),
    CPI: ("cpi", "cyclesperinstruction", "cpirate", "cpisysuser"),
    CPUS: ("cpusutilized",),
}
_CATEGORY_BY_NAME = {name: category for category, names in _NAMES.items() for name in names}
_NOT_IN_NAMES = re.compile(
    "|".join(
        (
            r"tma_",  # prefix of perf: `tma_backend_bound`
            r"\btopdown\W+l[0-9]\W*",  # group and level before the name
            r"metric_",  # prefix of a metric
            r"%",  # unit before the name: `%  tma_backend_bound`
            r"\(cpu_\w+\)",  # kind of core: `Retiring (cpu_core)`
            r"cpu_(?:core|atom|lowpower)",  # kind of core without parentheses
            r"[(\[]%[)\]]",  # unit after the name: `(%)` or `[%]`
            r"\bslots\b",  # unit of toplev: `% Slots`
        )
    )
)
_NOT_SHARES = (IPC, CPI, CPUS)
_CPU_CLOCK = "cpu-clock"


def find_category(name: str) -> str | None:
    """Return the common name of a metric. None for an unknown metric.

    Examples
    --------
    >>> find_category("%  tma_backend_bound"), find_category("insn per cycle"), find_category("GHz")
    ('back end', 'instructions a cycle', None)
    """
    bare_name = _NOT_IN_NAMES.sub(" ", name.lower())
    return _CATEGORY_BY_NAME.get(re.sub(r"[^a-z0-9]", "", bare_name))


def collect_metrics(metrics: pd.DataFrame) -> dict[str, float]:
    """Average the metrics over intervals, runs, and places (for example, CPUs).

    If the share of a category was not printed, it is the sum of the shares of its parts. If the IPC was not printed, it
    is computed from the cycles per instruction.

    Parameters
    ----------
    metrics : DataFrame
        Columns of `Program.metrics`.

    Returns
    -------
    dict of str to float
        Mean values, keyed by common name: shares of slots (0 to 1), ``instructions a cycle``, and ``CPUs`` (used CPUs).
        Metrics that were not printed are absent.
    """
    category_by_name = {name: find_category(name) for name in metrics["name"].cat.categories}
    known = metrics.assign(category=metrics["name"].astype(str).map(category_by_name))
    known = known[known["category"].notna() & known["value"].notna()]
    # perf computes the used CPUs from task-clock or cpu-clock. On an idle CPU, cpu-clock also advances, so the CPUs
    # would seem used.
    is_from_cpu_clock = (known["category"] == CPUS) & known["event"].astype(str).str.startswith(_CPU_CLOCK)
    known = known[~is_from_cpu_clock]
    values = {name: rows.to_numpy(float) for name, rows in known.groupby("category")["value"]}
    means = {
        name: float(np.mean(percentages)) / 100
        for name, percentages in values.items()
        if name not in _NOT_SHARES
    }
    for category, parts in _PARTS.items():
        if category not in means and all(part in means for part in parts):
            means[category] = sum(means[part] for part in parts)
    ipcs = values.get(IPC, np.array([]))
    if not len(ipcs) and CPI in values:
        ipcs = 1 / values[CPI][values[CPI] > 0]
    if len(ipcs):
        means[IPC] = float(np.mean(ipcs))
    if CPUS in values:
        means[CPUS] = float(np.mean(values[CPUS]))
    return means
