"""Patterns of a package, and long strings built from each pattern's own pieces that a slow one takes ages to refuse."""

import ast
import contextlib
import importlib
import itertools
import pkgutil
import re
from collections import defaultdict
from pathlib import Path
from re import _compiler, _constants, _parser

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_ONE_CHARACTER = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN)
_LOOKS = (_constants.ASSERT, _constants.ASSERT_NOT)
_METHODS = ("match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split")
# Methods of pandas' Series.str, by what each does to every string.
_OF_PANDAS = {"extract": "search", "extractall": "findall", "contains": "search", "replace": "sub"}
_OF_PANDAS |= {"match": "match", "fullmatch": "fullmatch", "findall": "findall", "split": "split"}
_USUAL = "a0 .,:"  # characters that the sets of most patterns hold
_MOST_LITERALS = 4  # of a pattern that are preferred in turn
_END = "\n\0"  # no pattern ends with it


def collect_patterns(package):
    """The patterns of a package: a dict from (pattern, flags) to the set of (where, method) in which it is used."""
    uses = defaultdict(set)
    methods = defaultdict(
        set
    )  # by module and name of a pattern; of names that are not private, in all modules
    methods_of_fields = defaultdict(set)  # of patterns that are fields of a named tuple, by the field's name
    for file in sorted(Path(package.__path__[0]).rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if not isinstance(call.func, ast.Attribute):
                continue
            owner = call.func.value
            name = getattr(owner, "id", getattr(owner, "attr", None))
            methods[file.stem if str(name).startswith("_") else "", name].add(call.func.attr)
            if isinstance(owner, ast.Attribute):
                methods_of_fields[name].add(call.func.attr)
            constant = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
            if not isinstance(constant, str | bytes):
                continue
            where = f"{file.name}:{call.lineno}"
            if name == "re" and call.func.attr in _METHODS:
                flags = next((word.value for word in call.keywords if word.arg == "flags"), None)
                code = compile(ast.Expression(flags), "flags", "eval") if flags else "0"
                uses[constant, int(eval(code, {"re": re}))].add((where, call.func.attr))
            elif name == "str" and call.func.attr in _OF_PANDAS:
                with contextlib.suppress(re.error):
                    re.compile(constant)
                    uses[constant, 0].add((where, _OF_PANDAS[call.func.attr]))
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if module.name.endswith("__main__"):
            continue
        for name, value in list(vars(importlib.import_module(module.name)).items()):
            for field, pattern in _patterns_in(value):
                module_name = module.name.rpartition(".")[2] if name.startswith("_") else ""
                called = methods_of_fields[field] if field else methods[module_name, name]
                called = called & set(_METHODS) or {"search"}
                flags = pattern.flags & ~re.UNICODE
                uses[pattern.pattern, flags].update((f"{module.name}.{name}", method) for method in called)
    return uses


def _patterns_in(value, depth=2, field=None):
    """Yield (field of a named tuple that holds it or None, pattern) of the patterns in a value, also in containers."""
    if isinstance(value, re.Pattern):
        yield field, value
    elif not depth:
        return
    elif isinstance(value, dict):
        for inner in itertools.chain(value, value.values()):
            yield from _patterns_in(inner, depth - 1)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for inner_field, inner in value._asdict().items():
            yield from _patterns_in(inner, depth - 1, inner_field)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _patterns_in(inner, depth - 1)


def pump(pattern, flags, length):
    """Yield strings of about `length` characters, made of a pattern's own pieces, that it may take long to refuse.

    For each repetition in the pattern: what comes before it, a piece of it many times, and an end that fits nowhere;
    the piece alone, what comes before it alone, and both together, many times.
    """
    tree = _parser.parse(pattern, flags)
    literals = [chr(value) for op, value in _nodes(tree) if op is _constants.LITERAL]
    pieces = set()
    for prefer in [*_USUAL, *list(dict.fromkeys(literals))[:_MOST_LITERALS]]:
        sampler = _Sampler(tree.state, prefer)
        pieces |= set(sampler.repetitions(tree, ""))
    bodies = {(prefix, unit) for prefix, unit in pieces if unit}
    bodies |= {("", unit) for _, unit in bodies}
    bodies |= {("", prefix) for prefix, _ in pieces if prefix}
    bodies |= {("", prefix + unit) for prefix, unit in pieces if prefix}
    for prefix, unit in sorted(bodies):
        text = prefix + unit * (length // len(unit)) + _END
        yield text.encode("latin-1", "replace") if isinstance(pattern, bytes) else text


def _nodes(tree):
    """Yield the (operation, argument) pairs of a parsed pattern, at every depth."""
    for node in tree:
        yield node
        for inner in _inner(node):
            yield from _nodes(inner)


def _inner(node):
    """The sequences within a node."""
    operation, argument = node
    if operation in _REPEATS:
        return [argument[2]]
    if operation is _constants.SUBPATTERN:
        return [argument[3]]
    if operation is _constants.BRANCH:
        return argument[1]
    if operation is _constants.ATOMIC_GROUP:
        return [argument]
    if operation in _LOOKS:
        return [argument[1]]
    if operation is _constants.GROUPREF_EXISTS:
        return [part for part in argument[1:] if part is not None]
    return []


class _Sampler:
    """Samples of the texts that parts of a pattern match, in which sets give the preferred character if they can."""

    def __init__(self, state, prefer):
        self._state, self._prefer, self._groups = state, prefer, {}

    def sample(self, sequence):
        """A short text that a sequence of nodes matches; look-arounds and anchors are passed over."""
        return "".join(map(self._sample_node, sequence))

    def repetitions(self, sequence, prefix):
        """Yield (text before it, text of it once) of each long repetition in a sequence, at every depth."""
        for number, node in enumerate(sequence):
            before = prefix + self.sample(sequence[:number])
            if node[0] in _REPEATS and node[1][1] > 20:
                yield before, self.sample(node[1][2])
            for inner in _inner(node):
                yield from self.repetitions(inner, before)

    def _sample_node(self, node):
        operation, argument = node
        if operation in _ONE_CHARACTER:
            return self._sample_character(node)
        if operation in _REPEATS:
            return self.sample(argument[2]) * min(argument[0], 50)
        if operation is _constants.GROUPREF:
            return self._groups.get(argument, "")
        if operation in (_constants.AT, *_LOOKS):
            return ""
        inner = _inner(node)
        text = self.sample(inner[0]) if inner else ""
        if operation is _constants.SUBPATTERN:
            self._groups[argument[0]] = text
        return text

    def _sample_character(self, node):
        if node[0] is _constants.LITERAL:
            return chr(node[1])
        one = _compiler.compile(_parser.SubPattern(self._state, [node]), self._state.flags & ~re.DEBUG)
        encode = (lambda c: c.encode("latin-1")) if isinstance(self._state.str, bytes) else str
        characters = itertools.chain(self._prefer, _USUAL, map(chr, range(1, 0x250)))
        return next((c for c in characters if _fits(one, encode, c)), "")


def _fits(pattern, encode, character):
    """Whether a pattern matches this one character."""
    try:
        return pattern.fullmatch(encode(character)) is not None
    except (UnicodeEncodeError, TypeError):
        return False
