"""The parts of a campaign, those without any recordings first."""

from cmlib.collect.campaign.parts.kernels import KERNELS
from cmlib.collect.campaign.parts.micro import MICRO
from cmlib.collect.campaign.parts.programs import DEGREES, PAIRS, PROGRAMS, UNGROUPED
from cmlib.collect.campaign.parts.streams import STREAMS
from cmlib.collect.campaign.parts.tuning import TUNING

PARTS = (MICRO, KERNELS, PROGRAMS, DEGREES, UNGROUPED, PAIRS, STREAMS, TUNING)


def parts(names=()):
    """The parts of these names, in the campaign's order; all without names."""
    known = [part.name for part in PARTS]
    for name in names:
        if name not in known:
            raise ValueError(f"there is no part {name!r}; there are {', '.join(known)}.")
    return [part for part in PARTS if not names or part.name in names]
