"""Write and read the text that is noted as the command of a recorded program of this package.

It is the same on any machine. :func:`program_label` takes name, scale and options, and gives the text;
:func:`parse_program_label` does the reverse, with a CmlibError for another text.
"""

from cmlib.errors import CmlibError


def program_label(name, *, scale=1.0, options=None):
    """The text (str) noted as the command of a recorded program of cmlib's, the same on any machine.

    It is the command that records it: ``cmlib record --program NAME --scale 1 --option KEY=VALUE``. `name` is the
    program's, `scale` multiplies its work, `options` is a dict or None.
    """
    chosen = "".join(f" --option {key}={value}" for key, value in sorted((options or {}).items()))
    return f"cmlib record --program {name} --scale {scale:g}{chosen}"


def parse_program_label(text):
    """Name (str), scale (float) and options (dict of str) from the text that :func:`program_label` made.

    CmlibError if the text is something else.
    """
    words = text.split()
    begins, pairs = words[:3] == ["cmlib", "record", "--program"], words[6:]
    if not begins or words[4:5] != ["--scale"] or pairs[::2] != ["--option"] * len(pairs[1::2]):
        raise CmlibError(f"{text!r} is not the command of a program that cmlib gets ready")
    return words[3], float(words[5]), dict(pair.split("=", 1) for pair in pairs[1::2])
