"""Which functions a new version changed, and so where regions belong (AutoPerf, §3.1)."""

import functools
import importlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cmlib.errors import CmlibError

SUFFIXES = {
    **dict.fromkeys((".c",), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".ipp", ".inl"), "cpp"),
    **dict.fromkeys((".py",), "python"),
}
_SCOPES = {
    "namespace_definition",
    "class_specifier",
    "struct_specifier",
    "class_definition",
    "function_definition",
}
_SMALL = 2


@dataclass(frozen=True)
class Function:
    """A function as it stands in a source file.

    Attributes
    ----------
    path : str
        Relative to the tree's root.
    line : int
    name : str
        With its namespaces and classes.
    parameters : tuple of str
        Tokens of the parameter list.
    tokens : tuple of str
        All of its tokens, without comments and docstrings.
    calls : frozenset of str
        Last names of what it calls.
    small : bool
        Inline, or of at most two statements.
    local : bool
        Static in its file, so that only functions there can call it.
    """

    path: str
    line: int
    name: str
    parameters: tuple[str, ...]
    tokens: tuple[str, ...]
    calls: frozenset[str]
    small: bool
    local: bool

    @property
    def last_name(self):
        return self.name.replace("::", ".").rsplit(".", 1)[-1]


def changed_functions(old, new):
    """Functions of C, C++ and Python that were changed, added or removed between two source trees.

    Functions are matched by name, then by parameters; layout, comments, docstrings and moves between files
    are no changes. Where a function is new, or a small wrapper, regions belong into its callers: into theirs
    in turn, as long as those are new or small too.

    Parameters
    ----------
    old, new : path-like
        Folders, or single files.

    Returns
    -------
    DataFrame
        Columns function, change ("changed", "added", "removed"), small, location (path:line; of the old tree
        if removed), and targets: tuple of the functions to annotate, empty for removed ones.

    Raises
    ------
    ValueError
        If one of the two isn't there, or holds no source file.
    CmlibError
        If the packages of the extra ``sources`` are not installed.
    """
    before, after = read_functions(old), read_functions(new)
    callers = _callers(after)
    pairs = [(name, _match(before[name], after[name])) for name in {**after, **before}]
    added = {function for _, (_, new_ones, _) in pairs for function in new_ones}
    rows = []
    for name, (changed, new_ones, removed) in pairs:
        for change, functions in (("changed", changed), ("added", new_ones), ("removed", removed)):
            for function in functions:
                targets = () if change == "removed" else _targets(function, added, callers)
                place = f"{function.path}:{function.line}"
                rows.append((name, change, function.small, place, targets))
    frame = pd.DataFrame(rows, columns=["function", "change", "small", "location", "targets"])
    return frame.sort_values(["location", "function"], ignore_index=True)


def read_functions(tree):
    """All functions of a source tree.

    Parameters
    ----------
    tree : path-like
        Folder, or single file.

    Returns
    -------
    dict of str to list of Function
        By name; empty for unknown names.

    Raises
    ------
    ValueError
        If it isn't there, or holds no source file.
    """
    root = Path(tree)
    files = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
    sources = [path for path in files if path.suffix.lower() in SUFFIXES]
    if not sources:
        raise ValueError(
            f"{root}: no C, C++ or Python source there; give a folder or a file with one of {list(SUFFIXES)}"
        )
    functions = defaultdict(list)
    for path in sources:
        name = path.name if path == root else path.relative_to(root).as_posix()
        for function in functions_in(path.read_bytes(), SUFFIXES[path.suffix.lower()], name):
            functions[function.name].append(function)
    return functions


def functions_in(source, language, path=""):
    """Functions defined in a source text.

    Parameters
    ----------
    source : bytes
    language : {"c", "cpp", "python"}
    path : str
        Noted in the functions.

    Returns
    -------
    list of Function
        In the order of their definitions. What the grammar can't read is passed over.
    """
    functions = []
    for node in _walk(_parser(language).parse(source).root_node):
        if node.type == "function_definition" and (head := _head(node)) is not None:
            functions.append(_function(node, *head, path))
    return functions


@functools.cache
def _parser(language):
    try:
        tree_sitter, grammar = map(importlib.import_module, ("tree_sitter", f"tree_sitter_{language}"))
    except ModuleNotFoundError as error:
        raise CmlibError(
            f"{error.name} is not installed, which reads source files: pip install 'cmlib[sources]'"
        ) from error
    return tree_sitter.Parser(tree_sitter.Language(grammar.language()))


