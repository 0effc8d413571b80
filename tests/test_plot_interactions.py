"""Figures of pairs of events."""

import pandas as pd

from cmlib import plot
from cmlib.interact.dependence import pair_surface, positions_on_surface
from cmlib.rank import regressor
from cmlib.synthetic import product_pair_data


def test_each_pair_has_a_dot_for_each_model_within_the_axes():
    frame = pd.DataFrame({"label": ["a × b", "a × c"], "value": [60.0, 5.0], "other": [1.0, 70.0]})
    _, axes = plot.dots_by_pair(
        {"one": frame, "two": frame.assign(value=[9.0, 1.0])},
        label="label",
        value="value",
        others=["other"],
        xlabel="importance [%]",
        names=("this", "others"),
    )
    for ax in axes:
        drawn = [value for line in ax.lines for value in line.get_xdata()]
        assert len(drawn) == 4
        low, high = ax.get_xlim()
        assert low < min(drawn) and max(drawn) < high


def test_surfaces_share_their_colors_but_for_the_difference():
    data = product_pair_data(n_steps=60, n_events=4, n_pairs=1)
    model = regressor().fit(data.X, data.ipc)
    joint, summed = pair_surface(model, data.X, *data.pairs[0])
    _, axes = plot.pair_surfaces(joint, summed, positions_on_surface(data.X, joint), quantity="IPC")
    both, alone, difference = (ax.images[0] for ax in axes)
    assert both.get_clim() == alone.get_clim() != difference.get_clim()
    assert difference.norm.vcenter == 0


def test_a_row_lies_between_the_values_that_enclose_it():
    surface = pd.DataFrame(0.0, pd.Index([1.0, 3.0], name="a"), pd.Index([10.0, 20.0], name="b"))
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [20.0, 15.0, 10.0]})
    positions = positions_on_surface(X, surface)
    assert positions["a"].iloc[:2].tolist() == [0.0, 0.5] and positions["a"].isna().tolist() == [
        False,
        False,
        True,
    ]
    assert positions["b"].tolist() == [1.0, 0.5, 0.0]
