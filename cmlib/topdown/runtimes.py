"""Recognise the language runtime in a recorded command line, and give advice for it (a JVM's is not that for C)."""

import re
from pathlib import Path

import yaml

_READ = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def runtime_of(command):
    """Name of the runtime that a command line starts: ``JVM``, ``Python`` or ``compiled code``; "" if not known."""
    words = (word.rpartition("/")[2] for word in command.split() if not re.match(r"-|[0-9]|\w+=", word))
    program = next((word for word in words if word not in _READ["launchers"]), "")
    for name, runtime in _READ["runtimes"].items():
        if re.fullmatch(runtime["programs"], program) or re.search(runtime["told"], command):
            return name
    return ""


def advice_for(runtime):
    """Dict from top-down category to advice, for categories where it differs from the tables'; empty if unknown."""
    return _READ["runtimes"].get(runtime, {}).get("advice", {})
