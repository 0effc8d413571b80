"""Find the functions that differ between two source trees, and where to put regions for them (AutoPerf, §3.1).

:func:`changed_functions` takes two folders or files, and gives a list of dicts, one for each function: function
(name), change, location (file:line) and targets (functions to put regions around). A region is a stretch of code
whose events are counted by themselves. A ValueError if a tree holds no source; a file that can't be parsed has no
functions.
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

_MOST_STATEMENTS = 2  # of a small function
_CALL = re.compile(r"\b(\w+)(?: <[\w :,*&<>]{,1000}>)? \(")  # a call in tokens joined by blanks
_ENDS = (";", "{", "}", ":")  # tokens behind which the head of a function can begin


@dataclass(frozen=True)
class Function:
    """A function in a source file.

    `path`, `line` and `name` (with its scopes, as in ``Class::method`` or ``Class.method``) say where it is.
    `parameters` and `tokens` are compared with those of another version: words of the source without comments, or, of
    Python, dumps of the syntax tree. `calls` has the names of the functions that it calls, without scopes; `small` is
    True if it is inline or has at most two statements, `local` if only its own file can call it.
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
        If a tree holds no source.
    """
    before, after = read_functions(old), read_functions(new)
    matched = [_match(before[name], after[name]) for name in {**after, **before}]
    added = {function for changes in matched for function in changes["added"]}
    callers = defaultdict(list)
    for caller in itertools.chain(*after.values()):
        for called in caller.calls:
            callers[called].append(caller)
    rows = [
        {
            "function": function.name,
            "change": change,
            "location": f"{function.path}:{function.line}",
            "targets": [] if change == "removed" else _targets(function, added, callers),
        }
        for changes in matched
        for change, functions in changes.items()
        for function in functions
    ]
    return sorted(rows, key=lambda row: (row["location"], row["function"]))


def mark_named(changed, names):
    """Mark the changed functions that a comparison names: a list of dicts with a further key ``in_verdict`` (bool).

    `changed` are rows of :func:`changed_functions` (function, change, location, targets). True if `names` (of
    functions that a comparison found) has the function or one of its targets; scopes are ignored.
    """
    named = set(map(_last_name, names))
    called = [{*map(_last_name, [row["function"], *row["targets"]])} for row in changed]
    return [row | {"in_verdict": not named.isdisjoint(of)} for row, of in zip(changed, called, strict=True)]


def _last_name(name):
    """A function's name without its scopes."""
    return name.replace("::", ".").rsplit(".", 1)[-1]


def read_functions(tree):
    """Read the functions in a folder or file (`tree`, a path): a dict from name to the list of Functions of that name.

    A ValueError if there is no source; CmlibError if the packages of the extra ``compare`` are not installed.
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
    """List of the Functions (as :class:`Function`) in a source text (str); empty if it can't be parsed.

    `path` is noted in each, and its suffix tells the language.
    """
    try:
        if path.endswith(".py"):
            return list(_functions_of_python(ast.parse(source), path))
        return [
            _function(info, path) for info in _make_parser().analyze_source_code(path, source).function_list
        ]
    except Exception:  # the parsers raise errors of many types for malformed text
        return []


def _functions_of_python(node, path, scopes=()):
    """Yield the functions below a node of a Python syntax tree; `scopes` are the names around it."""
    for inner in ast.iter_child_nodes(node):
        named = isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from _functions_of_python(inner, path, (*scopes, inner.name) if named else scopes)
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(inner) is not None:
                inner.body = inner.body[1:] or [ast.Pass()]
            parts = [part for statement in inner.body for part in ast.walk(statement)]
            called = (part.func for part in parts if isinstance(part, ast.Call))
            yield Function(
                path=path,
                line=inner.lineno,
                name=".".join([*scopes, inner.name]),
                parameters=(ast.dump(inner.args),),
                tokens=(ast.dump(inner),),
                calls=frozenset(getattr(name, "attr", getattr(name, "id", "")) for name in called),
                small=sum(isinstance(part, ast.stmt) for part in parts) <= _MOST_STATEMENTS,
                local=False,
            )


def _keep_tokens(tokens, reader):
    """Extension of lizard: store with each function all tokens read so far, and the numbers of its first and last."""
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


def _function(info, path):
    """Function from lizard's description, with the tokens that :func:`_keep_tokens` has stored."""
    read_so_far, first, end = info.tokens
    tokens = read_so_far[first:end]
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
    """Dict of changed, added and removed functions among those of one name in the old and the new tree.

    Equal ones are matched first, then those of the same parameters, then any.
    """
    old, new, changed = list(before), list(after), []
    for alike in ("tokens", "parameters", "name"):
        for function in list(new):
            same = (candidate for candidate in old if getattr(candidate, alike) == getattr(function, alike))
            if (partner := next(same, None)) is not None:
                old.remove(partner)
                new.remove(function)
                changed += [function] if alike != "tokens" else []
    return {"changed": changed, "added": new, "removed": old}


def _targets(function, added, callers):
    """Names of the functions to put regions around: itself, or the nearest callers that are neither new nor small.

    A function without callers is its own target.
    """
    names, seen, waiting = [], {function}, [function]
    while waiting:
        at = waiting.pop(0)
        others = (caller for caller in callers[_last_name(at.name)] if caller != at)
        above = [caller for caller in others if not at.local or caller.path == at.path]
        if (at not in added and not at.small) or not above:
            names.append(at.name)
            continue
        waiting += [caller for caller in above if caller not in seen]
        seen.update(above)
    return list(dict.fromkeys(names)) or [function.name]
