"""Find events that are the sum of other events, from the bits of their umasks."""

import itertools
from collections.abc import Iterator

import pandas as pd


def umask_sums(table: pd.DataFrame) -> list[tuple[str, tuple[str, ...]]]:
    """List the events that are the sum of other events.

    Each bit of an umask can select a kind of occurrence. Then an event is the sum of other events with the same code,
    if each bit of the sum is set in exactly one of the other events. Sums that can be written with fewer events are
    omitted.

    Parameters
    ----------
    table : DataFrame
        Event table of a processor, from :func:`cmlib.io.events.table`.

    Returns
    -------
    list of (str, tuple of str)
        An event and the events that add up to it. Empty if the umasks of the processor have no such bits.
    """
    sums = []
    for _, family in table[table["bits"] > 0].groupby("code", sort=False):
        mask_by_event = family["bits"].to_dict()
        for event, mask in mask_by_event.items():
            parts = {name: part for name, part in mask_by_event.items() if part & mask == part != mask}
            for summands in _find_summands(mask, parts):
                if not _can_merge(summands, parts):
                    in_table_order = tuple(name for name in mask_by_event if name in summands)
                    sums.append((event, in_table_order))
    return sums


def _find_summands(mask: int, parts: dict[str, int]) -> Iterator[tuple[str, ...]]:
    """Find all selections of events that set each bit of a mask once.

    `parts` is the umask of each event that can be selected.
    """
    if not mask:
        yield ()
        return
    lowest_bit = mask & -mask
    for event, part in parts.items():
        if part & lowest_bit and part & mask == part:
            for further_events in _find_summands(mask & ~part, parts):
                yield (event, *further_events)


def _can_merge(summands: tuple[str, ...], parts: dict[str, int]) -> bool:
    """Return True if some of the summands, but not all, add up to another event."""
    masks = set(parts.values())
    for size in range(2, len(summands)):
        for subset in itertools.combinations(summands, size):
            if sum(parts[event] for event in subset) in masks:
                return True
    return False
