"""Find the functions that changed between two source trees, and where to count them (AutoPerf, §3.1).

:func:`changed_functions` takes two folders or files and returns one dict per function that was changed, added
or removed. The dict names the functions in which to count events, called targets. A small function is
measured through its callers, because counting takes longer than the function. Files are parsed with
:mod:`ast` (Python) or lizard (other languages).
"""

import ast
import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cmlib.errors import InputError
from cmlib.extras import check_extra

_MOST_STATEMENTS = 2  # largest number of statements of a small function
# A call in space-separated tokens: `scale (`, or `convert < int > (` with template arguments.
_CALL = re.compile(r"\b(\w+)(?: <[\w :,*&<>]{,1000}>)? \(")
_STATEMENT_ENDS = (";", "{", "}", ":")  # tokens after which the head of a function can begin


@dataclass(frozen=True)
class Function:
    """A function in a source file.

    Attributes
    ----------
    path : str
        Source file.
    line : int
        Line number of its head.
    name : str
        Qualified name. For example, ``Class::method`` or ``Class.method``.
    parameters : tuple of str
        Its parameters.
    tokens : tuple of str
        Words of the source without comments. For Python, the dumped syntax tree.
    calls : frozenset of str
        Unqualified names of the functions that it calls.
    small : bool
        True if it is inline or has at most two statements.
    local : bool
        True if only functions of the same file can call it.
    """

    path: str
    line: int
    name: str
    parameters: tuple[str, ...]
    tokens: tuple[str, ...]
    calls: frozenset[str]
    small: bool
    local: bool


def changed_functions(old: str | Path, new: str | Path) -> list[dict]:
    """List the functions that were changed, added or removed between two trees.

    Parameters
    ----------
    old, new : path
        Folder or file of each version.

    Returns
    -------
    list of dict
        One dict per function, sorted by location, with the following keys:

        - ``function``: qualified name
        - ``change``: ``changed``, ``added`` or ``removed``
        - ``location``: ``file:line``
        - ``targets``: functions in which to count events. A target is the function itself, or its nearest
          callers if the function is new or small. Empty for a removed function.

    Raises
    ------
    InputError
        If a tree contains no source file.
    CmlibError
        If the packages of the extra ``compare`` are not installed.
    """
    old_by_name = read_functions(old)
    new_by_name = read_functions(new)
    changed, added, removed = [], [], []
    for name in {**new_by_name, **old_by_name}:
        differences = _match_functions(old_by_name.get(name, []), new_by_name.get(name, []))
        changed += differences.changed
        added += differences.added
        removed += differences.removed
    callers_by_name = _find_callers(itertools.chain(*new_by_name.values()))
    added_functions = set(added)
    rows = []
    for change, functions in (("changed", changed), ("added", added)):
        for function in functions:
            targets = _find_targets(function, added_functions, callers_by_name)
            rows.append(_make_row(function, change, targets))
    rows += [_make_row(function, "removed", []) for function in removed]
    return sorted(rows, key=lambda row: (row["location"], row["function"]))


def _find_callers(functions: Iterable[Function]) -> dict[str, list[Function]]:
    """Return the callers of each function, keyed by unqualified name."""
    callers_by_name = defaultdict(list)
    for caller in functions:
        for name in caller.calls:
            callers_by_name[name].append(caller)
    return callers_by_name


def _make_row(function: Function, change: str, targets: list[str]) -> dict:
    """Return a row of the result of :func:`changed_functions`."""
    return {
        "function": function.name,
        "change": change,
        "location": f"{function.path}:{function.line}",
        "targets": targets,
    }


def mark_named(changed: list[dict], names: Iterable[str]) -> list[dict]:
    """Mark the changed functions that a comparison of counts names, too.

    Parameters
    ----------
    changed : list of dict
        Result of :func:`changed_functions`.
    names : iterable of str
        Functions that the comparison names.

    Returns
    -------
    list of dict
        Copies of `changed` with the key ``in_verdict``. It is True if `names` contains the function or one of its
        targets (the functions in which its events are counted). Only unqualified names are compared.
    """
    unqualified_names = set(map(_unqualify, names))
    marked = []
    for row in changed:
        own_names = {_unqualify(name) for name in (row["function"], *row["targets"])}
        marked.append(row | {"in_verdict": not unqualified_names.isdisjoint(own_names)})
    return marked


def _unqualify(name: str) -> str:
    """Return a function's name without its scopes."""
    return name.replace("::", ".").rsplit(".", 1)[-1]


def read_functions(tree: str | Path) -> dict[str, list[Function]]:
    """Read the functions in a folder or file.

    Parameters
    ----------
    tree : path
        Folder or file.

    Returns
    -------
    dict of str to list of Function
        Functions keyed by qualified name.

    Raises
    ------
    InputError
        If the tree contains no source file.
    CmlibError
        If the packages of the extra ``compare`` are not installed.
    """
    check_extra("compare", "Reading functions of source files")
    from lizard_languages import get_reader_for

    root = Path(tree)
    files = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
    sources = [path for path in files if get_reader_for(path.name)]
    if not sources:
        raise InputError(
            f"{root} contains no source file in C, C++, Python or another language that lizard reads"
        )
    functions = defaultdict(list)
    for path in sources:
        name = path.name if path == root else path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8", errors="replace")
        for function in parse_functions(text, name):
            functions[function.name].append(function)
    return functions


