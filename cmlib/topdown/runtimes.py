"""Tell from a recorded command what runs the program, and what is advised then: for a JVM not what is for C."""

import re
from pathlib import Path

import yaml

_READ = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def runtime_of(command):
    """What runs a program: ``JVM``, ``Python`` or ``compiled code``; empty where its command does not tell."""
    words = (word.rpartition("/")[2] for word in command.split() if not re.match(r"-|[0-9]|\w+=", word))
    program = next((word for word in words if word not in _READ["launchers"]), "")
    for name, runtime in _READ["runtimes"].items():
        if re.fullmatch(runtime["programs"], program) or re.search(runtime["told"], command):
            return name
    return ""


def advice_for(runtime):
    """Advice by category, where it is another than the tables'; none for an unknown runtime."""
    return _READ["runtimes"].get(runtime, {}).get("advice", {})
