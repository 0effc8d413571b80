"""Single events on the report's first page, where something else than IPC is explained."""

import numpy as np

from cmlib.experiments.phases import say_phases, say_value
from cmlib.experiments.targets import of_its_mean
from cmlib.io.events import simulated_kind


def event_bars(spread, n=5):
    """The first events of a ranking as bars."""
    first = spread.head(n).rename_axis("name").reset_index().rename(columns={"mean": "value"})
    notes = [f"{_kind(row.name)}rank {row.rank_low} to {row.rank_high}" for row in first.itertuples()]
    return first[["name", "value", "low", "high"]].assign(note=notes)


def say_followed(data, refined, spread, chosen=""):
    """What a target follows, and how sure that is."""
    name, phases = data.target.name, say_phases(data.ipc)
    found, mean = refined.nested_error, refined.errors["blocks_mean_baseline"]
    error = found if np.isfinite(found) else refined.errors["blocks_error"]
    why = f", {chosen}," if chosen else ""
    level = f"`{name}`{why} is {say_value(data.ipc.mean())} in the mean" + (f", {phases}" if phases else "")
    better = (
        f"it follows **{spread.index[0]}** most" if error < mean else "none of the events tells it better"
    )
    than = "" if error < mean else " than its mean does"
    limits = f"{level}; {better}{than}"
    sure = (
        f"a model of {name} errs by {error:.1f} %{of_its_mean(data.target)} on stretches that it never saw, "
        f"the mean by {mean:.1f} %"
    )
    return {"sure": f"{limits}; {sure}"} if chosen else {"limits": limits, "sure": sure}


def _kind(event):
    return f"{kind}, " if (kind := simulated_kind(event)) else ""
