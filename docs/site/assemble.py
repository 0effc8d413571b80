"""Gather the site's pages in one folder: python docs/site/assemble.py RESULTS TARGET

Texts keep their places, so that links between them stay as they are. Notebooks are taken as `cmlib run` executed them
for a profile, whose results are in RESULTS; one that was left out there is shown without outputs.
"""

import json
import shutil
import sys
from pathlib import Path

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
        "docs/simulated-counts",
        "docs/commands",
        "docs/settings",
        "docs/answers",
        "docs/glossary",
        "docs/add-*",
        "docs/change-*",
        "data/*/README",
    ),
    "Reference": ("api", "CHANGELOG", "CONTRIBUTING", "SECURITY"),
}
NOT_RUN = "*This notebook was left out of the run that the site was built from: {reason}*"


def assemble(results, target):
    """Fill a new folder with everything that Sphinx reads."""
    shutil.rmtree(target, ignore_errors=True)
    for pattern in TEXTS:
        for file in sorted(ROOT.glob(pattern)):
            _write(target / file.relative_to(ROOT), file.read_bytes())
    (target / "docs/README.md").unlink()  # its lists are the site's navigation
    _write(target / "api.md", Path(__file__).with_name("api.md").read_bytes())
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        _write(target / "notebooks" / notebook.name, _executed(notebook, results))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = readme.replace("](docs/README.md)", "](docs/commands.md)")
    lists = [_toctree(caption, _pages(patterns, target)) for caption, patterns in SECTIONS.items()]
    _write(target / "index.md", "\n\n".join([readme, *lists]).encode())


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
