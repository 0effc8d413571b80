"""The test cases of sample compression: CPU programs, each with several inputs."""

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import yaml

from cmlib.collect.record.request import Program
from cmlib.collect.workloads import programs
from cmlib.collect.workloads.recipe import run_tool

# perf does not follow a sampled group into the processes that gcc starts, so its compiler is run by itself.
_CC1 = {"-x": "-quiet", "c": "-w", "-c": "-w"}


@dataclass(frozen=True)
class Case:
    """One program with one input."""

    program: str
    number: int
    scale: float
    words: dict = field(default_factory=dict)

    @property
    def name(self):
        """Such as ``bzip2-1``."""
        return f"{self.program}-{self.number}"

    @property
    def label(self):
        """What is noted as the command: the same wherever the case is recorded."""
        changed = "".join(f", {new} for {old}" for old, new in self.words.items())
        return f"{programs.label(self.program, scale=self.scale)}{changed}"

    def to_record(self):
        """The case as :func:`cmlib.io.samples.record_stream` takes it."""
        return Program(self.label, partial(_prepared, self))


def cases():
    """All test cases: eight programs, four or five inputs each."""
    inputs = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return [
        Case(program, number, scale, words)
        for program, rows in inputs.items()
        for number, (scale, words) in enumerate(rows, start=1)
    ]


@contextmanager
def _prepared(case):
    words = dict(case.words)
    if case.program == "gcc":
        words |= _CC1 | {"gcc": run_tool(["gcc", "-print-prog-name=cc1"]).strip()}
    with programs.prepared(case.program, scale=case.scale) as counted:
        changed = [new for part in counted.command for new in _replaced(part, words)]
        yield replace(counted, command=changed)


def _replaced(part, words):
    """One part of a command with its words replaced; a word by itself may become several parts."""
    if part in words:
        return words[part].split()
    return [" ".join(words.get(word, word) for word in part.split(" "))]
