"""CloudSuite's servers, or programs in their place, each with its load generator outside the count.

Each function takes `scale` (factor of the load) and `options` (not used), and is a context manager that yields a
LaunchSpec: the command of the load, and the numbers of the server's processes, which are counted. A ServerError if
a server does not start.
"""

import getpass
import os
import shlex
import shutil
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from cmlib.collect.record import LaunchSpec
from cmlib.collect.toolchain import run_tool
from cmlib_workloads.recipe import cached_input, compiled, scratch
from cmlib_workloads.server import Server, memcached
from cmlib_workloads.spark import generated

SOURCES = Path(__file__).parent / "src"
CACHE_PORT, _VIDEO_PORT, _SEARCH_PORT = 17211, 17080, 17081
_SECONDS = 12  # of load by wrk
# The first load is repeated until the second ends; if it fails before, so does all.
_BOTH = """
(while {first}; do :; done; exit 1) & repeated=$!
{second}; code=$?
kill $repeated || exit 1
exit $code
"""
# wrk ends with 0 whatever it was answered.
_CHECKED = (
    'output=$("$@") || exit 1; printf "%s\\n" "$output"; '
    '! printf "%s" "$output" | grep -E "Non-2xx|Socket errors" >&2'
)


@contextmanager
def datacaching(scale, options, *, port=CACHE_PORT, keys=400_000, seed=1):
    """Get memcached ready, filled with every key; the client is ours, and draws keys by Zipf's law.

    Yields a LaunchSpec (the command, and the processes to count); `scale` is the factor of its requests, `options`
    are not used. `port` is the server's, `keys` their number, `seed` that of the client's draws.
    """
    client, connections = compiled(SOURCES / "zipf_client.c", "-lm"), 16
    with (
        scratch("datacaching") as folder,
        memcached(folder, port, megabytes=1024, threads=2) as server,
    ):
        run_tool([client, "fill", port, keys, keys, connections, seed], timeout=300)
        load = [client, "load", port, keys, round(1_200_000 * scale), connections, seed]
        yield LaunchSpec(list(map(str, load)), server.pids)


@contextmanager
def dataserving(scale, options):
    """Get a filled database ready, each time the same one: RocksDB's own benchmark, reads and writes in halves.

    Yields a LaunchSpec with the command of the benchmark, which itself is counted. `scale` is the factor of its
    operations, `options` are not used.
    """
    keys = 1_000_000
    filled = cached_input(
        "rocksdb", lambda path: run_tool(_db_bench(path, keys, "fillrandom,compact"), timeout=900), keys=keys
    )
    operations = max(1, round(450_000 * scale))
    with scratch("dataserving") as folder:
        database = folder / "database"
        shutil.copytree(filled, database, copy_function=_link_or_copy)
        mixed = ["--use_existing_db=1", "--threads=2", "--readwritepercent=50", "--read_random_exp_range=15"]
        command = _db_bench(database, keys, "readrandomwriterandom")
        yield LaunchSpec([*command, *mixed, f"--reads={operations}"])


def _db_bench(database, keys, benchmarks):
    """Command of RocksDB's benchmark."""
    return [
        *("db_bench", f"--db={database}", f"--benchmarks={benchmarks}", f"--num={keys}", "--value_size=1000"),
        *("--compression_ratio=0.5", "--seed=1", "--cache_size=67108864", "--max_background_jobs=1"),
    ]


def _link_or_copy(source, target):
    """RocksDB never changes a table that is written, only removes it; all else is copied."""
    if source.endswith(".sst"):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


@contextmanager
def mediastreaming(scale, options):
    """Get nginx ready, which hands out ranges of forty videos.

    Yields a LaunchSpec (the command of the load, and the processes to count); `scale` is the factor of the load's
    time, `options` are not used.
    """
    films = cached_input("videos", _make_films, videos=40, filter=_scene(0))
    with scratch("mediastreaming") as folder:
        listing = folder / "videos.txt"
        files = sorted(films.iterdir())
        listing.write_text("".join(f"{file.name} {file.stat().st_size}\n" for file in files))
        command = nginx(folder, _VIDEO_PORT, f"root {films};")
        with Server("nginx", command, folder / "nginx.log", port=_VIDEO_PORT) as server:
            url = f"http://127.0.0.1:{_VIDEO_PORT}"
            yield LaunchSpec(wrk("ranges.lua", url, _SECONDS * scale, arguments=[str(listing)]), server.pids)


