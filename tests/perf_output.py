"""Real output of perf, and the frame that reading makes of rows."""

from pathlib import Path

import pandas as pd

GOLDEN = Path(__file__).parent / "golden"
COLUMNS = ["time_s", "event", "value", "supported", "running", "unit"]


def golden(name):
    return (GOLDEN / name).read_text(encoding="utf-8")


def frame_of(rows):
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.astype(
        {"time_s": float, "value": float, "supported": bool, "running": float, "event": "str", "unit": "str"}
    )
