"""Panels of one figure: a threshold, a stream's lines, a program's slices, its account, its settings."""

import html

import numpy as np

from cmlib import plot
from cmlib.collect.workloads.micro.selection import COMMAND
from cmlib.collect.workloads.spark import TABLE_IV
from cmlib.compress import compress, fit_quality, line_ends
from cmlib.experiments.anomaly import RECORD
from cmlib.explore.panel import Panel, dropdown, name, number, offer, paragraph, slider, table
from cmlib.fingerprint.diagnosis import advice
from cmlib.plot.fingerprint import phase_timeline
from cmlib.plot.topdown import accounts as draw_accounts
from cmlib.tuning import rank_directly

_COUNTERS = 6
_KINDS = (("learned from", "training"), ("good, new", "good"), ("anomalous", "bad"))
_MOST_DRAWN = 4000
_LEAST_RUNS = 20


def anomaly(evaluated):
    """Reconstruction error of every sample against mean + n standard deviations."""
    if not evaluated:
        return Panel.empty(RECORD)

    def draw(program, n_sd, place):
        samples = evaluated[program].samples
        error = samples["error"]
        learned, bad = (error[samples["kind"] == kind] for kind in ("training", "bad"))
        threshold = learned.mean() + n_sd * learned.std(ddof=0)
        chosen = int(bad.sort_values().index[round(place / 100 * (len(bad) - 1))])
        shares = 100 * samples.drop(columns=["kind", "run", "error"]).loc[chosen] / error.iloc[chosen]
        first = shares.sort_values(ascending=False).head(_COUNTERS)
        figure, _ = plot.sample_and_counters(
            samples, first, threshold=threshold, chosen=chosen, title=f"{program}: threshold {threshold:.3g}"
        )
        rows = [
            (label, f"{own.sum()}", number(100 * (error > threshold)[own].mean(), 1, "%"))
            for label, kind in _KINDS
            if (own := samples["kind"] == kind).any()
        ]
        sentence = (
            f"The chosen sample's error is {error.iloc[chosen]:.3g}; most of it is in {name(first.index[0])}."
        )
        return figure, table(("", "samples", "above the threshold"), rows) + paragraph(sentence)

    controls = {
        "program": dropdown("program", list(evaluated)),
        "n_sd": slider("n (std. deviations)", 0.0, 10.0, step=0.5, value=2.0),
        "place": slider("sample, by error [%]", 0, 100, step=5, value=50),
    }
    return Panel(draw, controls)


