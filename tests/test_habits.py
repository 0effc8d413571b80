"""Files for contributors and for services elsewhere name what is there."""

import importlib
import json
import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.needs import THINGS

ROOT = Path(__file__).resolve().parents[1]


def locked(file):
    return {re.split(r"==", line)[0] for line in (ROOT / file).read_text(encoding="utf-8").splitlines()}


def made_by_make():
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))


def test_ci_runs_what_contributors_can_run_with_pinned_actions():
    files = sorted((ROOT / ".github/workflows").glob("*.yml"))
    workflows = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
    steps = [step for workflow in workflows for job in workflow["jobs"].values() for step in job["steps"]]
    assert ".ci/run" in [step.get("run") for step in steps]
    assert all(
        os.access(ROOT / ".ci" / script, os.X_OK) for script in ("run", "with_postgres", "bare_systems")
    )
    used = [step["uses"] for step in steps if "uses" in step]
    assert used and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) for name in used)
    assert all(workflow["permissions"] == {"contents": "read"} for workflow in workflows)


def test_ci_installs_what_tests_need_beside_python():
    (packages,) = re.findall(r"^needed=\((.*)\)$", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.M)
    assert {name for _, hint in THINGS.values() for name in hint.split(";")[0].split()} <= set(
        packages.split()
    )


def test_what_contributors_and_containers_are_told_to_make_is_in_the_makefile():
    files = ("CONTRIBUTING.md", "README.md", ".devcontainer/devcontainer.json", ".ci/run")
    for file in (ROOT / name for name in files):
        wanted = set(re.findall(r"(?:`|^|&& )make ([a-z-]+)", file.read_text(encoding="utf-8"), re.M))
        assert wanted and wanted <= made_by_make(), file.name
    assert json.loads((ROOT / files[2]).read_text(encoding="utf-8"))["image"]


def test_hooks_name_files_that_are_there():
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert repo["repo"] == "local"  # nothing is downloaded
    for hook in repo["hooks"]:
        program, *rest = hook["entry"].split()
        assert program in {".venv/bin/ruff", ".venv/bin/python"}
        assert all((ROOT / word).exists() for word in rest if "/" in word)


def test_one_version_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == version
    assert f"## {version}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert importlib.import_module("cmlib").__version__ == version


@pytest.mark.parametrize("extra, file", [("dev", "requirements.lock"), ("docs", "docs/requirements.lock")])
def test_extras_are_locked(extra, file):
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[\[<>=]", need)[0].lower() for need in needs["optional-dependencies"][extra]}
    assert names <= locked(file) | locked("requirements.lock"), "make lock"


@pytest.mark.parametrize("file", ["requirements.lock", "docs/requirements.lock"])
def test_locked_packages_have_hashes_and_no_address(file):
    text = (ROOT / file).read_text(encoding="utf-8").replace("\\\n", " ")
    assert "://" not in text
    for requirement in text.splitlines():
        assert re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", requirement), requirement[:80]
