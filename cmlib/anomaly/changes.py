"""Which functions a new version changed, and so where regions belong (AutoPerf, §3.1)."""

import ast
import itertools
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

_C_SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".ipp", ".inl")
SUFFIXES = {**dict.fromkeys(_C_SUFFIXES, "c"), ".py": "python"}
_MOST_STATEMENTS = 2  # of a small function
_C_TOKEN = re.compile(
    r"""(?P<skipped>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*|\s+)"""
    r"""|R"\((?:.*?)\)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\w+|::|->|[-+*/%&|^=!<>]=|<<|>>|\+\+|--|.""",
    re.DOTALL | re.MULTILINE,
)
# Words before a bracket that are no function's name.
_C_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "if for while switch catch return sizeof alignof decltype noexcept void int long short char bool float "
        "double unsigned signed auto alignas __attribute__ __declspec static_assert do else new delete throw",
    )
)
_CALL = re.compile(r"\b(\w+)(?: <[\w :,*&<>]*>)? \(")


@dataclass(frozen=True)
class Function:
    """A function of a source file: name with its scopes, tokens without comments, last names of what it calls;
    `small` if inline or of at most two statements, `local` if only its own file can call it."""

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
    """Functions of C, C++ and Python that were changed, added or removed between two source trees, a dict each:
    function, change, location, targets."""
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


def read_functions(tree):
    """All functions of a folder or file, lists by name; a ValueError if it holds no source."""
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
        text = path.read_text(encoding="utf-8", errors="replace")
        for function in functions_in(text, SUFFIXES[path.suffix.lower()], name):
            functions[function.name].append(function)
    return functions


def functions_in(source, language, path=""):
    """Functions defined in a source text; none in Python that can't be parsed."""
    if language == "c":
        return list(_functions_of_c(source, path))
    try:
        return list(_functions_of_python(ast.parse(source), path))
    except SyntaxError:
        return []


def _functions_of_python(node, path, scopes=()):
    for inner in ast.iter_child_nodes(node):
        named = isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from _functions_of_python(inner, path, (*scopes, inner.name) if named else scopes)
        if not named or isinstance(inner, ast.ClassDef):
            continue
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
            calls=frozenset(getattr(one, "attr", getattr(one, "id", "")) for one in called),
            small=sum(isinstance(part, ast.stmt) for part in parts) <= _MOST_STATEMENTS,
            local=False,
        )


def _functions_of_c(source, path):
    """By braces: what stands before one says whether a scope, a function or something else begins."""
    found = [match for match in _C_TOKEN.finditer(source) if match["skipped"] is None]
    tokens, scopes, head, at = [match[0] for match in found], [], 0, 0
    while at < len(tokens):
        if tokens[at] == "{":
            opened, end = _c_name(tokens[head:at]), _matching(tokens, at, "{", "}")
            if opened is None or end is None:
                scopes.append(_c_scope(tokens[head:at]))
            else:
                name, first = opened
                yield _c_function(tokens[head:end], name, first, at - head, scopes, path,
                                  source.count("\n", 0, found[head].start()) + 1)  # fmt: skip
                at = end - 1
        elif tokens[at] == "}" and scopes:
            scopes.pop()
        if tokens[at] in "{};" or (
            tokens[at] == ":" and tokens[at - 1] in ("public", "private", "protected")
        ):
            head = at + 1
        at += 1


def _c_name(head):
    """The name in a function's head, and where its parameters begin; None if it is none."""
    if "operator" in head:
        start = head.index("operator")
        first = next((i for i in range(start + 2, len(head)) if head[i] == "("), None)
        word = " " if head[start + 1].isalpha() else ""
        return first and ("operator" + word + "".join(head[start + 1 : first]), first)
    depth = 0
    for at, token in enumerate(head if "namespace" not in head else ()):
        if depth == 0 and token == "=":
            return None
        if depth == 0 and token == "(" and at and _is_c_name(head[at - 1]):
            start = at - 1
            while start > 0 and head[start - 1] in ("::", "~"):
                start -= 1 if head[start - 1] == "~" else 2
            return "".join(head[start:at]), at
        depth += (token == "(") - (token == ")")
    return None


def _is_c_name(token):
    return re.match(r"[A-Za-z_]\w*$", token) is not None and token not in _C_KEYWORDS


def _c_scope(head):
    """The name of a namespace or class; empty for what names nothing."""
    kinds = [at for at, token in enumerate(head) if token in ("namespace", "class", "struct", "union")]
    after = head[kinds[-1] + 1 :] if kinds else []
    brackets = itertools.pairwise([*after, ""])
    return next((token for token, behind in brackets if _is_c_name(token) and behind != "("), "")


def _c_function(tokens, name, first, body, scopes, path, line):
    inside = tokens[body:]
    return Function(
        path=path,
        line=line,
        name="::".join([*filter(None, scopes), name]),
        parameters=tuple(tokens[first : _matching(tokens, first, "(", ")")]),
        tokens=tuple(tokens),
        calls=frozenset(_CALL.findall(" ".join(inside))) - _C_KEYWORDS,
        small=inside.count(";") <= _MOST_STATEMENTS or "inline" in tokens[:body],
        local="static" in tokens[:body] and not any(scopes),
    )


def _matching(tokens, at, opening, closing):
    """Behind the bracket that closes the one at a place; None if none does."""
    depth = 0
    for end in range(at, len(tokens)):
        depth += (tokens[end] == opening) - (tokens[end] == closing)
        if not depth:
            return end + 1
    return None


def _match(before, after):
    """Functions of one name by what became of them; the same parameters go together, then any."""
    old, new, changed = list(before), list(after), []
    for alike in ("tokens", "parameters", "name"):
        for function in list(new):
            same = (one for one in old if getattr(one, alike) == getattr(function, alike))
            if (partner := next(same, None)) is not None:
                old.remove(partner)
                new.remove(function)
                changed += [function] if alike != "tokens" else []
    return {"changed": changed, "added": new, "removed": old}


def _targets(function, added, callers):
    """The function itself, or the nearest callers that are neither new nor small; itself if nobody calls it."""
    names, seen, waiting = [], {function}, [function]
    while waiting:
        at = waiting.pop(0)
        above = [one for one in callers[at.last_name] if one != at and (not at.local or one.path == at.path)]
        if (at not in added and not at.small) or not above:
            names.append(at.name)
            continue
        waiting += [caller for caller in above if caller not in seen]
        seen.update(above)
    return list(dict.fromkeys(names)) or [function.name]
