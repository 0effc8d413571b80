"""Panels: every control changes the picture, and the text says what the library computes."""

import base64
import html
import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from cmlib import explore, plot, rank
from cmlib.errors import NothingRecordedError
from cmlib.explore.panel import dropdown, offer, slider
from cmlib.rank import stability
from cmlib.rank.boosting import Boosting
from cmlib.synthetic import product_pair_data

pytestmark = pytest.mark.slow

PNG = b"\x89PNG"
SMALL = Boosting(trees=15, leaves=5, rows_per_leaf=2)


def words(panel):
    """The text below the picture, without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", " ", panel.text))


def alt(panel):
    picture = panel.children[1].value
    return html.unescape(re.search(r'alt="([^"]*)"', picture)[1])


def numbers(panel, row):
    """What a row of the table says, as numbers."""
    line = re.search(rf"<tr>(?:(?!</tr>).)*{re.escape(row)}.*?</tr>", panel.text, re.S)[0]
    return [float(cell.replace(",", "")) for cell in re.findall(r">(-?[\d.,]+)(?: [^<]*)?</td>", line)]


def other_value(control):
    if hasattr(control, "options"):
        values = [option[1] if isinstance(option, tuple) else option for option in control.options]
        return next(value for value in values if value != control.value)
    return control.max if control.value != control.max else control.min


@pytest.fixture(scope="module")
def modelled():
    """Refinements and draws of two made-up programs."""
    refined, draws = {}, {}
    for seed, name in enumerate(("one", "two")):
        data = product_pair_data(n_steps=60, n_events=12, seed=seed)
        refined[name] = rank.refine(
            data.X, data.ipc, step=3, n_folds=2, n_blocks=10, boosting=SMALL, seed=seed
        )
        kept = data.X[refined[name].events]
        draws[name] = stability.draw_importances(kept, data.ipc, seeds=range(3), boosting=SMALL)
    return SimpleNamespace(refined=refined, draws=draws)


@pytest.fixture
def ranking(modelled):
    return explore.ranking(modelled.refined, modelled.draws, top=4)


def test_every_control_is_labelled_and_changes_the_picture_and_what_it_is_called(ranking):
    assert "cmlib-explore" in ranking._dom_classes
    for name, control in ranking.controls.items():
        assert control.description and control.style.description_width == "initial"
        assert control.description in alt(ranking) and not getattr(control, "continuous_update", False)
        before, called, start = ranking.png, alt(ranking), control.value
        control.value = other_value(control)
        assert ranking.png.startswith(PNG) and ranking.png != before, name
        assert alt(ranking) != called, name
        control.value = start
    assert ranking.png == before and "alert" not in ranking.text


def test_a_static_page_gets_the_picture(ranking):
    bundle = ranking._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]) == ranking.png
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert isinstance(ranking.figure(), Figure)


def test_without_data_the_panel_says_what_to_run():
    panel = explore.ranking({}, {})
    assert "nothing recorded yet: run" in words(panel) and "<code>cmlib record" in panel.text
    assert panel.png == b"" and panel.children[1].value == ""
    assert "image/png" not in panel._repr_mimebundle_()
    with pytest.raises(NothingRecordedError, match="nothing recorded yet: run `cmlib record"):
        panel.figure()


# Ranking


def test_a_ranking_alone_says_what_the_draws_say(ranking, modelled):
    ranking.controls["other"].value = ""
    for seeds in (3, 2):
        ranking.controls["seeds"].value = seeds
        spread = stability.importance_spread(modelled.draws["one"].iloc[:seeds]).head(4)
        bars = ranking.figure().axes[0].patches
        assert [bar.get_width() for bar in bars] == pytest.approx(list(spread["mean"]))
        for event, row in spread.iterrows():
            assert numbers(ranking, event)[0] == pytest.approx(row["mean"], abs=0.051)
            assert f"{row['rank_low']:.0f}–{row['rank_high']:.0f}" in ranking.text
    errors = modelled.refined["one"].errors
    assert f"errs by {errors['error']:.1f} % on random rows" in words(ranking)


def test_a_step_of_the_refinement_shows_its_own_model(ranking, modelled):
    ranking.controls["other"].value = ""
    refined = modelled.refined["one"]
    for step, n_events in enumerate(refined.history["n_events"]):
        ranking.controls["n_events"].value = n_events
        bars = ranking.figure().axes[0].patches
        expected = refined.rankings[step].head(4)
        assert [bar.get_width() for bar in bars] == pytest.approx(list(expected))
        assert ranking.controls["seeds"].disabled and "One model: no spread" in words(ranking)
    ranking.controls["n_events"].value = 0
    assert not ranking.controls["seeds"].disabled


def test_errors_that_are_not_known_or_large_are_written_as_in_tables(modelled):
    errors = {"error": float("nan"), "blocks_error": float("inf"), "mean_baseline": 12345.6}
    history = modelled.refined["one"].history.assign(**errors)
    refined = {"one": replace(modelled.refined["one"], history=history)}
    said = words(explore.ranking(refined, modelled.draws))
    assert "errs by – % on random rows (mean: 12,345.6 %" in said and "by – % on unseen blocks" in said


def test_events_of_both_rankings_have_a_colour_of_their_own(ranking, modelled):
    means = {name: draws.mean() for name, draws in modelled.draws.items()}
    first, second = (
        list(mean.sort_values(ascending=False, kind="stable").index[:4]) for mean in means.values()
    )
    common, either = set(first) & set(second), list(dict.fromkeys(first + second))
    expected = spearmanr(*(mean.reindex(either, fill_value=0.0) for mean in means.values())).statistic
    assert f"{len(common)} of the first 4 events are in both" in words(ranking)
    assert f"{len(either)} events that are in either: {expected:.2f}" in words(ranking)
    left, right = ([bar.get_facecolor() for bar in ax.patches] for ax in ranking.figure().axes)
    for order, colours in ((first, left), (second, right)):
        shared = {colour for event, colour in zip(order, colours, strict=True) if event in common}
        alone = {colour for event, colour in zip(order, colours, strict=True) if event not in common}
        assert len(shared) == 1 and not shared & alone


def test_no_program_is_set_beside_itself(ranking):
    ranking.controls["program"].value = "two"
    assert [value for _, value in ranking.controls["other"].options] == ["", "one"]
    assert ranking.png.startswith(PNG) and "alert" not in ranking.text


def test_one_program_alone_can_be_explored(modelled):
    one = {"one": modelled.refined["one"]}
    panel = explore.ranking(one, {"one": modelled.draws["one"]})
    assert panel.png.startswith(PNG) and panel.controls["other"].options == (("no other program", ""),)


# The panel itself


def drawing(values, adjust=None):
    """A panel of two controls that keeps what it was asked to draw."""

    def draw(letter, n):
        values.append((letter, n))
        if n == 3:
            raise ValueError("n is 3 <b>;\ntake `another`")
        figure = Figure(figsize=(2, 1))
        figure.subplots().set_title(f"{letter}{n}")
        return figure, f"{letter} {n}"

    return explore.Panel(
        draw, {"letter": dropdown("letter", ["a", "b"]), "n": slider("n", 1, 4, value=2)}, adjust
    )


def test_a_panel_draws_once_a_move():
    drawn = []
    panel = drawing(drawn)
    panel.controls["letter"].value = "b"
    panel.controls["n"].value = 4
    panel.controls["n"].value = 4
    assert drawn == [("a", 2), ("b", 2), ("b", 4)]
    assert alt(panel) == "Figure: b4; letter: b; n: 4" and words(panel).strip() == "b 4"
    assert 'width="192" height="96"' in panel.children[1].value


def test_a_control_may_change_others_before_one_redraw():
    drawn = []
    panel = drawing(
        drawn, {"n": lambda n: offer(panel.controls["letter"], ["a", "c"] if n > 2 else ["b", "a"])}
    )
    panel.controls["n"].value = 4
    panel.controls["letter"].value = "c"
    panel.controls["n"].value = 1
    assert drawn == [("a", 2), ("a", 4), ("c", 4), ("b", 1)]


def test_what_cannot_be_drawn_is_told_in_its_place():
    panel = drawing([])
    panel.controls["n"].value = 3
    assert panel.text == "<p role='alert'>n is 3 &lt;b&gt;;<br>take <code>another</code></p>"
    assert panel.png == b"" and panel.text in panel._repr_mimebundle_()["text/html"]
    panel.controls["n"].value = 1
    assert panel.png.startswith(PNG) and "alert" not in panel.text


def test_an_error_of_the_program_itself_is_no_message():
    def draw(n):
        raise KeyError(n)

    with pytest.raises(KeyError):
        explore.Panel(draw, {"n": slider("n", 1, 4, value=2)})


def test_a_color_stands_for_one_kind_of_bar_and_line():
    bars = pd.DataFrame({"event": ["a", "b"], "mean": [2.0, 1.0], "kind": ["alias", "other"]})
    look = {"value": "mean", "label": "event", "xlabel": "importance [%]", "hue": "kind"}
    _, axes = plot.ranking({"gcc": bars}, **look, colors={"alias": "#ff0000"})
    alias, other = (to_hex(bar.get_facecolor()) for bar in axes[0].patches)
    assert alias == "#ff0000" != other
    errors = pd.DataFrame({"n_events": [20, 10], "error": [3.0, 2.0], "mean": [9.0, 9.0]})
    lines = {"lines": {"error": "model"}, "baselines": {"mean": "mean"}, "marked": {"gcc": 10}}
    _, axes = plot.refinement({"gcc": errors}, **lines, colors={"error": "#00ff00", "mean": "#0000ff"})
    assert [line.get_color() for line in axes[0].lines[:2]] == ["#00ff00", "#0000ff"]
