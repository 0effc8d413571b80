"""Find the functions that differ between two source trees, and where to put regions for them (AutoPerf, §3.1).

:func:`changed_functions` takes two folders or files, and returns one dict per changed function: function (name),
change, location (file:line) and targets (functions to put regions around). A region is a stretch of code with events
that are counted separately. ValueError if a tree contains no source; a file that can't be parsed has no functions.
"""

import ast
import functools
import itertools
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from cmlib.errors import InputError
from cmlib.extras import check_extra

_MOST_STATEMENTS = 2  # of a small function, at most
_CALL = re.compile(r"\b(\w+)(?: <[\w :,*&<>]{,1000}>)? \(")  # a call in tokens joined by blanks
_ENDS = (";", "{", "}", ":")  # tokens after which the head of a function can begin


@dataclass(frozen=True)
class Function:
    """A function in a source file.

    Attributes
    ----------
    path : str
    line : int
    name : str
        Name with its scopes, such as ``Class::method`` or ``Class.method``.
    parameters, tokens : tuple of str
        Words of the source without comments, or, for Python, dumps of the syntax tree; they are compared with those of
        another version.
    calls : frozenset of str
        Names of the functions that it calls, without scopes.
    small : bool
        True if it is inline or has at most two statements.
    local : bool
        True if only its own file can call it.
    """

    path: str
    line: int
    name: str
    parameters: tuple[str, ...]
    tokens: tuple[str, ...]
    calls: frozenset[str]
    small: bool
    local: bool


def changed_functions(old, new):
    """List the functions that were changed, added or removed between two source trees (AutoPerf, §3.1).

    Parameters
    ----------
    old : path-like
        Folder or file of the old version.
    new : path-like
        Folder or file of the new one.

    Returns
    -------
    list of dict
        Sorted by location: ``function`` (name with its scopes), ``change`` (``changed``, ``added`` or ``removed``),
        ``location`` (``file:line``) and ``targets`` (functions to put regions around: itself, or its nearest callers
        that are neither new nor small).

    Raises
    ------
    ValueError
        If a tree contains no source.
    """
    before, after = read_functions(old), read_functions(new)
    changes = [_match(before[name], after[name]) for name in {**after, **before}]
    added = {function for change in changes for function in change["added"]}
    callers = defaultdict(list)
    for caller in itertools.chain(*after.values()):
        for callee in caller.calls:
            callers[callee].append(caller)
    rows = []
    for change in changes:
        for kind, functions in change.items():
            for function in functions:
                targets = [] if kind == "removed" else _find_targets(function, added, callers)
                rows.append(
                    {
                        "function": function.name,
                        "change": kind,
                        "location": f"{function.path}:{function.line}",
                        "targets": targets,
                    }
                )
    return sorted(rows, key=lambda row: (row["location"], row["function"]))


def mark_named(changed, names):
    """Mark the changed functions that a comparison found.

    Parameters
    ----------
    changed : list of dict
        Result of :func:`changed_functions`.
    names : iterable of str
        Names of the functions that the comparison found.

    Returns
    -------
    list of dict
        The same, with a further key ``in_verdict``: True if the function or one of its targets is among the names.
        Scopes of names are ignored.
    """
    names_without_scopes = set(map(_last_name, names))
    marked = []
    for row in changed:
        own_names = {_last_name(name) for name in (row["function"], *row["targets"])}
        marked.append(row | {"in_verdict": not names_without_scopes.isdisjoint(own_names)})
    return marked


def _last_name(name):
    """Return a function's name without its scopes."""
    return name.replace("::", ".").rsplit(".", 1)[-1]


def read_functions(tree):
    """Read the functions in a folder or file.

    Parameters
    ----------
    tree : path
        Folder or file.

    Returns
    -------
    dict of str to list of Function
        The functions of each name.

    Raises
    ------
    ValueError
        If there is no source.
    CmlibError
        If the packages of the extra ``compare`` are not installed.
    """
    check_extra("compare", "Reading functions of source files")
    from lizard_languages import get_reader_for

    root = Path(tree)
    files = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
    sources = [path for path in files if get_reader_for(path.name)]
    if not sources:
        raise InputError(f"{root}: no source of C, C++, Python or another language that lizard reads")
    functions = defaultdict(list)
    for path in sources:
        name = path.name if path == root else path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8", errors="replace")
        for function in parse_functions(text, name):
            functions[function.name].append(function)
    return functions


