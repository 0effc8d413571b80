"""Write and read the text that a recording of a program of this package has as its command.

It is the same on any machine. :func:`program_label` makes the text from name, scale and options;
:func:`parse_program_label` does the reverse. CmlibError for any other text.
"""

from cmlib.errors import CmlibError


def program_label(name, *, scale=1.0, options=None):
    """Return the command that records one of the programs that come with cmlib, the same on any machine.

    It is the command in the recording's metadata: ``cmlib record --program NAME --scale 1 --option KEY=VALUE``.

    Parameters
    ----------
    name : str
        Name of the program.
    scale : float, default 1.0
        Factor of the amount of work.
    options : dict of str to str, optional

    Returns
    -------
    str
    """
    option_words = "".join(f" --option {key}={value}" for key, value in sorted((options or {}).items()))
    return f"cmlib record --program {name} --scale {scale:g}{option_words}"


def parse_program_label(text):
    """Parse the command that :func:`program_label` made.

    Returns
    -------
    name : str
    scale : float
    options : dict of str to str

    Raises
    ------
    CmlibError
        If the text is another command.
    """
    words = text.split()
    option_words = words[6:]
    options = option_words[1::2]
    has_program = words[:3] == ["cmlib", "record", "--program"]
    has_scale = words[4:5] == ["--scale"]
    has_options = option_words[::2] == ["--option"] * len(options)
    if not (has_program and has_scale and has_options):
        raise CmlibError(f"{text!r} is not the command of a program that cmlib gets ready")
    return words[3], float(words[5]), dict(option.split("=", 1) for option in options)
