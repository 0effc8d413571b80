"""Find the bottlenecks of measured runs, for notebooks.

This module offers functions of :mod:`cmlib.experiments.measured_diagnosis` and
:mod:`cmlib.experiments.simulated_runs`.
"""

from cmlib.experiments.measured_diagnosis import explain, profiles
from cmlib.experiments.simulated_runs import refuse_simulated_program

__all__ = ["explain", "profiles", "refuse_simulated_program"]
