"""Recognize the language runtime in a recorded command line, and return advice for it.

:func:`runtime_of` takes a command line (str), and returns a runtime's name; :func:`advice_for` takes that name, and
returns a dict. Programs, patterns and advice are in ``runtimes.yaml``, which describes its keys; a new runtime is
an entry there. An unknown program has the name "" and no advice.
"""

import re

from cmlib.places import yaml_beside

_READ = yaml_beside(__file__)
# Words of a command that are no program: options, numbers (`10s`, `0x3`, `0-3`), and assignments of variables.
_NO_PROGRAM = r"-|[0-9][-,.:0-9a-fx]*[smhd]?$|\w+="


def runtime_of(command):
    """Return the runtime that a command line starts: ``JVM``, ``Python`` or ``compiled code``; "" if not known.

    The program is the first word that is not an option, a number, an assignment of a variable or a launcher (such
    as ``sudo``). ``compiled code`` are well-known programs such as gcc; of any other, such as ``./a.out``, the
    language is not known.
    """
    words = (word.rpartition("/")[2] for word in command.split() if not re.match(_NO_PROGRAM, word))
    program = next((word for word in words if word not in _READ["launchers"]), "")
    for name, runtime in _READ["runtimes"].items():
        if re.fullmatch(runtime["programs"], program) or re.search(runtime["words"], command):
            return name
    return ""


def advice_for(runtime):
    """Return a runtime's own advice: a dict from top-down category to Markdown.

    `runtime` is what :func:`runtime_of` returns. For other categories the advice of the processor's top-down table
    holds. The dict is empty for an unknown runtime.
    """
    return _READ["runtimes"].get(runtime, {}).get("advice", {})
