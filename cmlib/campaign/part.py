"""What a part of the campaign is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Planned:
    """One line of the list that is shown before anything is recorded.

    Attributes
    ----------
    name : str
        Of the program, and of the set of runs where it has several.
    runs, missing : int
        In all, and not recorded yet.
    minutes : float
        Expected for those that are missing.
    """

    name: str
    runs: int
    missing: int
    minutes: float


@dataclass(frozen=True)
class Setting:
    """Where a campaign writes, and what it counts with.

    Attributes
    ----------
    data : Path
        Folder of `recordings`, `regions` and `samples`.
    counters : dict
        ``offered`` and ``good``: as a census found, or as a list assumes.
    """

    data: Path
    counters: dict

    @property
    def recordings(self):
        return self.data / "recordings"


@dataclass(frozen=True)
class Part:
    """Recordings of one kind.

    Attributes
    ----------
    name : str
        As ``--only`` takes it.
    notebook : str
        Number of the notebook that reads them.
    about : str
        What is recorded, in a few words.
    plan : callable
        ``plan(setting)`` lists what is recorded, as :class:`Planned`.
    record : callable
        ``record(setting)`` records what is missing, and yields after each
        recording what was made: a name, and the error that ended it or None.
        Closed early, it ends what it has started.
    """

    name: str
    notebook: str
    about: str
    plan: Callable[[Setting], list[Planned]]
    record: Callable[[Setting], Iterator[tuple[str, Exception | None]]]
