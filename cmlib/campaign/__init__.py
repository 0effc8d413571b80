"""All recordings that the notebooks read, made in one go on a machine that counts."""

from cmlib.campaign.part import Part, Planned
from cmlib.campaign.parts import PARTS, parts
from cmlib.campaign.quiet import BusyMachine, check_quiet
from cmlib.campaign.rejections import rejections
from cmlib.campaign.run import Outcome, run_parts

__all__ = [
    "PARTS",
    "BusyMachine",
    "Outcome",
    "Part",
    "Planned",
    "check_quiet",
    "parts",
    "rejections",
    "run_parts",
]
