"""Public recordings: where they are taken from, what is refused, and what becomes of them."""

import functools
import gzip
import http.server
import json
import lzma
import os
import re
import subprocess
import sys
import threading
import urllib.parse

import pandas as pd
import pytest
from click.testing import CliRunner

from cmlib import places
from cmlib.cli import main
from cmlib.io import public
from cmlib.io.archive import digest, files
from cmlib.io.public import _read_file_list, import_programs, programs
from tests.processes import wait_until
from tests.soft_recordings import ROOT

SHIPPED = {"Apache-2.0", "BSD-3-Clause"}
ROWS = [
    f"{second}.000100200,{count},,{event},1000000,100.00,,"
    for second in range(1, 4)
    for count, event in [
        (700 + second, "instructions"),
        (500 + second, "cycles"),
        (9 * second, "branch-misses"),
    ]
]
FILES = {
    "intervals/few/a b.csv": "\n".join([*ROWS, ""]).encode(),
    "intervals/few/other.csv": "\n".join([*ROWS[:6], ""]).encode(),
}


@pytest.fixture
def few(tmp_path, monkeypatch):
    """A registry of one set of two files, of which none is here, and a cache that is empty."""
    folder = tmp_path / "registry"
    folder.mkdir()
    rows = [
        {
            "set": "few",
            "file": name,
            "bytes": len(raw),
            "sha256": digest(raw),
            "repository": "who/what",
            "commit": "c0ffee",
            "path": f"data/{name.rpartition('/')[2]}",
            "program": f"few{number}",
            "condition": "quiet" * number,
            "marks": "",
            "interval_ms": "",
        }
        for number, (name, raw) in enumerate(FILES.items())
    ]
    pd.DataFrame(rows).to_csv(folder / "files.csv", index=False)
    (folder / "sets.yaml").write_text("few: {licence: MIT, credit: Who, description: what}\n")
    monkeypatch.setattr(places, "shipped", lambda name: folder)
    monkeypatch.setattr(public, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("CMLIB_PUBLIC", raising=False)
    _read_file_list.cache_clear()
    yield tmp_path
    _read_file_list.cache_clear()


@pytest.fixture
def site(few, monkeypatch):
    """A server in place of the site; its folder, and what was asked of it."""
    folder, asked = few / "site", []
    for name, raw in FILES.items():
        file = folder / "who/what/c0ffee/data" / name.rpartition("/")[2]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(urllib.parse.unquote(self.path))

    made = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), made) as server:
        monkeypatch.setattr(public, "SITE", f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield folder, asked
        server.shutdown()


FETCHING = """
import sys
from pathlib import Path
from cmlib import places
from cmlib.io import public
places.shipped = lambda name: Path(sys.argv[1], "registry")
public.cache_dir = lambda: Path(sys.argv[1], "cache")
public.SITE = sys.argv[2]
public.fetch("few")
"""


@pytest.fixture
def slow_site():
    """A server that sends half of a file and then nothing more; its address."""
    ended = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.wfile.write(bytes(500_000))
            ended.wait()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        ended.set()
        server.shutdown()


def cmlib(*arguments):
    return CliRunner().invoke(main, arguments)


def test_every_set_is_described_and_every_file_has_its_place():
    sets, files = public.sets(), public.files()
    assert set(sets.index) == set(files["set"]) and not sets[["licence", "credit", "description"]].isna().any(
        axis=None
    )
    assert files["file"].is_unique and files["sha256"].str.fullmatch("[0-9a-f]{64}|").all()
    assert files["commit"].str.fullmatch("[0-9a-f]{40}").all()
    assert set(files["marks"]) - {""} <= set(files["file"])
    assert all(
        re.fullmatch(f"((intervals|wide|dialects)/)?{row.set}/.+", row.file) for row in files.itertuples()
    )


def test_what_comes_with_the_package_may_and_is_small_whole_and_listed():
    folder = places.shipped("public")
    shipped = {str(file.relative_to(folder)).removesuffix(".xz"): file for file in folder.rglob("*.xz")}
    licences = public.sets()["licence"]
    named = public.files().set_index("file").loc[list(shipped)]
    assert {licences[name] for name in named["set"]} == SHIPPED
    assert sum(file.stat().st_size for file in shipped.values()) < 3.6e6
    for name, file in shipped.items():
        raw = lzma.decompress(file.read_bytes())
        assert (digest(raw), len(raw)) == tuple(named.loc[name, ["sha256", "bytes"]])
    notice = (folder / "README.md").read_text()
    for name in set(named["set"]):
        assert f"`{name}`" in notice and licences[name] in notice
        assert all(repository in notice for repository in named["repository"][named["set"] == name])
    assert {file.name for file in (folder / "LICENSES").iterdir()} == set(
        re.findall(r"LICENSES/([\w.-]+\.txt)", notice)
    )


def test_fetched_files_are_kept_in_the_cache_and_fetched_once(few, site):
    _, asked = site
    done = cmlib("fetch", "few")
    assert done.exit_code == 0, done.output
    assert "few: 2 files, 2 fetched in " in done.output and "license: MIT" in done.output
    assert {name: (few / "cache" / name).read_bytes() for name in FILES} == FILES
    assert len(asked) == 2 and public.read("intervals/few/a b.csv") == FILES["intervals/few/a b.csv"]
    assert "few: 2 files, 0 fetched." in cmlib("fetch", "few").output and len(asked) == 2


def test_a_program_of_a_set_is_imported_once_with_its_origin(few, site):
    assert programs("few") == ["few0", "few1-quiet"]
    done = cmlib("fetch", "few", "--import", "few1-quiet")
    assert "cmlib run live -p program=few1-quiet" in done.output
    (meta,) = (few / "data/recordings/few1-quiet").glob("*.json")
    told = json.loads(meta.read_text())
    assert (told["condition"], told["note"]) == ("quiet", "who/what, data/other.csv")
    assert import_programs("few", ["all"]) == ["few0"] and import_programs("few", ["all"]) == []
    assert "few0: already recorded." in cmlib("fetch", "few", "--import", "few0").output
    refused = cmlib("fetch", "few", "--import", "few2")
    assert refused.exit_code == 2 and "it has few0, few1-quiet" in refused.output


@pytest.mark.parametrize("suffix, pack", [("", bytes), (".gz", gzip.compress)])
def test_a_folder_stands_in_for_the_site(few, monkeypatch, suffix, pack):
    for name, raw in FILES.items():
        file = few / "folder" / f"{name}{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pack(raw))
    monkeypatch.setenv("CMLIB_PUBLIC", str(few / "folder"))
    assert "few: 2 files, 0 fetched." in cmlib("fetch", "few").output
    assert public.read("intervals/few/other.csv") == FILES["intervals/few/other.csv"]
    file.write_bytes(pack(b"another"))
    with pytest.raises(public.PublicError, match="other.csv.* is not the file that was published"):
        public.read("intervals/few/other.csv")
    assert cmlib("fetch", "few").exit_code == 2


def test_notebooks_find_a_folder_that_was_named_from_where_the_run_began(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMLIB_PUBLIC", "folder")
    with places.export_environment(tmp_path / "results"):
        assert os.environ["CMLIB_PUBLIC"] == str(tmp_path / "folder")


def test_without_a_network_it_says_so_and_leaves_nothing(few, monkeypatch):
    monkeypatch.setattr(public, "SITE", "http://127.0.0.1:9")
    done = cmlib("fetch", "few")
    assert done.exit_code == 2 and "Traceback" not in done.output
    assert "a%20b.csv cannot be reached" in done.output and "set CMLIB_PUBLIC" in done.output
    assert not [file for file in few.joinpath("cache").rglob("*") if file.is_file()]


@pytest.mark.parametrize(
    "change, said", [("other", "is not the file that was published"), ("gone", "is not there")]
)
def test_what_is_not_what_was_published_is_refused_and_not_kept(few, site, change, said):
    folder, _ = site
    file = folder / "who/what/c0ffee/data/other.csv"
    file.write_bytes(b"another") if change == "other" else file.unlink()
    done = cmlib("fetch", "few")
    assert done.exit_code == 2 and said in done.output and "Traceback" not in done.output
    assert [file.name for file in (few / "cache").rglob("*") if file.is_file()] == ["a b.csv"]
    assert public.read("intervals/few/other.csv") is None


def test_a_file_without_a_hash_is_read_if_it_has_the_size(few, site, monkeypatch):
    listed = public.files().assign(sha256="")
    monkeypatch.setattr(public, "_read_file_list", lambda: listed)
    assert cmlib("fetch", "few").exit_code == 0 and public.read("intervals/few/other.csv")
    (file,) = (few / "cache").rglob("other.csv")
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(public.PublicError, match=r"its size \(270 bytes\)"):
        public.read("intervals/few/other.csv")
    file.unlink()
    monkeypatch.setattr(public, "_read_file_list", lambda: listed.assign(bytes=listed["bytes"] + 1))
    refused = cmlib("fetch", "few")
    assert (
        refused.exit_code == 2
        and "is not the file that was published" in refused.output
        and not file.exists()
    )


@pytest.mark.slow
def test_what_a_killed_fetch_left_is_removed_by_the_next(site, slow_site, few):
    cache = few / "cache"
    with subprocess.Popen([sys.executable, "-c", FETCHING, str(few), slow_site], cwd=ROOT) as fetching:
        assert wait_until(lambda: any(file.stat().st_size for file in cache.rglob("*") if file.is_file()))
        fetching.kill()
    (left,) = (file for file in cache.rglob("*") if file.is_file())
    assert left.parent.suffix == ".partial"
    public.fetch("few")
    assert {str(file.relative_to(cache)) for file in cache.rglob("*") if file.is_file()} == set(FILES)
    assert not list(cache.rglob("*.partial"))


def test_the_list_and_unknown_names(few):
    assert re.match(r"few: 2 files, \d+ bytes, license: MIT\n    what", cmlib("fetch", "--list").output)
    assert cmlib("fetch").exit_code == 2
    refused = cmlib("fetch", "many")
    assert refused.exit_code == 2 and "there are few" in refused.output


@pytest.mark.slow
def test_a_recording_that_marks_cut_becomes_a_program_a_mark(tmp_path, monkeypatch):
    second = public.files("a15-cbench").query("file.str.contains('list2-Run-1-2000000')")
    known = public.files()
    monkeypatch.setattr(public, "files", lambda name=None: second if name else known)
    made = import_programs("a15-cbench", ["cbench-2000MHz"], folder=tmp_path)
    assert len(made) == 30 and "cbench-automotive_qsort1-2000MHz" in made
    assert len(list((tmp_path / "cbench-bzip2d-2000MHz").glob("*.json"))) == 1
    assert import_programs("a15-cbench", ["cbench-2000MHz"], folder=tmp_path) == []


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_in_the_cache_is_refused_and_not_waited_for(few, put):
    place = few / "cache" / next(iter(FILES))
    place.parent.mkdir(parents=True)
    put(place)
    with pytest.raises(public.PublicError, match="it is not a regular file"):
        public.fetch("few")


def test_a_bomb_in_the_cache_is_refused_before_its_hash_is_taken(few, monkeypatch):
    monkeypatch.setattr(files, "_ALWAYS", 1 << 20)  # a mebibyte is what any file may unpack to
    place = few / "cache" / next(iter(FILES))
    place.parent.mkdir(parents=True)
    place.write_bytes(lzma.compress(bytes(2 << 20)))
    with pytest.raises(public.PublicError, match="unpack to more than"):
        public.read(next(iter(FILES)))
