"""Find the processor of a file: what the user says, or the format's own field."""

from collections.abc import Mapping
from typing import NamedTuple

from cmlib import processors
from cmlib.io.events import find_microarchitecture


class Machine(NamedTuple):
    """The machine on which a file was recorded.

    Attributes
    ----------
    description : dict
        ``processor`` and ``vendor`` if cmlib has a table of the processor's events, ``model_name`` if it has none;
        empty if the processor is not known.
    notes : tuple of str
        Remarks on the processor for the person who reads the file.
    """

    description: dict
    notes: tuple[str, ...] = ()


def find_machine(given: Mapping, processor_field: str) -> Machine:
    """Describe the machine of a file.

    Parameters
    ----------
    given : mapping
        Description of the machine by the user (``--machine``, ``--processor``); {} if there is none.
    processor_field : str
        Name of the processor as the file's format gives it (`Readings.processor`); "" if it does not.

    Returns
    -------
    Machine
        What the user says comes first. A processor that has no table is named, and nothing is concluded from it.
    """
    given = dict(given)
    if find_microarchitecture(given) or not processor_field:
        return Machine(given)
    for name in (processor_field, processor_field.partition(" (")[0], processor_field.partition(",")[0]):
        try:
            return Machine(given | processors.machine_with(processors.find(name)))
        except processors.UnknownProcessorError:
            continue
    note = f"The file names the processor {processor_field}, which has no table: what its events mean is not known."
    return Machine(given | {"model_name": processor_field}, (note,))
