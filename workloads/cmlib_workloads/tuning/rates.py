"""At which rates events are emitted beside a program on Spark, by its runs at random."""

from cmlib import tuning
from cmlib.experiments.spark_settings import EMITTERS, HIGHEST
from cmlib.experiments.tuned_runs import load_tuned

_IMPORTANT = 10


def important_rates(folder, program, at):
    """Highest rates of those events to emit that matter most in the runs at random."""
    one = load_tuned(folder, program)[program]
    ranked = tuning.important_events(one.runs).index[:_IMPORTANT]
    return rates_to_emit(one, [event for event in ranked if event in EMITTERS], at=at)


def rates_to_emit(one, events, *, at="default"):
    """Highest rate at which each event is emitted."""
    seen, pace = one.runs.rates, one.pace.median()
    lacking = seen.max() - one.usual.get(at, seen.median())
    tops = pace * lacking.clip(lower=0.1 * (seen.max() - seen.min()))
    return {event: min(float(tops[event]), HIGHEST.get(event, float("inf"))) for event in events}
