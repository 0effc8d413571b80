"""Widgets for interactions: all pairs of a program as a matrix, one of them as a surface."""

import functools

import numpy as np
import pandas as pd

from cmlib import plot
from cmlib.explore.panel import Panel, dropdown, name, number, offer, paragraph, slider, table
from cmlib.interact.dependence import pair_surface

_MEASURES = [
    ("Friedman's H", "h_statistic"),
    ("residual variance", "residual_variance"),
    ("Eq. 12 as printed", "printed"),
]


def interactions(ranked, refined, matrices, *, threshold=2.0):
    """The pairs of a program's events by intensity, and what the model says of one pair."""
    if not ranked:
        return Panel.empty()

    @functools.cache
    def surface(program, pair):
        return pair_surface(refined[program].model, matrices[program].X, *pair)

    def draw(program, measure, threshold, pair):
        pairs = ranked[program][measure]
        shown = pairs[pairs["importance"] >= threshold]
        effect = surface(program, pair)
        figure, _ = plot.interactions(
            _matrix(pairs, shown),
            effect.joint,
            effect.summed,
            effect.beyond,
            pair=list(pair),
            rows=_places(matrices[program].X, effect),
            title=f"{program}: importance of pairs [%]",
            target=matrices[program].target.name,
        )
        above = (
            f"{len(shown)} of {len(pairs)} pairs reach {threshold:g} %; together they make up "
            f"{number(shown['importance'].sum(), 1, '%')}."
        )
        places = [[label, *_place(ranked[program][measure], pair)] for label, measure in _MEASURES]
        return figure, paragraph(above) + _describe(pair, effect) + table(
            ["measure", "place", "importance"], places
        )

    first = next(iter(ranked))
    controls = {
        "program": dropdown("program", list(ranked), first),
        "measure": dropdown("measure", _MEASURES),
        "threshold": slider("shown from [%]", 0.0, 20.0, step=0.5, value=float(threshold)),
        "pair": dropdown("pair, by H", _pairs(ranked[first])),
    }
    return Panel(
        draw, controls, {"program": lambda program: offer(controls["pair"], _pairs(ranked[program]))}
    )


def _pairs(both):
    """The pairs of a program as options, the strongest by H first."""
    ordered = both["h_statistic"]
    members = zip(ordered["event_a"], ordered["event_b"], strict=True)
    return [(f"{place}. {' × '.join(pair)}", pair) for place, pair in enumerate(members, 1)]


def _matrix(pairs, shown):
    """Importance [%] of every pair that is shown, below the diagonal."""
    events = sorted({*pairs["event_a"], *pairs["event_b"]})
    members = np.sort(shown[["event_a", "event_b"]].to_numpy(str), axis=1)
    cells = pd.Series(shown["importance"].to_numpy(), pd.MultiIndex.from_arrays(members.T[::-1]))
    return cells.unstack().reindex(index=events, columns=events)


def _places(X, surface):
    """Where the rows lie on the surface, counted in its cells; rows beyond its edges are left out."""
    a, b = surface.joint.index, surface.joint.columns
    inside = X[X[a.name].between(a.min(), a.max()) & X[b.name].between(b.min(), b.max())]
    return pd.DataFrame(
        {name: np.interp(inside[at.name], at, np.arange(len(at))) for name, at in (("a", a), ("b", b))}
    )


def _describe(pair, surface):
    span = float(np.ptp(surface.joint.to_numpy()))
    beyond = surface.beyond.to_numpy()
    return paragraph(
        f"{name(pair[0])} (upwards) with {name(pair[1])} (across), each from its 5th to its 95th "
        f"percentile, a column as many rows as the next: together they move the prediction by "
        f"{number(span, 3)}; beyond the sum of both alone by {number(beyond.min(), 3)} to "
        f"{number(beyond.max(), 3)}. Dots: the program's rows. Where there are none, the model extrapolates."
    )


def _place(pairs, pair):
    at = pairs.index[(pairs["event_a"] == pair[0]) & (pairs["event_b"] == pair[1])][0]
    return f"{at + 1} of {len(pairs)}", number(pairs.at[at, "importance"], 1, "%")
