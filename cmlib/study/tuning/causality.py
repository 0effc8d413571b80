"""Notebook 08's last question: do the important events cause the performance, or only correlate with it?"""

from cmlib.tuning import causality, important_events
from cmlib.workloads.tuning import EMITTERS

WORDS = (causality.CAUSES, causality.CORRELATES, causality.NOT_SHOWN)
_SAID = {causality.CAUSES: "shown to cause it", causality.CORRELATES: "shown only to correlate with it"}


def judged(one, *, n_events=10, seed=0):
    """Judge the important events of a program by all that was drawn at random.

    Parameters
    ----------
    one : cmlib.study.tuning.tuned_runs.Tuned
        The model is that of its runs under random settings. Those are one experiment, by Spark's parameters;
        runs with events emitted are one for each setting they were made at.
    n_events : int, default 10
    seed : int, default 0

    Returns
    -------
    DataFrame
        As from :func:`cmlib.tuning.causality.judge_events`; a factor is a parameter, or ``EVENT emitted (SETTING)``.
    """
    events = list(important_events(one.runs, seed=seed).index[:n_events])
    experiments = [causality.Experiment(one.runs), *(_emitting(at, runs) for at, runs in one.emitted.items())]
    return causality.judge_events(one.runs, events, experiments, seed=seed)


def say_causes(program, verdicts, *, emitted):
    """What was found of one program's important events, in plain words.

    Parameters
    ----------
    program : str
    verdicts : DataFrame
        Of :func:`judged`.
    emitted : dict of str to cmlib.tuning.Runs
        Runs with events emitted, by the setting they were made at.

    Returns
    -------
    str
    """
    names = {word: verdicts.index[verdicts["verdict"] == word] for word in WORDS}
    listed = [f"{len(events)} {_listed(word, events)}" for word, events in names.items() if len(events)]
    runs = sum(map(len, emitted.values()))
    beside = f"with {runs} runs in which events were emitted" if runs else "without runs that emit events"
    return f"Of the {len(verdicts)} events that matter most for {program}'s performance, {beside}: {'; '.join(listed)}."


def _emitting(at, runs):
    name = {event: f"{_short(event)} emitted ({at})" for event in runs.parameters}
    renamed = type(runs)(
        runs.parameters.rename(columns=name), runs.rates, runs.seconds, runs.examples, runs.performance
    )
    return causality.Experiment(renamed, {name[event]: (event, *EMITTERS[event]) for event in name})


def _listed(word, events):
    if word == causality.NOT_SHOWN:
        return word
    return f"{_SAID[word]} ({', '.join(map(_short, events))})"


def _short(event):
    return event.rpartition(":")[2].removeprefix("sys_enter_")
