"""Real output of perf, and the frame that reading makes of rows."""

from pathlib import Path

import pandas as pd

GOLDEN = Path(__file__).parent / "golden"
COLUMNS = ["time_s", "event", "value", "supported", "running", "unit"]
# Made up, in the form that EMON and likwid-perfctr -t write.
EMON = """\
CPU2,CPU2,CPU3,CPU3
INST_RETIRED.ANY,L2_RQSTS.MISS,INST_RETIRED.ANY,L2_RQSTS.MISS
874640,49589,40368603,342927
1543528,69474,,73452
"""
LIKWID = """\
--------------------------------------------------------------------------------
CPU name:\tIntel(R) Xeon(R) Platinum 9242 CPU @ 2.30GHz
# HWThreads: 0|1
# GID|EventCount|CpuCount|Total runtime [s]|INSTR_RETIRED_ANY|L2_LINES_IN_ALL
# GID|EventCount|CpuCount|Total runtime [s]|CPU_CLK_UNHALTED_CORE
1 2 2 0.500073 1000 20 7 nan
the program says hello
2 1 2 1.000035 500 600
1 2 2 1.500073 2000 40 8 1
2 1 2 2.00
"""


def golden(name):
    return (GOLDEN / name).read_text(encoding="utf-8")


def frame_of(rows):
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.astype(
        {"time_s": float, "value": float, "supported": bool, "running": float, "event": "str", "unit": "str"}
    )
