"""What was found about one program, in sentences for people who know no event by name."""

from cmlib.experiments.targets import IPC, of_its_mean
from cmlib.io.events import simulated_kind

_FEW = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def say_events(data, refined, draws, table, *, n=3):
    """Which events a program's IPC follows, or what else is explained, and how sure that is."""
    name, mean = data.target.name, draws.mean().sort_values(ascending=False)
    named = list(mean.index[:n])
    first = (draws.rank(axis=1, ascending=False, method="min") <= n)[named].mean()
    slopes = data.X[named].corrwith(data.ipc, method="spearman")
    events = "; ".join(
        f"`{event}`, {_kind(event)}{_counts(event, table)} ({mean[event]:.0f} % of the importance, "
        f"{_direction(slopes[event], name)})"
        for event in named
    )
    sure = ", ".join(f"{100 * share:.0f} %" for share in first)
    return (
        f"{name} follows {events}. How sure: these are among the first {_FEW[n] if n < len(_FEW) else n} "
        f"in {sure} of {len(draws)} models of resampled stretches. A model of {name}, of "
        f"{int(refined.errors['n_events'])} events, errs by "
        f"{refined.nested_error:.1f} %{of_its_mean(data.target)} on stretches that took no part in training it or in "
        "choosing its events; "
        f"predicting the mean of the others errs by {refined.errors['blocks_mean_baseline']:.1f} % there."
    )


def say_models(errors, target=IPC):
    """How well models do, how many events they need, and how sure that is."""
    mean = errors.mean()
    return (
        f"A model of {target.name} errs by {mean['nested blocks']:.1f} %{of_its_mean(target)} on stretches that took "
        "no part in training it or in choosing its events; the mean of the others errs by "
        f"{mean['their mean']:.1f} % there. With all "
        f"{_span(errors, 'all')} events the error on blocks is {mean['blocks, all']:.1f} %, with the "
        f"{_span(errors, 'few')} most important {mean['blocks, few']:.1f} %. How many are needed is not settled: the "
        f"models kept have {_span(errors, 'kept')}, and chosen without a part of the program it is "
        f"{errors['fewest'].min():.0f} to {errors['most'].max():.0f}. Such events go along with {target.name}; that "
        "they cause it is not shown."
    )


def say_pairs(by_measure, *, n=2):
    """Which pairs of events act together in a program, and whether two measures name them."""
    by_h, by_line = by_measure["h_statistic"], by_measure["residual_variance"]
    if len(by_h) == 1:
        return (
            f"The model keeps two events, `{by_h['event_a'].iloc[0]}` and `{by_h['event_b'].iloc[0]}`: of one "
            "pair there is no ranking."
        )
    pairs = "; ".join(
        f"`{row.event_a}` with `{row.event_b}` ({row.importance:.0f} % of all pair effects)"
        for row in by_h.head(n).itertuples()
    )
    place = list(by_line["pair"]).index(by_h["pair"].iloc[0]) + 1
    return (
        f"What acts together: {pairs}, by Friedman's H. How sure: by the residual variance of the same model the "
        f"first of them comes at place {place} of {len(by_line)}; where the two disagree, a pair is a hint to "
        "follow up, no more."
    )


def _span(errors, column):
    low, high = errors[column].min(), errors[column].max()
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"


def _counts(event, table):
    if event not in table.index or not isinstance(table.at[event, "description"], str):
        return "which the event table does not describe"
    text = table.at[event, "description"].rstrip(".").split(":")[0].split(";")[0]
    return text[0].lower() + text[1:] if text[1:2].islower() else text


def _kind(event):
    return f"{kind}: " if (kind := simulated_kind(event)) else ""


def _direction(slope, target):
    if abs(slope) < 0.2:
        return f"neither up nor down with {target}"
    return f"more of it where {target} is {'high' if slope > 0 else 'low'}"
