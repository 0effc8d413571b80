"""All recordings that the notebooks read, made in one go on a machine that counts."""

from cmlib.collect.campaign.parts import PARTS, parts
from cmlib.collect.campaign.run import BusyMachine, Outcome, Part, Planned, check_quiet, rejections, run_parts
