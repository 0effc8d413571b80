"""Gather the site's pages in one folder: python docs/site/assemble.py RESULTS TARGET

Texts keep their places, so that links between them stay as they are. Notebooks are taken as `cmlib run` executed them
for a profile, whose results are in RESULTS; one that was left out there is shown without outputs.
"""

import importlib
import inspect
import json
import re
import shutil
import sys
from pathlib import Path

from cmlib import places

ROOT = Path(__file__).resolve().parents[2]
TEXTS = (
    "docs/*.md",
    "docs/*.png",
    "docs/action/*",
    "data/*/README.md",
    "data/public/LICENSES/*",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
SECTIONS = {
    "Notebooks": ("notebooks/*",),
    "Studies": ("notebooks/studies/*",),
    "Guides": (
        "docs/record-for-the-notebooks",
        "docs/top-down",
        "docs/cost",
        "docs/cleaning-benchmark",
        "docs/import",
        "docs/public",
        "docs/running-services",
        "docs/summary",
        "docs/compare",
        "docs/compare-method",
        "docs/simulated-counts",
        "docs/commands",
        "docs/python",
        "docs/settings",
        "docs/answers",
        "docs/glossary",
        "docs/add-*",
        "docs/change-*",
        "data/*/README",
    ),
    "Reference": ("api", "CHANGELOG", "CONTRIBUTING", "SECURITY"),
}
# The packages in the order in which data pass them.
PACKAGES = (
    *("cmlib", "cmlib.io", "cmlib.collect", "cmlib.clean", "cmlib.merge", "cmlib.rank", "cmlib.interact"),
    *("cmlib.topdown", "cmlib.cost", "cmlib.fingerprint", "cmlib.anomaly", "cmlib.compress", "cmlib.tuning"),
)
# What notebooks share changes with them, and is no part of the reference.
FOR_NOTEBOOKS = ("cmlib.experiments", "cmlib.plot", "cmlib.explore", "cmlib.report")
REFERENCE = """# Functions

What one calls from Python. Arrays and frames go in, new ones come out; nothing is changed in place. A name is public if
it is in the `__all__` of its module; it then keeps its meaning from one minor version to the next. All others are
private, and change without notice; so do `cmlib.experiments`, `cmlib.plot`, `cmlib.explore` and `cmlib.report`, which
belong to the notebooks.
"""
NOT_RUN = "*This notebook was left out of the run that the site was built from: {reason}*"


def assemble(results, target):
    """Fill a new folder with everything that Sphinx reads."""
    shutil.rmtree(target, ignore_errors=True)
    for pattern in TEXTS:
        for file in sorted(ROOT.glob(pattern)):
            _write(target / file.relative_to(ROOT), file.read_bytes())
    (target / "docs/README.md").unlink()  # its lists are the site's navigation
    _write(target / "api.md", reference(REFERENCE, sorted(public_modules(), key=_place)).encode())
    for notebook in places.notebook_files().values():
        _write(target / notebook.relative_to(ROOT), _executed(notebook, results))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = readme.replace("](docs/README.md)", "](docs/commands.md)")
    lists = [_toctree(caption, _pages(patterns, target)) for caption, patterns in SECTIONS.items()]
    _write(target / "index.md", "\n\n".join([readme, *lists]).encode())


def public_modules():
    """Dotted names of the modules that have an `__all__`, without those of the notebooks."""
    return [name for name in _modules_with_all() if not name.startswith(FOR_NOTEBOOKS)]


def modules_of_notebooks():
    """Dotted names of the modules that have an `__all__` and belong to the notebooks."""
    return [name for name in _modules_with_all() if name.startswith(FOR_NOTEBOOKS)]


def _modules_with_all():
    files = sorted((ROOT / "cmlib").rglob("*.py"))
    public = [
        path for path in files if re.search(r"^(.+, )?__all__ = ", path.read_text(encoding="utf-8"), re.M)
    ]
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in public]
    return [".".join(part[:-1] if part[-1] == "__init__" else part) for part in parts]


def reference(text, modules):
    """A page with a section a module: its first sentence, and a list of its functions and classes."""
    for name in modules:
        module = importlib.import_module(name)
        things = {thing: getattr(module, thing) for thing in sorted(module.__all__)}
        callables = [
            thing for thing, value in things.items() if inspect.isroutine(value) or inspect.isclass(value)
        ]
        constants = [f"`{thing}`" for thing in things if thing not in callables]
        text += (
            f"\n## {name}\n\n{inspect.getdoc(module)}\n\n"
            + "```{eval-rst}\n.. autosummary::\n   :toctree: api\n\n"
        )
        text += "".join(f"   {name}.{thing}\n" for thing in callables) + "```\n"
        text += f"\nConstants: {', '.join(constants)}.\n" * bool(constants)
    return text


def _place(module):
    """By the package in the order above; what is in none, at the end."""
    within = [place for place, package in enumerate(PACKAGES) if f"{module}.".startswith(f"{package}.")]
    return (within[-1] if within[-1] or module == "cmlib" else len(PACKAGES), module)


def _executed(notebook, results):
    """The notebook with its outputs, its code folded."""
    kept = results / notebook.stem / notebook.name
    left_out = results / f"{notebook.stem}.not_run.json"
    content = json.loads((kept if kept.is_file() else notebook).read_text(encoding="utf-8"))
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["metadata"].setdefault("tags", []).append("hide-input")
    if not kept.is_file():
        told = json.loads(left_out.read_text(encoding="utf-8")) if left_out.is_file() else {}
        reason = NOT_RUN.format(reason=told.get("message", "not run yet"))
        note = {"cell_type": "markdown", "id": "left-out", "metadata": {}, "source": reason}
        content["cells"].insert(1, note)
    return json.dumps(content).encode()


def _pages(patterns, target):
    files = [
        file
        for pattern in patterns
        for file in sorted(target.glob(f"{pattern}.*"))
        if file.suffix in {".md", ".ipynb"}
    ]
    return [f"/{file.relative_to(target).with_suffix('').as_posix()}" for file in files]


def _toctree(caption, pages, *, hidden=True):
    options = [f":caption: {caption}"] * bool(caption) + [":hidden:"] * hidden
    return "\n".join(["```{toctree}", *options, "", *pages, "```", ""])


def _write(target, content):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]), Path(sys.argv[2]))
