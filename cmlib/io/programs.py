"""Read the list of programs that cmlib records (data/programs/programs.yaml)."""

import functools

from cmlib import places


def program_entries() -> dict[str, dict[str, dict]]:
    """Read the entries of all programs.

    Returns
    -------
    dict of str to dict
        Entries keyed by suite, then by program. Each entry is optional:

        - ``input``, ``framework`` : texts.
        - ``given`` : size of the input.
        - ``maker`` : function that prepares the program.
        - ``stands_for`` : program of the paper that this program replaces.
        - ``packages``, ``modules`` : requirements.
        - ``options`` : options that a user can set.
    """
    entries_by_suite = places.read_yaml(places.shipped("programs") / "programs.yaml")
    del entries_by_suite["anchors"]
    return entries_by_suite


@functools.cache
def suites() -> dict[str, str]:
    """Return the suite of every program.

    Returns
    -------
    dict of str to str
        Name of the suite, keyed by the name of the program.
    """
    return {name: suite for suite, programs in program_entries().items() for name in programs}