def parse_functions(source: str, path: str) -> list[Function]:
    """Parse the functions in a source text.

    Parameters
    ----------
    source : str
        Content of the file.
    path : str
        Path of the file. The suffix of the path determines the language.

    Returns
    -------
    list of Function
        Empty if the text cannot be parsed.
    """
    try:
        if path.endswith(".py"):
            return list(_parse_python(ast.parse(source), path))
        parsed = _make_parser().analyze_source_code(path, source)
        return [_make_function(description, path) for description in parsed.function_list]
    except Exception:  # parsers raise many types of errors for malformed text
        return []


def _parse_python(node: ast.AST, path: str, scopes: tuple[str, ...] = ()) -> Iterator[Function]:
    """Yield the functions in a node of a Python syntax tree.

    `scopes` are the names of the classes and functions that contain the node.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _parse_python(child, path, (*scopes, child.name))
            yield _make_python_function(child, path, scopes)
        elif isinstance(child, ast.ClassDef):
            yield from _parse_python(child, path, (*scopes, child.name))
        else:
            yield from _parse_python(child, path, scopes)


def _make_python_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, path: str, scopes: tuple[str, ...]
) -> Function:
    """Make a Function from the syntax tree of a Python function. Its docstring is left out."""
    if ast.get_docstring(node) is not None:
        node.body = node.body[1:] or [ast.Pass()]
    nodes = [inner for statement in node.body for inner in ast.walk(statement)]
    called_functions = (inner.func for inner in nodes if isinstance(inner, ast.Call))
    n_statements = sum(isinstance(inner, ast.stmt) for inner in nodes)
    return Function(
        path=path,
        line=node.lineno,
        name=".".join([*scopes, node.name]),
        parameters=(ast.dump(node.args),),
        tokens=(ast.dump(node),),
        calls=frozenset(map(_called_name, called_functions)),
        small=n_statements <= _MOST_STATEMENTS,
        local=False,
    )


def _called_name(node: ast.AST) -> str:
    """Return the unqualified name of a called function.

    It is ``read`` for ``file.read``, and empty if the called expression has no name.
    """
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _keep_tokens(tokens: Iterable[str], reader: Any) -> Iterator[str]:
    """Add the tokens of each function to lizard's description of it.

    This is an extension of lizard. It sets three attributes of the description: `all_tokens` (tokens of the
    file), `first_token` (index of the function's first token) and `end_token` (index after its last token).
    """
    all_tokens = []
    first_of_statement = 0
    for token in tokens:
        yield token  # lizard processes the token before the loop continues
        all_tokens.append(token)
        description = vars(reader.context.current_function)
        description["all_tokens"] = all_tokens
        description.setdefault("first_token", first_of_statement)
        description["end_token"] = len(all_tokens)
        if token in _STATEMENT_ENDS:
            first_of_statement = len(all_tokens)


@functools.cache
def _make_parser() -> Any:
    """Return a lizard parser that keeps the tokens of each function."""
    import lizard

    return lizard.FileAnalyzer([*lizard.get_extensions([]), _keep_tokens])


def _make_function(description: Any, path: str) -> Function:
    """Make a Function from lizard's description."""
    tokens = description.all_tokens[description.first_token : description.end_token]
    n_head = tokens.index("{") if "{" in tokens else len(tokens)
    head = tokens[:n_head]
    body = tokens[n_head:]
    # Without semicolons, each line is about one statement, except for the first and the last line.
    n_statements = body.count(";") or description.nloc - 2
    name = re.sub(r" (?=\W)", "", description.name)  # lizard puts spaces between tokens
    # A static member function of a C++ class can be called from other files.
    is_local = "static" in head and "::" not in name
    return Function(
        path=path,
        line=description.start_line,
        name=name,
        parameters=tuple(description.full_parameters),
        tokens=tuple(tokens),
        calls=frozenset(_CALL.findall(" ".join(body))),
        small=n_statements <= _MOST_STATEMENTS or "inline" in head,
        local=is_local,
    )


@dataclass(frozen=True)
class _Differences:
    """Functions of one name that differ between two trees."""

    changed: list
    added: list
    removed: list


def _match_functions(old_functions: list[Function], new_functions: list[Function]) -> _Differences:
    """Match the old and new functions of one name.

    Functions with equal tokens are matched first. The remaining functions are matched by equal parameters and
    then in input order. These pairs are changed functions. Unmatched functions were added or removed.
    """
    old_left = list(old_functions)
    new_left = list(new_functions)
    changed = []
    # All functions have the same name, so that the last attribute matches the remaining ones in input order.
    for attribute in ("tokens", "parameters", "name"):
        for function in list(new_left):
            value = getattr(function, attribute)
            old_function = next((old for old in old_left if getattr(old, attribute) == value), None)
            if old_function is None:
                continue
            old_left.remove(old_function)
            new_left.remove(function)
            if attribute != "tokens":
                changed.append(function)
    return _Differences(changed, added=new_left, removed=old_left)


def _find_targets(
    function: Function, added_functions: set[Function], callers_by_name: dict[str, list[Function]]
) -> list[str]:
    """Find the functions in which to count events to measure a changed function.

    A new function is unsuitable because the old version has no counts of it. A small one is too short to be
    counted. The search starts at `function` and continues with the callers of each unsuitable function. It
    ends at functions that are suitable or have no callers.
    """
    targets = []
    reached = {function}
    waiting = [function]
    while waiting:
        current = waiting.pop(0)
        callers = [
            caller
            for caller in callers_by_name[_unqualify(current.name)]
            if caller != current and (not current.local or caller.path == current.path)
        ]
        is_suitable = current not in added_functions and not current.small
        if is_suitable or not callers:
            targets.append(current.name)
        else:
            waiting += [caller for caller in callers if caller not in reached]
            reached.update(callers)
    return list(dict.fromkeys(targets)) or [function.name]
