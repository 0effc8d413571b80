"""The regression estimator and the account in plain loops."""


def merged(steps):
    """Rates per cycle of several runs, moved to the mean IPC of all, event by event and step by step."""
    n_steps = len(steps[0])
    ipcs = [[step["instructions"].iloc[i] / step["cycles"].iloc[i] for i in range(n_steps)] for step in steps]
    reference = [sum(ipc[i] for ipc in ipcs) / len(ipcs) for i in range(n_steps)]
    collected = {}
    for step, ipc in zip(steps, ipcs, strict=True):
        mean_ipc = sum(ipc) / n_steps
        for event in step:
            if event in ("instructions", "cycles"):
                continue
            rate = [step[event].iloc[i] / step["cycles"].iloc[i] for i in range(n_steps)]
            mean_rate = sum(rate) / n_steps
            above = sum((ipc[i] - mean_ipc) * (rate[i] - mean_rate) for i in range(n_steps))
            below = sum((ipc[i] - mean_ipc) ** 2 for i in range(n_steps))
            slope = above / below if below else 0.0
            moved = [max(rate[i] + slope * (reference[i] - ipc[i]), 0.0) for i in range(n_steps)]
            collected.setdefault(event, []).append(moved)
    return {
        event: [sum(run[i] for run in runs) / len(runs) for i in range(n_steps)]
        for event, runs in collected.items()
    }, reference