def _make_films(path):
    """Encode forty videos of six seconds into a new folder."""
    path.mkdir()
    for number in range(40):
        encoded = ["-c:v", "libx264", "-preset", "ultrafast", "-threads", "1"]
        source = ["-f", "lavfi", "-i", _scene(number), "-t", "6"]
        run_tool(["ffmpeg", "-v", "error", *source, *encoded, path / f"video-{number:02d}.mp4"], timeout=120)


def _scene(seed):
    """ffmpeg's description of a moving test picture with noise."""
    return f"testsrc2=size=640x360:rate=25,noise=alls=25:allf=t:all_seed={seed}"


@contextmanager
def websearch(scale, options):
    """Get Lucene, Solr's engine, ready behind a small HTTP server, its code compiled by a second of searches.

    Yields a LaunchSpec (the command, and the processes to count); `scale` is the factor of the load's time,
    `options` are not used.
    """
    source = SOURCES / "SearchServer.java"
    lucene = "/usr/share/java/lucene-core-8.7.0.jar:/usr/share/java/lucene-analyzers-common-8.7.0.jar"
    classes = cached_input(
        "search_server",
        lambda path: run_tool(["javac", "-cp", lucene, "-d", path, source]),
        source=source.read_text(encoding="utf-8"),
    )
    options = ["-Xmx1g", "-Dsun.net.httpserver.nodelay=true", "-cp", f"{classes}:{lucene}"]
    java = ["java", *options, "SearchServer"]
    texts = generated("documents", 200_000)
    index = cached_input(
        "index", lambda path: run_tool([*java, "index", path, texts], timeout=600), texts=texts.name
    )
    url = f"http://127.0.0.1:{_SEARCH_PORT}"
    with scratch("websearch") as folder:
        how = {"port": _SEARCH_PORT, "ready": lambda: answers(f"{url}/search?q=w1+w20")}
        command = [*java, "serve", index, _SEARCH_PORT]
        server = Server("the search server", command, folder / "server.log", **how)
        with server:
            run_tool(wrk("terms.lua", url, 1), timeout=60)
            yield LaunchSpec(wrk("terms.lua", url, _SECONDS * scale), server.pids)


@contextmanager
def together(first, second, scale, options):
    """Get two servers ready, counted together while both have their load, as CounterMiner's Fig. 16 has them.

    `first` and `second` are functions such as :func:`datacaching`; `scale` is given to both, `options` to the
    second one. Yields a LaunchSpec (the command, and the processes to count): the first load is repeated until the
    second ends.
    """
    with first(scale, {}) as one, second(scale, options) as other:
        script = _BOTH.format(first=shlex.join(one.command), second=shlex.join(other.command))
        environment = {**one.environment, **other.environment}
        yield LaunchSpec(["/bin/sh", "-c", script], (*one.pids, *other.pids), environment)


def wrk(script, url, seconds, *, connections=8, arguments=()):
    """Command line (list of str) of wrk, a load generator for HTTP, for at least a second, with a Lua script of ours.

    It fails if any answer is an error. `script` is the script's file name, `url` that of the server, `arguments`
    are the script's; `seconds` is how long it lasts [s], `connections` how many are open.
    """
    how = f"-t1 -c{connections} -d{max(1, round(seconds))}s --timeout 30s -s"
    command = ["wrk", *how.split(), str(SOURCES / script), url]
    return ["/bin/sh", "-c", _CHECKED, "load", *command, *(["--", *arguments] if arguments else [])]


def nginx(folder, port, site):
    """Write nginx's configuration for one site, and return the command (list of str) that starts it.

    `folder` (Path) is for its files, `port` that of 127.0.0.1, `site` text for the server's block.
    """
    user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    file = folder / "nginx.conf"
    file.write_text(
        f"{user}\ndaemon off;\nworker_processes 2;\npid {folder}/nginx.pid;\nerror_log stderr;\n"
        f"events {{ worker_connections 256; }}\nhttp {{\n{places}\naccess_log off;\nsendfile on;\n"
        f"keepalive_requests 1000000;\nserver {{\nlisten 127.0.0.1:{port};\n{site}\n}}\n}}\n",
        encoding="utf-8",
    )
    return ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(file)]


def answers(url):
    """True if a page (`url`) is there, False if the server refuses it; an OSError if there is no server."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status == 200
    except urllib.error.HTTPError:
        return False
