"""Write and parse the command line in the metadata of a recording.

:func:`program_label` writes the ``cmlib record`` command for a program that comes with cmlib. The text is the same
on every machine, because it contains no path. :func:`parse_program_label` parses it.
"""

from __future__ import annotations

from cmlib.errors import CmlibError


def program_label(name: str, *, scale: float = 1.0, options: dict[str, str] | None = None) -> str:
    """Return the command that records a program with some options.

    Parameters
    ----------
    name : str
        Name of a program that comes with cmlib.
    scale : float, default 1.0
        Factor of the amount of work.
    options : dict of str to str, optional
        Settings of the program. For example, ``{"spark.memory.fraction": "0.6"}``.

    Returns
    -------
    str
        For example, ``cmlib record --program sort --scale 1 --option spark.memory.fraction=0.6``.
    """
    option_words = "".join(f" --option {key}={value}" for key, value in sorted((options or {}).items()))
    return f"cmlib record --program {name} --scale {scale:g}{option_words}"


def parse_program_label(text: str) -> tuple[str, float, dict[str, str]]:
    """Parse a command that :func:`program_label` wrote.

    Parameters
    ----------
    text : str
        The command.

    Returns
    -------
    name : str
        Name of the program.
    scale : float
        Factor of the amount of work.
    options : dict of str to str
        Settings of the program.

    Raises
    ------
    CmlibError
        If the text is a different command.
    """
    words = text.split()
    option_words = words[6:]
    options = option_words[1::2]
    has_program = words[:3] == ["cmlib", "record", "--program"]
    has_scale = words[4:5] == ["--scale"]
    has_options = option_words[::2] == ["--option"] * len(options)
    if not (has_program and has_scale and has_options):
        raise CmlibError(f"{text!r} is not a command that records a program of cmlib")
    return words[3], float(words[5]), dict(option.split("=", 1) for option in options)
