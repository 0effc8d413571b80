"""JupyterLab on loopback, with its settings and notebooks in a folder of its own."""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")
START = 300  # seconds
QUIET = {"fetchNews": "false", "checkForUpdates": False}


@dataclass(frozen=True)
class Lab:
    """A running server: its address, its token and the folder whose notebooks it shows."""

    url: str
    token: str
    root: Path

    def address(self, notebook):
        """Where a browser opens a notebook of the root folder, in a fresh workspace."""
        return f"{self.url}lab/workspaces/{Path(notebook).stem}/tree/{notebook}?token={self.token}&reset"

    def ask(self, path, method="GET"):
        """The server's answer to a request of its API, from JSON; None if it has no body."""
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=START) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def end_kernel(self, notebook):
        """End the kernel of a notebook, if it has one."""
        for session in self.ask("api/sessions"):
            if session["path"] == notebook:
                self.ask(f"api/sessions/{session['id']}", "DELETE")


@contextlib.contextmanager
def jupyterlab(root, private, environment):
    """Serve a folder of notebooks for as long as the block runs.

    Parameters
    ----------
    root : Path
        Folder of the notebooks.
    private : Path
        Empty folder for settings, workspaces, the log and what the server says of itself.
    environment : dict of str to Path
        For the kernels, over this process's.

    Yields
    ------
    Lab
    """
    token = secrets.token_hex(16)
    settings = private / "settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(QUIET), encoding="utf-8")
    command = [
        sys.executable, "-m", "jupyterlab",
        "--no-browser", "--allow-root", "--expose-app-in-browser",
        "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", f"--ServerApp.root_dir={root}",
        "--LabApp.extension_manager=readonly",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--KernelProvisionerFactory.default_provisioner_name=cmlib-forked",  # libraries are loaded once
    ]  # fmt: skip
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON", "PYTEST"))}
    own = {
        "JUPYTER_TOKEN": token,
        "JUPYTER_CONFIG_DIR": private / "config",
        "JUPYTER_DATA_DIR": private / "share",
        "JUPYTER_RUNTIME_DIR": private / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": private / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": private / "workspaces",
        "IPYTHONDIR": private / "ipython",
        **environment,
    }
    log = private / "log.txt"
    with guarded(command, env=kept | {k: str(v) for k, v in own.items()}, log=log) as process:
        yield Lab(_address(private / "runtime", process, log), token, root)


@contextlib.contextmanager
def guarded(command, *, env, log):
    """Run a command behind the guard, and end it and all it started when the block ends."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(GUARD), *command],
            env=env,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait(timeout=START)


def _address(runtime, process, log):
    """The server writes down where it listens, once it does."""
    deadline = time.monotonic() + START
    while time.monotonic() < deadline and process.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(json.JSONDecodeError):  # half written
                return f"http://127.0.0.1:{json.loads(file.read_text(encoding='utf-8'))['port']}/"
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start; it wrote:\n{log.read_text(errors='replace')}")
