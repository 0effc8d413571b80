"""Record which public sets a notebook needed and did not find, because its results depend on them.

:func:`note_absent` is called by the code that looks for a file; :func:`absent_sets` gives their names for the manifest.
"""

__all__ = ["note_absent"]

_absent = set()


def note_absent(name: str) -> None:
    """Note that a file of a public set is needed but not available.

    Parameters
    ----------
    name : str
        Name of the public set.
    """
    _absent.add(name)


def absent_sets() -> list[str]:
    """List the public sets with a file that this process needed and did not find, sorted."""
    return sorted(_absent)
