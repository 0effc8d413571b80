"""What the three web servers share: nginx's configuration, wrk's command line, and asking for a page."""

import getpass
import os
import urllib.error
import urllib.request
from pathlib import Path

SOURCES = Path(__file__).parent / "src"

# wrk ends with 0 whatever it was answered.
_CHECKED = 'said=$("$@") || exit 1; printf "%s\\n" "$said"; ! printf "%s" "$said" | grep -E "Non-2xx|Socket errors" >&2'


def load(script, url, seconds, *, connections=8, arguments=()):
    """Command line of wrk, which fails if any answer is an error.

    Parameters
    ----------
    script : str
        Lua file among the sources.
    url : str
    seconds : float
        At least one is taken.
    connections : int, default 8
    arguments : sequence of str
        For the script.

    Returns
    -------
    list of str
    """
    how = f"-t1 -c{connections} -d{max(1, round(seconds))}s --timeout 30s -s"
    wrk = ["wrk", *how.split(), str(SOURCES / script), url]
    return ["/bin/sh", "-c", _CHECKED, "load", *wrk, *(["--", *arguments] if arguments else [])]


def nginx(folder, port, site):
    """Write nginx's configuration for one site; the command that starts it."""
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
    """Whether a page is there: False for a refusal of the server's, OSError if there is none."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status == 200
    except urllib.error.HTTPError:
        return False
