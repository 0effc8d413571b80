"""Sums between events, by trying every set of parts."""

import itertools


def umask_sums(code, bits):
    """All sums in which no two or more parts could be one event; as {(whole, set of parts)}."""
    sums = set()
    for whole in bits:
        for size in range(2, len(bits)):
            for parts in itertools.combinations(bits, size):
                if adds_up(whole, parts, code, bits) and not any(
                    adds_up(event, some, code, bits)
                    for fewer in range(2, size)
                    for some in itertools.combinations(parts, fewer)
                    for event in bits
                ):
                    sums.add((whole, frozenset(parts)))
    return sums


def adds_up(whole, parts, code, bits):
    """Every bit of the whole is in exactly one part, and no part has any other."""
    if not bits[whole] or any(code[part] != code[whole] or not bits[part] for part in parts):
        return False
    return all(sum(bits[part] >> bit & 1 for part in parts) == bits[whole] >> bit & 1 for bit in range(8))
