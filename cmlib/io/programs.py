"""Read which programs of which suite cmlib records (data/programs/programs.yaml)."""

import functools

from cmlib import places


def program_entries():
    """The content of programs.yaml: a dict of suite to a dict of program to a dict of its entries.

    Entries, as far as a program has them: input and framework (texts), given (size of the input, dict), maker (what
    gets it ready), stands_for (the paper's program in whose place it is), packages and modules (what it needs),
    options (what a user may set).
    """
    suites = places.read_yaml(places.shipped("programs") / "programs.yaml")
    del suites["anchors"]
    return suites


@functools.cache
def suites():
    """A dict of program to its suite (str), for every program in programs.yaml."""
    return {name: suite for suite, programs in program_entries().items() for name in programs}
