"""Record the public sets that a notebook needed and did not find.

:func:`note_absent` records a set. :func:`absent_sets` lists the recorded sets for the notebook's manifest, because the
results depend on them.
"""

__all__ = ["note_absent"]

_absent_sets: set[str] = set()


def note_absent(name: str) -> None:
    """Record that a file of a public set was not found.

    Parameters
    ----------
    name : str
        Name of the set.
    """
    _absent_sets.add(name)


def absent_sets() -> list[str]:
    """Return the recorded names of public sets, sorted."""
    return sorted(_absent_sets)
