"""Find the parameters of a program that matter for its run time, directly and through events.

`Runs` holds runs of a program under different settings: DataFrames of parameters and of rates of events, a row per
run, and run times [s]. `rank_directly` and `important_events` take it, and return importances [%], a Series by
parameter or event; `rank_through_events` ranks pairs of an event and a parameter. `compare_levels` measures how much
the run time changes with a parameter that was changed alone. Inputs are not checked.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
