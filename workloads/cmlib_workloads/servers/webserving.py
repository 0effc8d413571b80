"""WebServing: MediaWiki on nginx, PHP-FPM, MariaDB and memcached.

:func:`webserving` is a context manager that yields a LaunchSpec: the command of the load, and the servers'
processes. A ServerError if a server does not start.
"""

import getpass
import os
import random
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cmlib.collect.record import LaunchSpec
from cmlib.collect.toolchain import run_tool
from cmlib_workloads import servers
from cmlib_workloads.recipe import cached_input, scratch
from cmlib_workloads.server import Server, ServerError, memcached

_PORT = 17082
_SECONDS, _PAGES, _SEED = 12, 200, 1
_WIKI = Path("/usr/share/mediawiki")


@contextmanager
def webserving(scale, options):
    """Get the wiki's four servers ready, with its pages in them and two seconds of visits behind them.

    `scale` is the factor of the load's time, `options` are not used. Yields a LaunchSpec (the command, and the
    processes to count); a ServerError if a server does not start.
    """
    filled = cached_input("wiki", _fill, pages=_PAGES, seed=_SEED)
    with ExitStack() as stack:
        folder = stack.enter_context(scratch("wiki"))
        shutil.copytree(filled, folder / "database")
        database = stack.enter_context(_database(folder))
        cache = stack.enter_context(memcached(folder, _PORT + 1, megabytes=256, threads=1))
        php = stack.enter_context(_php(folder))
        nginx = stack.enter_context(_nginx(folder))
        url = f"http://127.0.0.1:{_PORT}"
        run_tool(servers.wrk("wiki.lua", url, 2), timeout=60)
        pids = tuple(pid for server in (database, cache, php, nginx) for pid in server.pids)
        yield LaunchSpec(servers.wrk("wiki.lua", url, _SECONDS * scale, connections=4), pids)


def _fill(path):
    """Make the database: an empty one, the wiki's tables, its pages."""
    with scratch("wiki-made") as folder, ExitStack() as stack:
        data = folder / "database"
        tables = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        run_tool(["mariadb-install-db", "--no-defaults", f"--datadir={data}", *_as_root(), *tables])
        stack.enter_context(_database(folder))
        stack.enter_context(memcached(folder, _PORT + 1, megabytes=256, threads=1))
        socket = folder / "mariadb.sock"
        grant = "CREATE USER wiki@localhost IDENTIFIED BY 'wiki'; GRANT ALL ON *.* TO wiki@localhost;"
        run_tool(["mariadb", "--no-defaults", f"--socket={socket}", "-u", "root", "-e", grant])
        database = (
            f"--dbtype mysql --dbserver localhost:{socket} --dbname wiki --dbuser wiki --dbpass wiki".split()
        )
        account = ["--pass", "a-long-password-1", "--confpath", folder, "Wiki", "Admin"]
        run_tool(["php", _WIKI / "maintenance/install.php", *database, *account], timeout=300)
        texts = folder / "texts"
        texts.mkdir()
        for number, text in enumerate(_texts(), start=1):
            (texts / f"Page_{number}.txt").write_text(text)
        load = ["php", _WIKI / "maintenance/importTextFiles.php", "--overwrite", *sorted(texts.iterdir())]
        run_tool(load, env=os.environ | _variables(folder), timeout=600)
        stack.close()
        shutil.copytree(data, path)


def _texts():
    """Pages of 300 words by Zipf's law, with headings, links to other pages, and a table."""
    drawn = random.Random(_SEED)
    words = [f"w{rank}" for rank in range(1, 5001)]
    weights = [1 / rank for rank in range(1, 5001)]
    for _ in range(_PAGES):
        paragraphs = [" ".join(drawn.choices(words, weights, k=60)) for _ in range(5)]
        links = " ".join(f"[[Page {drawn.randint(1, _PAGES)}]]" for _ in range(10))
        rows = "\n|-\n".join(f"| {drawn.randint(0, 999)} || '''{drawn.choice(words)}'''" for _ in range(20))
        yield (
            "\n\n".join(f"== Part {i} ==\n{text}" for i, text in enumerate(paragraphs))
            + f"\n\n{links}\n\n{{|\n{rows}\n|}}\n"
        )


def _database(folder):
    """MariaDB on the data in a folder, as a Server."""
    socket, data = folder / "mariadb.sock", folder / "database"
    options = ["--skip-networking", f"--pid-file={folder}/mariadb.pid", "--innodb-buffer-pool-size=128M"]
    command = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", *options, *_as_root()]
    return Server("MariaDB", command, folder / "mariadb.log", ready=lambda: _pings(socket))


def _pings(socket):
    """True if MariaDB answers at a socket."""
    command = ["mariadb-admin", "--no-defaults", f"--socket={socket}", "-u", "root", "ping"]
    return subprocess.run(command, capture_output=True).returncode == 0


def _php(folder):
    """PHP-FPM for the wiki, as a Server; a ServerError if it is not installed."""
    programs = sorted(Path("/usr/sbin").glob("php-fpm[0-9]*"))
    if not programs:
        raise ServerError("PHP-FPM is not in /usr/sbin: apt-get install php-fpm")
    variables = "\n".join(f"env[{key}] = {value}" for key, value in _variables(folder).items())
    user = f"user = {getpass.getuser()}\n" if os.geteuid() == 0 else ""
    (folder / "php-fpm.conf").write_text(
        f"[global]\nerror_log = {folder}/php-fpm.log\n[wiki]\n{user}listen = {folder}/php.sock\n"
        f"pm = static\npm.max_children = 4\n{variables}\n"
    )
    command = [programs[-1], "--nodaemonize", "--fpm-config", folder / "php-fpm.conf", *_as_root("-R")]
    return Server("PHP-FPM", command, folder / "php.log", ready=(folder / "php.sock").exists)


def _nginx(folder):
    """nginx for the wiki, as a Server."""
    site = (
        f"root {_WIKI}; index index.php;\nlocation ~ \\.php$ {{ include /etc/nginx/fastcgi_params; "
        f"fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; fastcgi_pass unix:{folder}/php.sock; }}"
    )
    page = f"http://127.0.0.1:{_PORT}/index.php?title=Page_1"
    command = servers.nginx(folder, _PORT, site)
    return Server("nginx", command, folder / "nginx.log", port=_PORT, ready=lambda: servers.answers(page))


def _variables(folder):
    """Environment variables of the wiki's settings."""
    cache = folder / "cache"
    cache.mkdir(exist_ok=True)
    return {
        "MW_CONFIG_FILE": str(servers.SOURCES / "LocalSettings.php"),
        "CMLIB_URL": f"http://127.0.0.1:{_PORT}",
        "CMLIB_SOCKET": str(folder / "mariadb.sock"),
        "CMLIB_MEMCACHED": f"127.0.0.1:{_PORT + 1}",
        "CMLIB_CACHE": str(cache),
    }


def _as_root(*arguments):
    """Options that servers need if this process is root's; else none."""
    return (arguments or ("--user=root",)) if os.geteuid() == 0 else ()