def compression(streams, *, stream="", event=""):
    """Samples and their lines, with size and errors."""
    if not streams:
        return Panel.empty("cmlib record-samples")

    def draw(stream, event, alpha, n_sigma, drift):
        totals = streams[stream]
        timer = totals.columns[0]
        x, y = totals[timer], totals[event]
        lines = compress(x, y, alpha=alpha, n_sigma=n_sigma, drift=drift or None)
        shown = y.set_axis(x.to_numpy()).iloc[:: max(1, len(y) // _MOST_DRAWN)]
        figure, _ = plot.fits(
            {f"{stream}: {event}": (shown, line_ends(lines))},
            xlabel=f"{timer}, cumulated",
            ylabel=f"{event},\ncumulated",
            columns=1,
        )
        return figure, _describe_lines(fit_quality(lines, x, y), len(x))

    first = stream if stream in streams else next(iter(streams))
    controls = {
        "stream": dropdown("stream", list(streams), first),
        "event": dropdown("event", list(streams[first].columns[1:]), event),
        "alpha": slider("α (share of the count)", 0.0, 0.1, step=0.005, value=0.01),
        "n_sigma": slider("σ (std. deviations)", 0.5, 10.0, step=0.5, value=3.0),
        "drift": slider("drift test (0: none)", 0, 100, step=5, value=0),
    }
    return Panel(
        draw, controls, {"stream": lambda name: offer(controls["event"], list(streams[name].columns[1:]))}
    )


def fingerprint(profiles, *, program="", unit="s", per="cycle"):
    """The timeline of a program, and the rule that decided for one of its slices."""
    if not profiles:
        return Panel.empty(COMMAND)

    def lengths(program):
        return [(f"{length:g} {unit}", length) for length in profiles[program]]

    first = program if program in profiles else next(iter(profiles))
    controls = {
        "program": dropdown("program", list(profiles), first),
        "slice_s": dropdown("slice", lengths(first)),
        "number": slider("slice explained", 1, 2, value=1),
    }

    def fit(_=None):
        controls["number"].max = len(profiles[controls["program"].value][controls["slice_s"].value].labelled)

    def draw(program, slice_s, number):
        profile = profiles[program][slice_s]
        title = f"{program}, slices of {slice_s:g} {unit}"
        marked = profile.labelled.index[number - 1]
        figure, _ = phase_timeline(profile.labelled, profile.pace, title=title, marked=marked)
        return figure, _explain_slice(profile, number, slice_s, unit, per)

    def adjust_to_program(name):
        offer(controls["slice_s"], lengths(name))
        fit()

    fit()
    return Panel(draw, controls, {"program": adjust_to_program, "slice_s": fit})


def topdown(accounts):
    """Where the cycles of a program go, over its progress."""
    if not accounts:
        return Panel.empty()

    def draw(program, level, first, last, cleaning, merging):
        one = accounts[program, cleaning, merging]
        if first >= last:
            raise ValueError(f"the stretch begins at {first} % and ends at {last} %; choose a later end.")
        stretch = (one.ipc.index >= first / 100) & (one.ipc.index <= last / 100)
        shares = one.account.shares.loc[stretch, _categories(one.account, level)]
        figure, axes = draw_accounts(
            {program: shares}, {program: one.ipc[stretch]}, parents=one.account.table.parents
        )
        axes[1, 0].set_xlim(first / 100, last / 100)
        rows = [[name, number(100 * share, 1, "%")] for name, share in shares.mean().items()]
        total = number(100 * shares.sum(axis=1).mean(), 1, "%")
        sentence = paragraph(f"The categories add up to {total} of the slots in this stretch.")
        return figure, sentence + table(["category", "share of slots"], rows)

    programs, cleanings, mergings = (
        list(dict.fromkeys(key[place] for key in accounts)) for place in range(3)
    )
    controls = {
        "program": dropdown("program", programs),
        "level": dropdown("level", [("1", 1), ("2", 2), ("3", 3)], 1),
        "first": slider("from [%]", 0, 100, value=0),
        "last": slider("to [%]", 0, 100, value=100),
        "cleaning": dropdown("cleaning", cleanings, cleanings[-1]),
        "merging": dropdown("merging", mergings, mergings[-1]),
    }
    return Panel(draw, controls)


def tuning(tuned):
    """What the first runs of a program say of its parameters, and each run's time by one of them."""
    if not tuned:
        return Panel.empty("cmlib record-tuning")

    def draw(program, runs, parameter):
        first = tuned[program].runs.take(range(min(runs, len(tuned[program].runs))))
        ranked, setting = rank_directly(first), TABLE_IV[parameter]
        figure, _ = plot.setting(
            [TABLE_IV[each].name.removeprefix("spark.") for each in ranked.index],
            list(ranked),
            x=first.parameters[parameter],
            y=first.seconds,
            xlabel=f"{setting.name} [{_unit(setting)}]",
            ylabel="execution time [s]",
            title=f"{program}, {len(first)} runs",
            chosen=setting.name.removeprefix("spark."),
        )
        correlation = first.parameters[parameter].corr(first.seconds, method="spearman")
        return figure, paragraph(
            f"{name(setting.name)}: {number(ranked[parameter], 1, '%')} of the importance, place "
            f"{list(ranked.index).index(parameter) + 1} of {len(ranked)}.",
            f"Rank correlation with the time: {number(correlation, 2)}; Spark's default: {setting.default}.",
        )

    program, one = next(iter(tuned.items()))
    parameters = [(f"{abbr} · {TABLE_IV[abbr].name}", abbr) for abbr in one.runs.parameters]
    most = max(len(each.runs) for each in tuned.values())
    controls = {
        "program": dropdown("program", list(tuned), program),
        "runs": slider("runs", min(_LEAST_RUNS, most), most, value=len(one.runs)),
        "parameter": dropdown("parameter", parameters, rank_directly(one.runs).index[0]),
    }
    return Panel(draw, controls)


def _describe_lines(quality, n_samples):
    header = ["", "samples or lines", "bytes", "MNESD", "largest distance"]
    share = [number(100 * quality[name], 3, "%") for name in ("mnesd", "largest")]
    rows = [
        ["samples (x, y)", f"{n_samples:,}", f"{16 * n_samples:,}", "", ""],
        ["lines (x, slope, intercept)", f"{quality['n_lines']:,.0f}", f"{quality['n_bytes']:,.0f}", *share],
    ]
    reduction = number(np.float64(quality["reduction"]), 1)
    return table(header, rows) + paragraph(
        f"{reduction} samples a line. MNESD and distance are shares of the event's whole count; the paper asks for an "
        "MNESD below 10 %.",
    )


def _explain_slice(profile, number, slice_s, unit, per):
    end, label, rule = (
        profile.labelled.index[number - 1],
        *profile.labelled.iloc[number - 1][["label", "rule"]],
    )
    meaning, remedy = advice(label)
    shown = " ".join(profile.pace.name.split())
    return paragraph(
        f"Slice {number} of {len(profile.labelled)}, {end - slice_s:.1f}–{end:.1f} {unit}: "
        f"<strong>{html.escape(label)}</strong>, {shown}: {profile.pace.iloc[number - 1]:.2f}. {meaning.capitalize()}.",
        f"Rule: <code>{html.escape(rule)}</code> (events per {per}).",
        html.escape(remedy),
    )


def _categories(account, level):
    """Categories of a level; where one is not split so far, the one above."""
    names = list(account.level())
    for _ in range(level - 1):
        names = [below for name in names for below in (list(account.level(name)) or [name])]
    return names


def _unit(setting):
    unit = setting.low[-1]
    return "s" if unit == "s" else "bytes" if unit in "kmg" else "–"
