"""Find the processor on which a file was recorded."""

from collections.abc import Mapping
from typing import NamedTuple

from cmlib import processors
from cmlib.io.events import find_microarchitecture


class Machine(NamedTuple):
    """Machine on which a file was recorded.

    Attributes
    ----------
    description : dict
        ``processor`` and ``vendor`` if cmlib has an event table of the processor. Otherwise, ``model_name``. Empty if
        the processor is unknown.
    notes : tuple of str
        Sentences on the processor.
    """

    description: dict
    notes: tuple[str, ...] = ()


def find_machine(description: Mapping, processor_field: str) -> Machine:
    """Describe the machine of a file.

    Parameters
    ----------
    description : mapping
        Description of the machine from the user (``--machine``, ``--processor``). It can be empty.
    processor_field : str
        Name of the processor in the file (`Readings.processor`). "" if unknown.

    Returns
    -------
    Machine
        The processor from the user, or else the processor from the file.
    """
    description = dict(description)
    if find_microarchitecture(description) or not processor_field:
        return Machine(description)
    for name in (processor_field, processor_field.partition(" (")[0], processor_field.partition(",")[0]):
        try:
            return Machine(description | processors.machine_with(processors.find(name)))
        except processors.UnknownProcessorError:
            continue
    note = (
        f"The file names the processor {processor_field}. There is no event table for it, so the meaning of "
        "its events is unknown."
    )
    return Machine(description | {"model_name": processor_field}, (note,))
