"""Every pattern of the package takes linear time for strings that are built from its own pieces."""

import re
import signal

import pytest

import cmlib
from tests.pumped import collect_patterns, pump

# A pattern that takes quadratic time needs many times the seconds of processor time that a match may take; one that
# takes linear time needs milliseconds.
LENGTH, LIMIT_S = 1 << 17, 5


class TooSlowError(Exception):
    pass


@pytest.fixture
def limited():
    """A function that calls another with a limit of processor time; TooSlowError if it takes longer."""

    def interrupt(*_):
        raise TooSlowError

    def call(function, *arguments, seconds=LIMIT_S):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            return function(*arguments)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    before = signal.signal(signal.SIGVTALRM, interrupt)
    yield call
    signal.signal(signal.SIGVTALRM, before)


def apply(pattern, method, text):
    if method in ("sub", "subn"):
        return getattr(pattern, method)(text[:0], text)
    result = getattr(pattern, method)(text)
    return list(result) if method == "finditer" else result


def test_a_pattern_that_takes_quadratic_time_is_found(limited):
    with pytest.raises(TooSlowError):
        for text in pump(r"x\d+\d+y", 0, LENGTH):
            limited(apply, re.compile(r"x\d+\d+y"), "search", text, seconds=0.5)


@pytest.mark.full
def test_every_pattern_takes_linear_time(limited):
    uses = collect_patterns(cmlib)
    assert len(uses) > 100
    slow = []
    for (pattern, flags), used in uses.items():
        compiled = re.compile(pattern, flags)
        for method in {method for _, method in used}:
            for text in pump(pattern, flags, LENGTH):
                try:
                    limited(apply, compiled, method, text)
                except TooSlowError:
                    slow.append(f"{method} of {pattern!r} ({sorted(used)[0][0]}): {text[:60]!r} repeated")
                    break
    assert not slow, "\n".join(slow)
