"""Find the format of a text, and read it.

:func:`read_counts` reads a text in any known format. Each format is a class in a module of this package. The classes
are found automatically.
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
    """Interface of a file format.

    A format is a class with three class attributes and two class methods. It is never instantiated.

    Attributes
    ----------
    name : str
        Name for ``--format``. For example, ``perf-csv``.
    recorded_by : str
        Command or tool that writes the format. For example, ``perf stat -I 1000 -x, -o FILE -- COMMAND``.
    sample : str
        Path of a sample file, relative to the root of the repository.
    """

    name: str
    recorded_by: str
    sample: str

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text has this format. The time must be linear in the length of the text.

        The text has no surrogates.
        """
        ...

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the text. FormatError, with the number and the content of the line, if a line is damaged."""
        ...


def _find_formats() -> dict[str, type[Format]]:
    """Find the classes of this package with all attributes of a format. The formats of perf come first."""
    formats_by_name = {}
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
                formats_by_name[candidate.name] = candidate
    return dict(sorted(formats_by_name.items(), key=lambda item: (not item[0].startswith("perf-"), item[0])))


_FORMATS = _find_formats()
_LINE_WITHOUT_JSON = re.compile(r"\n[^{#\n]")


def formats() -> dict[str, type[Format]]:
    """Return all formats, keyed by name."""
    return dict(_FORMATS)


def read_counts(
    text: str, format: str | None = None, options: ReadOptions | None = None
) -> tuple[str, Readings]:
    """Read a text in a known format.

    Parameters
    ----------
    text : str
        Content of the file.
    format : str, optional
        Name of the format. By default, the format is recognized from the text.
    options : ReadOptions, optional

    Returns
    -------
    name : str
        Name of the format.
    readings : Readings

    Raises
    ------
    FormatError
        If the text has no known format or several formats, the name of the format is unknown, or a line is damaged.
    """
    options = options or ReadOptions()
    if format is None:
        # Columns are selected only in wide tables. Such a table can have no known event.
        format = WideTable.name if options.columns else recognize(text)
    if format not in _FORMATS:
        raise FormatError(f"unknown format {format!r}. Known formats: {', '.join(_FORMATS)}.")
    if options.columns and format != WideTable.name:
        raise FormatError(
            f"--count and --level select columns of a {WideTable.name}, but the format of this file is {format}."
        )
    return format, _FORMATS[format].read(_replace_surrogates(text), options)


def _replace_surrogates(text: str) -> str:
    """Replace surrogates by U+FFFD.

    Python can decode invalid UTF-8 to surrogates, which pandas and pyarrow do not accept.
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def recognize(text: str) -> str:
    """Return the name of the format of a text.

    Raises
    ------
    FormatError
        If the text is empty, has no known format or has several formats.
    """
    valid_text = _replace_surrogates(text)
    if _has_only_json_lines(valid_text):
        # Only perf writes one object per line. Searching such a file for other formats takes longer than reading it.
        names = [PerfJson.name] if PerfJson.sniff(valid_text) else []
    else:
        names = [name for name, format in _FORMATS.items() if format.sniff(valid_text)]
    if len(names) > 1:
        raise FormatError(f"the file may be {' or '.join(names)}. Choose one with --format.")
    if names:
        return names[0]
    # Binary files are recognized from their bytes, which surrogates preserve.
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
