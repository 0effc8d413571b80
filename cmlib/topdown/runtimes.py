"""Recognize the language runtime of a recorded command line.

:func:`find_runtime` returns the name of the runtime, for example "JVM". :func:`advice_for` returns advice for it. The
programs, patterns and advice are in ``runtimes.yaml``. To add a runtime, add an entry to that file.
"""

import re

from cmlib.places import yaml_beside

_CONTENTS = yaml_beside(__file__)  # of runtimes.yaml
# A word of a command that is not a program: an option, a number (`10s`, `0x3`, `0-3`), or an assignment of a variable.
_NOT_A_PROGRAM = r"-|[0-9][-,.:0-9a-fx]*[smhd]?$|\w+="


def find_runtime(command):
    """Return the language runtime that a command line starts.

    The program is the first word that is not an option, a number, an assignment of a variable or a launcher. For
    example, ``sudo`` is a launcher.

    Parameters
    ----------
    command : str
        Command line.

    Returns
    -------
    str
        ``JVM``, ``Python`` or ``compiled code``. The last one is for well-known compiled programs, for example gcc. ""
        if the runtime is not known.
    """
    words = [word.rpartition("/")[2] for word in command.split() if not re.match(_NOT_A_PROGRAM, word)]
    program = next((word for word in words if word not in _CONTENTS["launchers"]), "")
    for name, runtime in _CONTENTS["runtimes"].items():
        if re.fullmatch(runtime["programs"], program) or re.search(runtime["words"], command):
            return name
    return ""


def advice_for(runtime):
    """Return the advice for a language runtime.

    Parameters
    ----------
    runtime : str
        Name from :func:`find_runtime`.

    Returns
    -------
    dict of str to str
        Advice in Markdown, by top-down category. Empty for an unknown runtime.
    """
    return _CONTENTS["runtimes"].get(runtime, {}).get("advice", {})