def parse_functions(source, path):
    """List the functions in a source text.

    Parameters
    ----------
    source : str
    path : str
        Path of the file; its suffix determines the language.

    Returns
    -------
    list of Function
        Empty if the text can't be parsed.
    """
    try:
        if path.endswith(".py"):
            return list(_parse_python(ast.parse(source), path))
        parsed = _make_parser().analyze_source_code(path, source)
        return [_make_function(info, path) for info in parsed.function_list]
    except Exception:  # the parsers raise errors of many types for malformed text
        return []


def _parse_python(node, path, scopes=()):
    """Yield the functions below a node of a Python syntax tree; `scopes` are the names around it."""
    for inner in ast.iter_child_nodes(node):
        has_name = isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from _parse_python(inner, path, (*scopes, inner.name) if has_name else scopes)
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(inner) is not None:
                inner.body = inner.body[1:] or [ast.Pass()]
            parts = [part for statement in inner.body for part in ast.walk(statement)]
            called_functions = (part.func for part in parts if isinstance(part, ast.Call))
            yield Function(
                path=path,
                line=inner.lineno,
                name=".".join([*scopes, inner.name]),
                parameters=(ast.dump(inner.args),),
                tokens=(ast.dump(inner),),
                calls=frozenset(getattr(name, "attr", getattr(name, "id", "")) for name in called_functions),
                small=sum(isinstance(part, ast.stmt) for part in parts) <= _MOST_STATEMENTS,
                local=False,
            )


def _keep_tokens(tokens, reader):
    """Store with each function all tokens read so far, and the numbers of its first and last (a lizard extension)."""
    read_so_far, head = [], 0
    for token in tokens:
        yield token
        read_so_far.append(token)
        info = vars(reader.context.current_function)
        info["tokens"] = read_so_far, info.get("tokens", (read_so_far, head))[1], len(read_so_far)
        if token in _ENDS:
            head = len(read_so_far)


@functools.cache
def _make_parser():
    """Return lizard's analyzer of source files, which keeps the tokens of each function."""
    import lizard

    return lizard.FileAnalyzer([*lizard.get_extensions([]), _keep_tokens])


def _make_function(info, path):
    """Make a Function from lizard's description, with the tokens that :func:`_keep_tokens` has stored."""
    read_so_far, begin, end = info.tokens
    tokens = read_so_far[begin:end]
    start = tokens.index("{") if "{" in tokens else len(tokens)
    head, inside = tokens[:start], tokens[start:]
    name = re.sub(r" (?=\W)", "", info.name)
    return Function(
        path=path,
        line=info.start_line,
        name=name,
        parameters=tuple(info.full_parameters),
        tokens=tuple(tokens),
        calls=frozenset(_CALL.findall(" ".join(inside))),
        small=(inside.count(";") or info.nloc - 2) <= _MOST_STATEMENTS or "inline" in head,
        local="static" in head and "::" not in name,
    )


def _match(before, after):
    """Match the functions of one name in the old and the new tree: a dict of changed, added and removed functions.

    Equal functions are matched first, then functions with the same parameters, then any.
    """
    old, new = list(before), list(after)
    changed = []
    for attribute in ("tokens", "parameters", "name"):
        for function in list(new):
            wanted = getattr(function, attribute)
            partner = next((candidate for candidate in old if getattr(candidate, attribute) == wanted), None)
            if partner is None:
                continue
            old.remove(partner)
            new.remove(function)
            if attribute != "tokens":
                changed.append(function)
    return {"changed": changed, "added": new, "removed": old}


def _find_targets(function, added, callers):
    """Return the names of the functions to put regions around, so that a changed function is measured.

    These are the nearest callers that are neither new nor small, or the function itself if it is neither, or has no
    callers.
    """
    names = []
    seen = {function}
    waiting = [function]
    while waiting:
        current = waiting.pop(0)
        other_callers = (caller for caller in callers[_last_name(current.name)] if caller != current)
        current_callers = [
            caller for caller in other_callers if not current.local or caller.path == current.path
        ]
        is_suitable = current not in added and not current.small
        if is_suitable or not current_callers:
            names.append(current.name)
            continue
        waiting += [caller for caller in current_callers if caller not in seen]
        seen.update(current_callers)
    return list(dict.fromkeys(names)) or [function.name]
