"""Sums between events that follow from the bits of their umasks."""

import itertools


def umask_sums(table):
    """List the sums between events that follow from the bits they count.

    A whole is the sum of parts of the same code that share no bit and together
    have all of its bits. Of the many such sums only those are listed in which
    no two or more parts could be replaced by one event of the table: every
    other sum follows from these.

    Parameters
    ----------
    table : DataFrame
        Its column ``bits`` is 0 where no sum is claimed: for codes in place of
        sets of bits, and for reasons of a stall that can share a cycle.

    Returns
    -------
    list of (str, tuple of str)
        Whole and parts, in the table's order.
    """
    sums = []
    for _, family in table[table["bits"] > 0].groupby("code", sort=False):
        bits = family["bits"].to_dict()
        for whole in bits:
            parts = {event: mask for event, mask in bits.items() if mask & bits[whole] == mask != bits[whole]}
            for summands in _partitions(bits[whole], parts):
                if not _can_merge(summands, parts):
                    sums.append((whole, tuple(event for event in bits if event in summands)))
    return sums


def _partitions(bits, parts):
    """Every way to make `bits` up of `parts` (event to mask) that share no bit."""
    if not bits:
        yield ()
        return
    lowest = bits & -bits
    for event, mask in parts.items():
        if mask & lowest and mask & bits == mask:
            for others in _partitions(bits & ~mask, parts):
                yield (event, *others)


def _can_merge(summands, parts):
    masks = set(parts.values())
    return any(
        sum(parts[event] for event in some) in masks
        for size in range(2, len(summands))
        for some in itertools.combinations(summands, size)
    )
