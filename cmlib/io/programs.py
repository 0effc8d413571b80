"""Read which programs of which suite cmlib records (data/programs/programs.yaml)."""

import functools

from cmlib import places


def program_entries() -> dict[str, dict[str, dict]]:
    """Read programs.yaml.

    Returns
    -------
    dict of str to dict
        By suite, then by program: its entries, as far as it has them. These are input and framework (texts), given
        (size of the input, dict), maker (what gets it ready), stands_for (the paper's program in whose place it is),
        packages and modules (what it needs), options (what a user may set).
    """
    suites = places.read_yaml(places.shipped("programs") / "programs.yaml")
    del suites["anchors"]
    return suites


@functools.cache
def suites() -> dict[str, str]:
    """Return the suite of every program in programs.yaml."""
    return {name: suite for suite, programs in program_entries().items() for name in programs}
