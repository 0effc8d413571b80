"""What `cmlib compare` says where the packages of its extra are not installed."""

import importlib.util
import sys

import pytest
from click.testing import CliRunner

from cmlib.cli import main
from cmlib.compare.machine_code import read_code
from cmlib.compare.source_changes import changed_functions
from cmlib.errors import CmlibError
from cmlib.io.string_instructions import is_string_instruction


@pytest.fixture(params=["capstone", "elftools", "lizard"])
def missing(request, monkeypatch):
    """The name of a module that cannot be found."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == request.param else find(name)
    )
    return request.param


def test_each_use_names_what_is_missing_and_how_to_install_it(missing, tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    return 1\n")
    for use in (
        lambda: read_code(sys.executable),
        lambda: is_string_instruction(sys.executable, 4096),
        lambda: changed_functions(tmp_path, tmp_path),
    ):
        with pytest.raises(CmlibError, match=rf"needs {missing}.*pip install \"cmlib\[compare\]\""):
            use()


def test_the_command_is_refused_without_a_traceback(missing, tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    return 1\n")
    sources = ["--old-source", str(tmp_path), "--new-source", str(tmp_path)]
    done = CliRunner().invoke(main, ["compare", *sources, "true", "true"])
    assert done.exit_code == 2 and "cmlib[compare]" in done.stderr and "Traceback" not in done.stderr
