"""The list of known formats, and the choice of the one that a text has.

A format is a class in a module of this package; it needs no entry anywhere else.
"""

import inspect
import pkgutil
import re
from importlib import import_module
from typing import Any, Protocol

from cmlib.io import formats as package
from cmlib.io.formats import unsupported
from cmlib.io.formats.perf_json import PerfJson
from cmlib.io.formats.readings import FormatError, Readings, ReadOptions
from cmlib.io.formats.wide_table import WideTable


class Format(Protocol):
    """One format of files of counts.

    A format is a class with three class attributes and two class methods; it is never instantiated.

    Attributes
    ----------
    name : str
        Its name for ``--format``, such as ``perf-csv``.
    recorded_by : str
        Command or tool that writes it, such as ``perf stat -I 1000 -x, -o FILE -- COMMAND``.
    sample : str
        Path of its sample below the repository's root: documentation, test fixture, and seed of the fuzzer.
    """

    name: str
    recorded_by: str
    sample: str

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text has this format. Search for a fixed string first; take linear time."""
        ...

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the whole text in one pass; raise FormatError with the line's number and content if one is damaged."""
        ...


def _find_formats() -> dict[str, type[Format]]:
    """Collect the classes of this package that have all attributes of a format, those of perf first."""
    found = {}
    for module_info in pkgutil.iter_modules(package.__path__):
        module_name = f"{package.__name__}.{module_info.name}"
        if module_name == __name__:
            continue
        candidates: list[tuple[str, Any]] = inspect.getmembers(import_module(module_name), inspect.isclass)
        for _, candidate in candidates:
            is_format = all(
                hasattr(candidate, name) for name in ("name", "recorded_by", "sample", "sniff", "read")
            )
            if is_format and candidate.__module__ == module_name:
                found[candidate.name] = candidate
    return dict(sorted(found.items(), key=lambda item: (not item[0].startswith("perf-"), item[0])))


_FORMATS = _find_formats()
_LINE_WITHOUT_JSON = re.compile(r"\n[^{#\n]")


def formats() -> dict[str, type[Format]]:
    """Return all formats by name, in the order in which documentation lists them."""
    return dict(_FORMATS)


def read_counts(
    text: str, format: str | None = None, options: ReadOptions | None = None
) -> tuple[str, Readings]:
    """Read counts in one of the known formats.

    Parameters
    ----------
    text : str
        Content of the file.
    format : str, optional
        Name of its format. Default: the only one that recognizes the text.
    options : ReadOptions, optional

    Returns
    -------
    name : str
        Name of the format.
    readings : Readings

    Raises
    ------
    FormatError
        If no format or several recognize the text, the named one is unknown, or a line is damaged.
    """
    options = options or ReadOptions()
    if format is None:
        # Columns are chosen in wide tables only, also in one without a known event.
        format = WideTable.name if options.columns else recognize(text)
    if format not in _FORMATS:
        raise FormatError(f"unknown format {format!r}; known: {', '.join(_FORMATS)}.")
    if options.columns and format != WideTable.name:
        raise FormatError(
            f"--count and --level choose columns of a {WideTable.name}, and this file is {format}."
        )
    return format, _FORMATS[format].read(_replace_surrogates(text), options)


def _replace_surrogates(text: str) -> str:
    """Replace bytes that were not UTF-8, which Python keeps as surrogates and pandas refuses, by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def recognize(text: str) -> str:
    """Return the name of the only format that recognizes the text.

    Raises
    ------
    FormatError
        If the text is empty, no format recognizes it, or several do.
    """
    if _has_only_json_lines(text):
        # Only perf writes one object per line. Searching such a file for other formats takes longer than reading it.
        names = [PerfJson.name] if PerfJson.sniff(text) else []
    else:
        names = [name for name, format in _FORMATS.items() if format.sniff(text)]
    if len(names) > 1:
        raise FormatError(f"the file may be {' or '.join(names)}; choose one with --format.")
    if names:
        return names[0]
    if advice := unsupported.explain(text):
        raise FormatError(f"the file {advice}")
    known = "\n".join(f"  {name:18} {format.recorded_by}" for name, format in _FORMATS.items())
    raise FormatError(
        "the file has no supported format. Save the output of the tool, alone, in a file. Supported formats:\n"
        + known
    )


def _has_only_json_lines(text: str) -> bool:
    """Return True if several lines begin with ``{``, and all others are comments or empty."""
    if text[:1] not in ("{", "#", "\n") or _LINE_WITHOUT_JSON.search(text):
        return False
    return "\n{" in text
