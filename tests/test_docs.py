"""What the documentation names is there: pages, files, functions, commands and their options."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from cmlib import places
from cmlib.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "data").rglob("README.md")),
]


def name(page):
    return str(page.relative_to(ROOT))


def resolves(dotted):
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[n:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


def test_the_readme_links_to_every_notebook():
    contents = (ROOT / "README.md").read_text(encoding="utf-8")
    for notebook in places.notebook_files().values():
        link = notebook.relative_to(ROOT).as_posix()
        assert f"]({link})" in contents, f"README.md does not link to {link}"


def test_every_page_is_in_the_contents_of_the_site():
    text = (ROOT / "docs/site/assemble.py").read_text(encoding="utf-8")
    patterns = re.findall(r'"(docs/[^".]+)"', text)
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name != "README.md"]
    for page in pages:
        assert any(page.with_suffix("").match(pattern) for pattern in patterns), (
            f"the site lacks {name(page)}"
        )


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_names_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert re.match(r"https?://", link) or (page.parent / link).exists(), f"{link} is not there"
    for dotted in re.findall(r"`(cmlib(?:\.\w+)+)\b", text):
        assert resolves(dotted), f"{dotted} is not there"
    for path in re.findall(r"`((?:cmlib|tests|notebooks|benchmarks|params)/[\w./]*)`", text):
        assert (ROOT / path).exists(), f"{path} is not there"


def _command(group, word):
    return group.get_command(None, word) if word in group.list_commands(None) else None


def _options(group):
    """The options of all commands of a group."""
    for word in group.list_commands(None):
        command = group.get_command(None, word)
        yield from _options(command) if hasattr(command, "list_commands") else ()
        yield from (option for parameter in command.params for option in parameter.opts)


# Of perf, Valgrind, Google's benchmark library, and of the programs in examples.
OTHERS = {
    "--details",
    "--append",
    "--perf",
    "--per-thread",
    "--for-each-cgroup",
    "--topdown",
    "--metric-only",
    "--size",
}
OTHERS |= {"--cache-sim", "--branch-sim", "--dump-every-bb", "--dump-instr", "--collect-jumps"}
OTHERS |= {"--separate-threads"}
OTHERS |= {"--benchmark_perf_counters", "--benchmark_format", "--benchmark_out", "--per-…", "--cap-add"}
OTHERS |= {"--per-core", "--summary", "--state", "--format", "--benchmark_report_aggregates_only"}


def test_messages_and_help_name_options_that_exist():
    """Strings with a blank are sentences; what other programs are started with has none."""
    known = {*_options(main), "--help", "--version"} | OTHERS
    wrong = []
    for file in sorted((ROOT / "cmlib").rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        if not re.search(r"(?<![\w-])--[a-z]", source):  # most files, which need not be parsed
            continue
        for node in ast.walk(ast.parse(source)):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            options = re.findall(r"(?<![\w-])--[a-z][\w…-]*", text) if " " in text.strip() else ()
            wrong += [f"{file.name}:{node.lineno}: {option}" for option in options if option not in known]
    assert not wrong, wrong


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_and_options_exist(page):
    for line in re.findall(r"cmlib ([a-z][^`\n|]*)", page.read_text(encoding="utf-8")):
        words = line.split(" -- ")[0].split("#")[0].split()
        command = main
        while words and hasattr(command, "get_command") and (found := _command(command, words[0])):
            command = found
            words.pop(0)
        if command is not main:
            known = {option for parameter in command.params for option in parameter.opts}
            for option in (word.rstrip(".,;:)") for word in words if word.startswith("-")):
                assert option in known or option in {"-h", "--help"}, f"cmlib {line}: no option {option}"
