"""A database's password that was given in a URL is found in nothing that is shown or kept."""

import hashlib

import pandas as pd
import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from cmlib import places, report
from cmlib.cli import main
from cmlib.io import store
from cmlib.io.store import urls
from cmlib.passwords import hide
from tests import databases, made_up
from tests.small_notebooks import saving, write_profile

SECRET = "hunter2secret"
URL = f"postgresql+psycopg://me:{SECRET}@127.0.0.1:1/counters"


def files_with(secret, folder):
    return [file for file in folder.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]


@pytest.mark.slow
def test_notebooks_find_the_password_in_their_environment_and_keep_it_nowhere(tmp_path, monkeypatch, capfd):
    """The first succeeds, the second fails with the URL in its message."""
    monkeypatch.setattr(places, "notebooks_dir", lambda: tmp_path / "notebooks")
    monkeypatch.setattr(places, "params_dir", lambda: tmp_path / "params")
    monkeypatch.setattr(store, "refresh", lambda url: None)
    monkeypatch.setattr(store, "refused", lambda url: pd.DataFrame(columns=["reason"]))
    digest = hashlib.sha256(SECRET.encode()).hexdigest()
    check = (
        "import hashlib, os\n"
        f"assert hashlib.sha256(os.environ['PGPASSWORD'].encode()).hexdigest() == '{digest}'\nprint(database)\n"
    )
    cells = {
        "01_good": check + saving("01_good", "r.finding(database)"),
        "02_bad": check + "raise ValueError(database)",
    }
    write_profile(tmp_path, cells, 'database: str = ""  # URL\n')
    with pytest.raises(report.NotebookError, match=r"me@127\.0\.0\.1:1/counters") as raised:
        report.run_profile("tiny", parameters={"database": URL, "jobs": 1}, results=tmp_path / "out")
    assert SECRET not in str(raised.value) and SECRET not in "".join(capfd.readouterr())
    assert "me@127.0.0.1" in (tmp_path / "out/tiny/02_bad.failed.ipynb").read_text()
    assert (tmp_path / "out/tiny/02_bad.failed.ipynb").is_file()
    assert files_with(SECRET, tmp_path) == []


@pytest.mark.parametrize(
    "given",
    [
        URL,
        URL.replace("psycopg", "no-such-driver"),
        URL.replace("postgresql+psycopg", "mysql"),
        URL.replace("://", "//"),
        URL.replace(f":{SECRET}@127.0.0.1:1/counters", f"@127.0.0.1:1/counters?password={SECRET}"),
        URL.replace(SECRET, f"x@{SECRET}"),
        URL.replace(SECRET, f": {SECRET}"),
        URL.replace(SECRET, f"[{SECRET}"),
        URL.replace(SECRET, f"\0{SECRET}"),
        f"[{URL}",
    ],
)
def test_no_message_shows_it(given, tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_RESULTS", str(tmp_path))
    for option in (f"database={given}", given, f"databse={given}", f"jobs={given}"):
        done = CliRunner().invoke(main, ["run", "smoke", "01", "-p", option])
        assert done.exit_code == 2 and "Error: " in done.stderr, done.output
        assert SECRET not in done.output and SECRET not in repr(done.exception)
    done = CliRunner().invoke(main, ["store", "rebuild", "--url", given])
    assert done.exit_code == 2 and SECRET not in done.output
    assert files_with(SECRET, tmp_path) == []


def test_a_url_is_taken_apart_and_put_together_again(monkeypatch):
    bare, password = store.without_password(URL.replace(SECRET, "p%40ss"))
    assert (bare, password) == (URL.replace(f":{SECRET}", ""), "p@ss")
    assert store.without_password("sqlite:///x.sqlite") == ("sqlite:///x.sqlite", "")
    assert store.without_password(None) == (None, "")
    monkeypatch.setenv("PGPASSWORD", "p@ss")
    whole = urls.with_password(bare)
    assert sa.make_url(whole).password == "p@ss" and "p@ss" not in repr(whole)
    assert urls.with_password("sqlite:///x.sqlite") == "sqlite:///x.sqlite"


def test_what_looks_like_no_url_stays_as_it_is():
    for text in ("no program 'a': there are b, c", "sqlite:///a.sqlite", "me@host", "tcp://127.0.0.1:8786"):
        assert hide(text) == text


@pytest.mark.needs("postgres")
def test_a_notebook_reads_a_server_that_asks_for_a_password(tmp_path, monkeypatch):
    made_up.record(tmp_path / "recordings", "wordcount", ["x", "y", "z"], "x")
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    with databases.server("postgres", tmp_path) as create:
        url = create()
        report.run_profile("smoke", ["01"], {"database": url}, results=tmp_path)
    assert (tmp_path / "smoke/01_collection/manifest.json").is_file()
    assert files_with(sa.make_url(url).password, tmp_path) == []
