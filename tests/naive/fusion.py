"""Fusing runs as the papers draw it, a cell at a time."""

import numpy as np


def stack(runs, leave_out):
    """GBRT paper, Fig. 3: rows below each other, own columns, zeros elsewhere. Lists of dicts, IPCs."""
    events = []
    for run in runs:
        events += [event for event in run.columns if event not in events and event not in leave_out]
    rows, ipcs = [], []
    for run in runs:
        for _, counts in run.iterrows():
            rows.append({event: counts[event] if event in run.columns else 0.0 for event in events})
            ipcs.append(counts["instructions"] / counts["cycles"])
    return rows, ipcs


def counts_between(run, event, start, end):
    """Events of a run between two shares of its retired instructions, evenly spread within an interval."""
    retired = run["instructions"].to_numpy()
    total, seen, found = retired.sum(), 0.0, 0.0
    for instructions, count in zip(retired, run[event].to_numpy(), strict=True):
        first, last = seen / total, (seen + instructions) / total
        overlap = max(0.0, min(last, end) - max(first, start))
        found += count * overlap / (last - first)
        seen += instructions
    return found


def align(runs, n_steps, leave_out):
    """Rates per cycle in every step: dict of event to list, and the mean IPC of every step."""
    edges = [step / n_steps for step in range(n_steps + 1)]
    rates, ipcs = {}, []
    for start, end in zip(edges[:-1], edges[1:], strict=True):
        ratios, values = [], {}
        for run in runs:
            cycles = counts_between(run, "cycles", start, end)
            ratios.append(counts_between(run, "instructions", start, end) / cycles)
            for event in run.columns:
                if event not in leave_out:
                    values.setdefault(event, []).append(counts_between(run, event, start, end) / cycles)
        ipcs.append(np.mean(ratios))
        for event, of_runs in values.items():
            rates.setdefault(event, []).append(np.mean(of_runs))
    return rates, ipcs


def scale_to_unit(values):
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]
