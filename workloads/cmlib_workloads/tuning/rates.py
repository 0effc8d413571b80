"""Find at which rates events are emitted beside a program on Spark, by its runs under settings drawn at random.

Both functions give a dict from event to its highest rate [1/s]. A NothingRecordedError if the program has no runs.
"""

from cmlib import tuning
from cmlib.experiments.tuning.recordings import load_tuned
from cmlib.experiments.tuning.settings import EMITTERS, HIGHEST

_IMPORTANT = 10


def important_rates(folder, program, at):
    """Highest rates [1/s] of those events to emit that matter most in the runs at random: a dict by event.

    `folder` holds the recordings, `program` is a name, `at` the setting beside which they are emitted ("default",
    "exc-high"). At most ten; those that can't be emitted are left out. A NothingRecordedError if there are no runs.
    """
    one = load_tuned(folder, program)[program]
    ranked = tuning.important_events(one.runs).index[:_IMPORTANT]
    return rates_to_emit(one, [event for event in ranked if event in EMITTERS], at=at)


def rates_to_emit(one, events, *, at="default"):
    """Highest rate [1/s] at which each event is emitted: a dict by event.

    It brings the program's usual rate up to the largest in its runs at random, or to a tenth of their range, but
    not above what can be emitted. `one` is a TuningRuns (a program's recordings), `events` are names, `at` the
    setting.
    """
    seen, pace = one.runs.rates, one.pace.median()
    lacking = seen.max() - one.usual.get(at, seen.median())
    tops = pace * lacking.clip(lower=0.1 * (seen.max() - seen.min()))
    return {event: min(float(tops[event]), HIGHEST.get(event, float("inf"))) for event in events}
