"""All programs that can be recorded by name: `cmlib programs` lists them and what they lack here.

:func:`recipe` takes a name, and gives the Recipe of the program (how it is prepared, and what it needs);
:func:`to_record` gives a Program (a command with its preparation), which cmlib.collect records; :func:`cases` lists
programs with their inputs. A CmlibError for an unknown program or option, or if something is not installed.
"""

import functools
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import yaml

from cmlib.collect.record import Program
from cmlib.errors import CmlibError
from cmlib.experiments.tuning.labels import program_label
from cmlib.io.programs import program_entries
from cmlib_workloads import cpu, servers, spark
from cmlib_workloads.recipe import (
    Recipe,
    check_installed,
    missing_modules,
    missing_packages,
    run_tool,
)
from cmlib_workloads.servers import datacaching
from cmlib_workloads.servers.webserving import webserving

# perf does not follow a sampled group into the processes that gcc starts, so its compiler is run by itself.
_CC1 = {"-x": "-quiet", "c": "-w", "-c": "-w"}


@functools.cache
def recipes():
    """Every recipe: a dict from name to Recipe.

    HiBench's eight, CloudSuite's eight, two co-located pairs, and the CPU programs.
    """
    return {
        name: _recipe(name, suite, entry)
        for suite, programs in program_entries().items()
        for name, entry in programs.items()
    }


def of_suites(*suites):
    """List of the names of the programs of some suites (names, such as "HiBench")."""
    return [name for name, recipe in recipes().items() if recipe.suite in suites]


def recipe(name):
    """The Recipe of one program (`name`); a CmlibError if there is none."""
    known = recipes()
    if name not in known:
        raise CmlibError(f"there is no recipe for {name!r}; there are {', '.join(known)}")
    return known[name]


def prepared(name, *, scale=1.0, options: Mapping[str, str] | None = None):
    """Get a program (name) ready to be counted once: a context manager that yields a LaunchSpec.

    `scale` (above 0) is the factor of its work, `options` a dict of str. A CmlibError if there is no such program
    or option, the scale is not above 0, or something that it needs is not installed.
    """
    chosen, options = recipe(name), dict(options or {})
    if not scale > 0:
        raise CmlibError(f"program {name!r}: scale must be above 0, got {scale}")
    unknown = [key for key in options if not _takes(chosen, key)]
    if unknown:
        raise CmlibError(
            f"program {name!r} has no option {', '.join(unknown)}; it takes {', '.join(chosen.options) or 'none'}"
        )
    check_installed(chosen)
    return chosen.prepare(scale, options)


def to_record(name, *, scale=1.0, options: Mapping[str, str] | None = None):
    """A Program (a command with its preparation, got ready anew for every run) of a program's recipe.

    It is what :func:`cmlib.collect.record.record_program` takes. `name` is the program's, `scale` (above 0) the
    factor of its work, `options` a dict of str. A CmlibError, at once, if there is no such program or option, or
    something that it needs is not installed.
    """
    prepared(name, scale=scale, options=options)
    anew = partial(prepared, name, scale=scale, options=options)
    return Program(program_label(name, scale=scale, options=options), anew)


def lacking():
    """What each program needs that is not installed here: a dict from name to a list of packages (str)."""
    packages = set(missing_packages(package for one in recipes().values() for package in one.packages))
    return {
        name: [
            *filter(packages.__contains__, one.packages),
            *(f"{module} (Python)" for module in missing_modules(one.modules)),
        ]
        for name, one in recipes().items()
    }


def _takes(chosen, key):
    """True if a Recipe takes an option of this name."""
    return any(key == name or (name.endswith(".") and key.startswith(name)) for name in chosen.options)


def _recipe(name, suite, about):
    """The Recipe of a program from its entry (dict) in programs.yaml; a CmlibError if no function makes it ready."""
    texts = {key: about[key].format(name=name) for key in ("stands_for", "framework", "input")}
    given, maker = about.pop("given", {}), about.pop("maker", name)
    makers = _MAKERS | {command: partial(cpu.prepare, command) for command in cpu.MAKERS}
    makers["spark"] = partial(spark.prepare, name, suite.split()[0], given)
    if maker not in makers:
        raise CmlibError(
            f"program {name!r} of programs.yaml has no function {maker!r}: it belongs in MAKERS of "
            "cmlib_workloads/cpu.py (commands), or in _MAKERS of cmlib_workloads/catalog.py (servers)."
        )
    return Recipe(name=name, suite=suite, prepare=makers[maker], **about | texts)


def _two_caches(scale, options):
    """Get two memcached servers ready, counted together."""
    other = partial(datacaching, port=servers.CACHE_PORT + 1, seed=2)
    return servers.together(datacaching, other, scale, options)


def _cache_and_graph(scale, options):
    """Get memcached and a graph program on Spark ready, counted together."""

    def on_cluster(scale, options):
        return recipe("graphanalytics").prepare(scale, {**options, "master": "standalone"})

    return servers.together(datacaching, on_cluster, scale, options)


_MAKERS = {
    "mapreduce": spark.prepare_mapreduce,
    "datacaching": datacaching,
    "dataserving": servers.dataserving,
    "mediastreaming": servers.mediastreaming,
    "websearch": servers.websearch,
    "webserving": webserving,
    "datacaching-datacaching": _two_caches,
    "datacaching-graphanalytics": _cache_and_graph,
}


@dataclass(frozen=True)
class ProgramInput:
    """One program with one input, a test case.

    `program` is its name, `number` that of the input, `scale` the factor of its work; `words` maps words of its
    command to others.
    """

    program: str
    number: int
    scale: float
    words: dict = field(default_factory=dict)

    @property
    def name(self):
        """Name (str) of the case, such as ``bzip2-1``."""
        return f"{self.program}-{self.number}"

    @property
    def program_label(self):
        """What is noted as the command (str): the same wherever the case is recorded."""
        changed = "".join(f", {new} for {old}" for old, new in self.words.items())
        return f"{program_label(self.program, scale=self.scale)}{changed}"

    def to_record(self):
        """The case as a Program (a command with its preparation).

        It is what :func:`cmlib.collect.sampling.record_stream` takes.
        """
        return Program(self.program_label, partial(_prepared_case, self))


def cases():
    """All test cases, a list of ProgramInputs: eight programs, four or five inputs each."""
    inputs = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))
    return [
        ProgramInput(program, number, scale, words)
        for program, rows in inputs.items()
        for number, (scale, words) in enumerate(rows, start=1)
    ]


@contextmanager
def _prepared_case(case):
    """Get a case ready: yields a LaunchSpec with the words of its command replaced."""
    words = dict(case.words)
    if case.program == "gcc":
        words |= _CC1 | {"gcc": run_tool(["gcc", "-print-prog-name=cc1"]).strip()}
    with prepared(case.program, scale=case.scale) as counted:
        changed = [new for part in counted.command for new in _replaced(part, words)]
        yield replace(counted, command=changed)


def _replaced(part, words):
    """One part of a command with its words replaced; a word by itself may become several parts."""
    if part in words:
        return words[part].split()
    return [" ".join(words.get(word, word) for word in part.split(" "))]
