"""The two rank tests by trying everything that could have happened."""

import itertools
import math


def signed_rank(old, new):
    """(p_slower, p_faster, ratio) of pairs without ties: every sign of every difference is as likely."""
    differences = [math.log(b) - math.log(a) for a, b in zip(old, new, strict=True)]
    ordered = sorted(abs(d) for d in differences)
    ranks = [1 + ordered.index(abs(d)) for d in differences]
    slower = sum(rank for rank, d in zip(ranks, differences, strict=True) if d > 0)
    faster = sum(rank for rank, d in zip(ranks, differences, strict=True) if d < 0)
    sums = [
        sum(rank for rank, positive in zip(ranks, signs, strict=True) if positive)
        for signs in itertools.product((True, False), repeat=len(ranks))
    ]
    means = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(differences, 2)]
    return (
        sum(s >= slower for s in sums) / len(sums),
        sum(s >= faster for s in sums) / len(sums),
        math.exp(_median(means)),
    )


def rank_sum(old, new):
    """(p_slower, ratio) of runs without ties: every choice of the new ones is as likely."""

    def wins(chosen, rest):
        return sum(b > a for b in chosen for a in rest)

    everything = [*old, *new]
    counts = []
    for chosen in itertools.combinations(range(len(everything)), len(new)):
        rest = [everything[i] for i in range(len(everything)) if i not in chosen]
        counts.append(wins([everything[i] for i in chosen], rest))
    seen = wins(new, old)
    shifts = [math.log(b) - math.log(a) for a in old for b in new]
    return sum(count >= seen for count in counts) / len(counts), math.exp(_median(shifts))


def _median(values):
    values, half = sorted(values), len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2
