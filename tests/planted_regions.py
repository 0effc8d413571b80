"""SYNTHETIC counters of regions with a known anomaly in them. No machine was measured for any number here."""

import numpy as np
import pandas as pd

CONTENTION = "fills.near_cache"
# Usual rate [events per instruction], how it moves with work per run, and with noise per sample [factors of e],
# and what one line taken from the other cache adds to it [events].
_COUNTERS = {
    "cycles": (0.5, (0.1, 0.1, 0.02), 60.0),
    CONTENTION: (2e-5, (0.1, 0.5, 0.0), 1.0),
    "fills.local_l2": (6e-3, (0.4, 0.1, 0.05), -0.1),
    "fills.local_ccx": (1e-3, (0.6, 0.2, 0.05), 0.05),
    "fills.dram": (2e-4, (0.8, 0.3, 0.1), 0.0),
    "l2.requests": (1e-2, (0.5, 0.1, 0.05), 1.1),
    "l2.exclusive_requests": (2e-3, (0.3, 0.4, 0.05), 0.9),
    "l1.misses": (9e-3, (0.4, 0.1, 0.05), 1.0),
    "tlb.misses": (1e-4, (0.7, 0.1, 0.1), 0.0),
    "stalls.store_queue": (5e-3, (0.2, 0.3, 0.1), 15.0),
    "no_retire.load": (0.1, (0.3, 0.2, 0.05), 35.0),
    "loads": (0.35, (0.02, 0.0, 0.01), 0.0),
    "stores": (0.12, (0.02, 0.0, 0.01), 0.0),
    "branches": (0.15, (0.01, 0.0, 0.01), 0.0),
    "branches.mispredicted": (1e-3, (0.1, 0.0, 0.2), 0.0),
    "micro_ops": (1.1, (0.005, 0.0, 0.005), 0.0),
}
COUNTERS = tuple(_COUNTERS)


def planted_run(
    rng, *, severity=0.0, functions=("synthetic_f",), bad=None, n_samples=20, spread=1.0, noise=0.05
):
    """A run of samples, some functions of which may contend for a cache line. SYNTHETIC."""
    usual, moves, added = (np.array([row[i] for row in _COUNTERS.values()]) for i in range(3))
    work, threads = rng.normal(0, spread * 0.5, 2)
    pieces = []
    for number, function in enumerate(functions):
        own = np.random.default_rng(number).normal(0, 0.5, len(usual))
        disturbance = rng.normal(size=n_samples)
        causes = np.stack([np.full(n_samples, work), np.full(n_samples, threads), disturbance])
        logs = np.log(usual) + own + (moves @ causes).T + rng.normal(0, noise, (n_samples, len(usual)))
        rates = np.exp(logs)
        disturbed = rng.random(n_samples) < 0.02
        rates[disturbed] *= np.exp(rng.uniform(0, 0.5, (disturbed.sum(), 1)) * (moves[:, 0] + 0.1))
        if bad is None or function in bad:
            taken = severity * np.exp(rng.normal(0, 0.2, (n_samples, 1)))
            rates = np.maximum(rates + taken * added, rates * 0.2)
        frame = pd.DataFrame(rates, columns=COUNTERS)
        frame.insert(0, "location", f"synthetic.c:{10 * number + 10}")
        frame.insert(0, "function", function)
        pieces.append(frame)
    return pd.concat(pieces, ignore_index=True)
