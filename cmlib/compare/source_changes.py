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

_MOST_STATEMENTS = 2  # of a small function
# A call in tokens that are joined by blanks: `scale (`, or `convert < int > (` with template arguments.
_CALL = re.compile(r"\b(\w+)(?: <[\w :,*&<>]{,1000}>)? \(")
_STATEMENT_ENDS = (";", "{", "}", ":")  # tokens after which the head of a function can begin


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
        Parameters, and the whole function: words of the source without comments, or, for Python, dumps of the syntax
        tree. A function is unchanged if these are equal in both versions.
    calls : frozenset of str
        Names of the functions that it calls, without scopes.
    small : bool
        True if it is inline or has at most two statements. The counts of a region around it would be mostly overhead.
    local : bool
        True if only its own file can call it, because it is static.
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
        Folder or file of the new version.

    Returns
    -------
    list of dict
        Sorted by location: ``function`` (name with its scopes), ``change`` (``changed``, ``added`` or ``removed``),
        ``location`` (``file:line``) and ``targets`` (functions to put regions around). The target is the function
        itself, or its nearest callers if it is new or small; a removed function has none.

    Raises
    ------
    ValueError
        If a tree contains no source.
    """
    old_by_name = read_functions(old)
    new_by_name = read_functions(new)
    changed, added, removed = [], [], []
    for name in {**new_by_name, **old_by_name}:
        differences = _match(old_by_name.get(name, []), new_by_name.get(name, []))
        changed += differences.changed
        added += differences.added
        removed += differences.removed
    callers_by_name = _find_callers(itertools.chain(*new_by_name.values()))
    added_functions = set(added)
    rows = []
    for change, functions in (("changed", changed), ("added", added)):
        for function in functions:
            targets = _find_targets(function, added_functions, callers_by_name)
            rows.append(_describe(function, change, targets))
    rows += [_describe(function, "removed", []) for function in removed]
    return sorted(rows, key=lambda row: (row["location"], row["function"]))


def _find_callers(functions):
    """List the functions that call each name (without scopes): a dict, with an empty list for other names."""
    callers_by_name = defaultdict(list)
    for caller in functions:
        for name in caller.calls:
            callers_by_name[name].append(caller)
    return callers_by_name


def _describe(function, change, targets):
    """Return a row (dict) of the result of :func:`changed_functions`."""
    return {
        "function": function.name,
        "change": change,
        "location": f"{function.path}:{function.line}",
        "targets": targets,
    }


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
        The same dicts with a further key ``in_verdict``: True if the function or one of its targets is among the
        names. Scopes of names are ignored.
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
            n_statements = sum(isinstance(part, ast.stmt) for part in parts)
            yield Function(
                path=path,
                line=inner.lineno,
                name=".".join([*scopes, inner.name]),
                parameters=(ast.dump(inner.args),),
                tokens=(ast.dump(inner),),
                calls=frozenset(map(_called_name, called_functions)),
                small=n_statements <= _MOST_STATEMENTS,
                local=False,
            )


def _called_name(node):
    """Return the name of a called function without scopes: ``read`` for ``file.read``; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _keep_tokens(tokens, reader):
    """Store the tokens of each function with lizard's description of the function (an extension of lizard).

    `all_tokens` are the tokens of the file. Those of the function begin at `first_token`, the first one of its head,
    and end before `end_token`.
    """
    all_tokens = []
    first_of_statement = 0
    for token in tokens:
        yield token  # lizard has processed it when the loop goes on
        all_tokens.append(token)
        description = vars(reader.context.current_function)
        description["all_tokens"] = all_tokens
        description.setdefault("first_token", first_of_statement)
        description["end_token"] = len(all_tokens)
        if token in _STATEMENT_ENDS:
            first_of_statement = len(all_tokens)


@functools.cache
def _make_parser():
    """Return lizard's analyzer of source files, which keeps the tokens of each function."""
    import lizard

    return lizard.FileAnalyzer([*lizard.get_extensions([]), _keep_tokens])


def _make_function(info, path):
    """Make a Function from lizard's description, with the tokens that :func:`_keep_tokens` has stored."""
    tokens = info.all_tokens[info.first_token : info.end_token]
    n_head = tokens.index("{") if "{" in tokens else len(tokens)
    head = tokens[:n_head]
    body = tokens[n_head:]
    # Languages without semicolons have about one statement per line, besides the head and the end of the function.
    n_statements = body.count(";") or info.nloc - 2
    name = re.sub(r" (?=\W)", "", info.name)  # without the blanks that lizard puts between tokens
    return Function(
        path=path,
        line=info.start_line,
        name=name,
        parameters=tuple(info.full_parameters),
        tokens=tuple(tokens),
        calls=frozenset(_CALL.findall(" ".join(body))),
        small=n_statements <= _MOST_STATEMENTS or "inline" in head,
        local="static" in head
        and "::" not in name,  # a static member of a class can be called from other files
    )


@dataclass(frozen=True)
class _Differences:
    """The functions (lists of Function) of one name that differ between two trees."""

    changed: list
    added: list
    removed: list


def _match(old_functions, new_functions):
    """Match the functions of one name in the old and the new tree, and return their _Differences.

    Equal functions are matched first. The others are matched with one of the same parameters, and then with any: these
    are changed. Functions without a match are added or removed.
    """
    old_left = list(old_functions)
    new_left = list(new_functions)
    changed = []
    for attribute in ("tokens", "parameters", "name"):
        for function in list(new_left):
            value = getattr(function, attribute)
            partner = next((other for other in old_left if getattr(other, attribute) == value), None)
            if partner is None:
                continue
            old_left.remove(partner)
            new_left.remove(function)
            if attribute != "tokens":
                changed.append(function)
    return _Differences(changed, added=new_left, removed=old_left)


def _find_targets(function, added_functions, callers_by_name):
    """Return the names of the functions to put regions around, so that a changed function is measured.

    A function is suitable if it is neither new nor small: a new one has no counts of the old version, and a small one
    is too short to be counted. The search goes from the function to its callers, and from each unsuitable caller to the
    callers of this one. It ends at functions that are suitable or have no callers.
    """
    targets = []
    reached = {function}
    waiting = [function]
    while waiting:
        current = waiting.pop(0)
        callers = [
            caller
            for caller in callers_by_name[_last_name(current.name)]
            if caller != current and (not current.local or caller.path == current.path)
        ]
        is_suitable = current not in added_functions and not current.small
        if is_suitable or not callers:
            targets.append(current.name)
        else:
            waiting += [caller for caller in callers if caller not in reached]
            reached.update(callers)
    return list(dict.fromkeys(targets)) or [function.name]
