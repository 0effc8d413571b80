"""Collect the metrics that the recording tool computed: shares of slots, IPC and CPUs.

Tools use different names for the same metric. :func:`find_category` returns the common name, and
:func:`collect_metrics` the mean values.
"""

import re

import numpy as np
import pandas as pd

IPC = "instructions a cycle"
CPI = "cycles an instruction"
CPUS = "CPUs"
# Categories of level 1, and the event that the percentage of each becomes where a tool printed shares only.
SHARE_EVENTS = {
    "retired": "retiring",
    "bad speculation": "bad_speculation",
    "front end": "frontend_bound",
    "back end": "backend_bound",
}
# Parts whose sum is a category, where the tool printed only these.
PARTS = {
    "retired": ("plain ops", "microcode"),
    "bad speculation": ("mispredicted branches", "pipeline restarts"),
    "front end": ("front-end latency", "front-end bandwidth"),
    "back end": ("memory", "core"),
}
# What perf, toplev, PCM and likwid call these, in letters and digits only, without `tma_` and the kind of
# core.
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
_CATEGORY_OF = {name: category for category, names in _NAMES.items() for name in names}
_PREFIX = re.compile(
    r"tma_|\btopdown\W+l[0-9]\W*|metric_|%|\(cpu_\w+\)|cpu_(?:core|atom|lowpower)|[(\[]%[)\]]|\bslots\b"
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
    plain = _PREFIX.sub(" ", name.lower())
    return _CATEGORY_OF.get(re.sub(r"[^a-z0-9]", "", plain))


def collect_metrics(metrics: pd.DataFrame) -> dict[str, float]:
    """Average the metrics over intervals, runs and places.

    A category without a printed share is the sum of its parts, if all parts were printed.

    Parameters
    ----------
    metrics : DataFrame
        Columns of `Program.metrics`.

    Returns
    -------
    dict of str to float
        Mean values, keyed by common name: shares of slots (0 to 1), ``instructions a cycle``, and ``CPUs``, the number
        of used CPUs. Metrics that were not printed are absent.
    """
    category_of = {name: find_category(name) for name in metrics["name"].cat.categories}
    named = metrics.assign(category=metrics["name"].astype(str).map(category_of))
    named = named[named["category"].notna() & named["value"].notna()]
    of_clock = (named["category"] == CPUS) & named["event"].astype(str).str.startswith(_CPU_CLOCK)
    named = named[~of_clock]  # cpu-clock runs also where the program does not
    values = {name: rows.to_numpy(float) for name, rows in named.groupby("category")["value"]}
    shares = {name: float(np.mean(of)) / 100 for name, of in values.items() if name not in _NOT_SHARES}
    for whole, parts in PARTS.items():
        if whole not in shares and all(part in shares for part in parts):
            shares[whole] = sum(shares[part] for part in parts)
    ipcs = values.get(IPC, np.array([]))
    if not len(ipcs) and CPI in values:
        ipcs = 1 / values[CPI][values[CPI] > 0]
    if len(ipcs):
        shares[IPC] = float(np.mean(ipcs))
    if CPUS in values:
        shares[CPUS] = float(np.mean(values[CPUS]))
    return shares


def has_shares(metrics: pd.DataFrame) -> bool:
    """Return True if the tool printed the IPC or at least two shares of slots."""
    found = {find_category(name) for name in metrics["name"].unique()} - {None, CPUS}
    shares = found - {IPC, CPI}
    return len(shares) > 1 or bool(found & {IPC, CPI})