def _function(node, name, parameters, path):
    separator = "::" if node.child_by_field_name("declarator") else "."
    scopes = []
    outer = node.parent
    while outer is not None:
        if outer.type in _SCOPES and (scope := _name(outer)):
            scopes.append(scope)
        outer = outer.parent
    body = node.child_by_field_name("body")
    inside = list(_walk(body))
    statements = [
        part for part in inside if part.type.endswith(("_statement", "declaration")) and not _is_frame(part)
    ]
    called = (
        part.child_by_field_name("function") for part in inside if part.type in {"call_expression", "call"}
    )
    specifiers = {child.text for child in node.children if child.type == "storage_class_specifier"}
    return Function(
        path=path,
        line=node.start_point[0] + 1,
        name=separator.join([*reversed(scopes), name]),
        parameters=_tokens(parameters),
        tokens=_tokens(node.parent if node.parent.type == "decorated_definition" else node),
        calls=frozenset(_last_identifier(part) for part in called if part is not None),
        small=len(statements) <= _SMALL or b"inline" in specifiers,
        local=b"static" in specifiers and not scopes,
    )


def _head(node):
    """Name and parameter list of a definition, or None where the grammar made out none."""
    if named := node.child_by_field_name("name"):
        return named.text.decode(errors="replace"), node.child_by_field_name("parameters")
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        inner = declarator.child_by_field_name("declarator")
        declarator = inner or next(
            (c for c in declarator.named_children if c.type.endswith("declarator")), None
        )
    if declarator is None or node.child_by_field_name("body") is None:
        return None
    name = declarator.child_by_field_name("declarator").text.decode(errors="replace")
    return name, declarator.child_by_field_name("parameters")


def _name(node):
    head = _head(node) if node.type == "function_definition" else None
    named = node.child_by_field_name("name")
    return head[0] if head else named.text.decode(errors="replace") if named else None


def _walk(node):
    """A node and all below, from first to last."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _tokens(node):
    return tuple(_leaves(node)) if node is not None else ()


def _leaves(node):
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.type == "comment" or _is_docstring(node):
            continue
        if node.children:
            waiting.extend(reversed(node.children))
        elif node.text.strip():
            yield node.text.decode(errors="replace")


def _is_docstring(node):
    return node.type == "expression_statement" and [child.type for child in node.children] == ["string"]


def _is_frame(node):
    return node.type == "compound_statement" or _is_docstring(node)


def _last_identifier(node):
    names = [part for part in _walk(node) if part.type.endswith("identifier") and not part.children]
    # The arguments of a template stand after its name.
    outside = [part for part in names if not _within(part, "template_argument_list", node)]
    return outside[-1].text.decode(errors="replace") if outside else ""


def _within(part, kind, limit):
    while part is not None and part != limit:
        if part.type == kind:
            return True
        part = part.parent
    return False


def _match(before, after):
    """Functions of one name: (changed, added, removed)."""
    unchanged = Counter(function.tokens for function in before) & Counter(
        function.tokens for function in after
    )
    old, new = _without(before, unchanged), _without(after, unchanged)
    changed = []
    for same in (lambda a, b: a.parameters == b.parameters, lambda a, b: True):
        for function in list(new):
            if (partner := next((other for other in old if same(other, function)), None)) is not None:
                old.remove(partner)
                new.remove(function)
                changed.append(function)
    return changed, new, old


def _without(functions, unchanged):
    left, rest = Counter(unchanged), []
    for function in functions:
        if left[function.tokens]:
            left[function.tokens] -= 1
        else:
            rest.append(function)
    return rest


def _callers(functions):
    callers = defaultdict(list)
    for same_name in functions.values():
        for function in same_name:
            for called in function.calls:
                callers[called].append(function)
    return callers


def _targets(function, added, callers):
    """The function itself, or the nearest callers that are neither new nor small; itself if nobody calls it."""
    names, seen, waiting = [], {function}, [function]
    while waiting:
        at = waiting.pop(0)
        named = [caller for caller in callers[at.last_name] if caller != at]
        above = [caller for caller in named if not at.local or caller.path == at.path]
        if (at not in added and not at.small) or not above:
            names.append(at.name)
            continue
        waiting += [caller for caller in above if caller not in seen]
        seen.update(above)
    return tuple(dict.fromkeys(names)) or (function.name,)
