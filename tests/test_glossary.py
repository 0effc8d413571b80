"""What users read keeps to docs/glossary.md: pages, notebooks, help, messages, docstrings, templates."""

import ast
import functools
import re
from pathlib import Path

import jupytext

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "docs/glossary.md"
PAGES = ("*.md", "docs/*.md", "data/*/README.md", "cmlib/**/*.j2", "params/**/*.yaml", "data/papers/*.yaml")


def rows():
    for line in GLOSSARY.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| term"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


@functools.cache
def avoided():
    """One pattern of all that is in the last column."""
    phrases = {phrase for *_, last in rows() for phrase in re.findall(r'"([^"]+)"', last)}
    assert len(phrases) > 15
    words = (re.escape(phrase).replace(r"\ ", r"\s+") for phrase in sorted(phrases))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(words)})(?![\w-])", re.IGNORECASE)


def strings(source):
    """Docstrings, messages, captions and help: all strings of a program that hold a space, and where."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def texts():
    """Every text that users read, with its place."""
    for pattern in PAGES:
        for file in ROOT.glob(pattern):
            text = file.read_text(encoding="utf-8")
            if file.name == "CHANGELOG.md":  # which quotes the names that columns had
                text = re.sub(r"`[^`]*`", "", text)
            if file != GLOSSARY:
                yield file.name, text
    for file in (ROOT / "cmlib").rglob("*.py"):
        for line, text in strings(file.read_text(encoding="utf-8")):
            yield f"{file.relative_to(ROOT)}:{line}", text
    for file in (ROOT / "notebooks").glob("*.py"):
        for number, cell in enumerate(jupytext.read(file).cells):
            where = f"{file.name}, cell {number}"
            if cell.cell_type == "markdown":
                yield where, cell.source
            else:
                yield from ((where, text) for _, text in strings(cell.source))


def test_text_keeps_to_the_glossary():
    wrong = [f"{where}: {match[0]!r}" for where, text in texts() for match in avoided().finditer(text)]
    assert not wrong, "docs/glossary.md says what to write instead:\n" + "\n".join(wrong)


def test_abbreviations_are_defined():
    meanings = {
        "OCOE": "one counter, one event",
        "MLPX": "multiplex",
        "EIR": "event importance refinement",
        "IPC": "instructions per cycle",
    }
    for short, meaning in meanings.items():
        assert any(short in row[0] and meaning in row[1].lower() for row in rows()), short


def identifiers(source):
    """Names that a program gives: of functions, arguments and variables."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


# Of what names say, nothing: they stand for anything, alone or as a part of a name.
SAYING_NOTHING = {"one", "own", "how", "found", "given"}
TOLD = {"say", "says", "said", "told", "kept", "beside", "foretold"}
METHODS = (
    "anomaly clean compress cost experiments explore fingerprint interact merge plot rank topdown tuning"
)


def test_identifiers_are_words_of_the_field():
    wrong = []
    for file in (ROOT / "cmlib").rglob("*.py"):
        place = file.relative_to(ROOT / "cmlib").as_posix()
        of_methods = place.startswith(tuple(METHODS.split()))
        for line, name in identifiers(file.read_text(encoding="utf-8")):
            says_nothing = name in SAYING_NOTHING
            if says_nothing or (of_methods and TOLD & set(name.lower().split("_"))):
                wrong.append(f"cmlib/{place}:{line}: {name}")
    assert not wrong, "name what they hold or do:\n" + "\n".join(wrong)
