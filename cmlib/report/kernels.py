"""Start Jupyter kernels quickly by forking a process that has imported the libraries.

Importing the libraries takes seconds. :func:`prepare` starts the process and makes Papermill use it.
:func:`kill_all` ends all kernels. ``kernels.yaml`` lists the modules to import.
"""

import contextlib
import multiprocessing.forkserver
import multiprocessing.spawn
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from jupyter_client import AsyncKernelManager
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

from cmlib.collect.toolchain import check_interpreter
from cmlib.parallel import no_interrupts_inherited
from cmlib.places import yaml_beside
from cmlib.scratch import lasting_folder

_NAME = "cmlib-forked"  # name of the provisioner in pyproject.toml
# Processes of this kind are forked from a server process, which imports the modules first.
_forkserver = multiprocessing.get_context("forkserver")
_forkserver.set_forkserver_preload(yaml_beside(__file__))


def prepare() -> None:
    """Start the process that forks kernels, and make Jupyter use it.

    Call it once before the first kernel.

    Raises
    ------
    InterpreterError
        If the process cannot be started.
    """
    # Multiprocessing does not report that its server could not be started. Later connections would be refused.
    check_interpreter(os.fsdecode(multiprocessing.spawn.get_executable()))
    set_ipython_folder()
    import_kernel_classes()
    KernelProvisionerFactory.instance().default_provisioner_name = _NAME
    # Multiprocessing puts its sockets into this temporary folder. Its default folder would not be removed if this
    # process is killed.
    process: Any = multiprocessing.current_process()
    process._config.setdefault("tempdir", str(lasting_folder()))
    with no_interrupts_inherited():
        multiprocessing.forkserver.ensure_running()


def import_kernel_classes() -> None:
    """Import the classes that Jupyter's kernel manager names by strings.

    The first kernel manager replaces each string by the class. Two threads that start their first kernels at the same
    time can both try to, and one of them fails with a TypeError.
    """
    AsyncKernelManager()


def set_ipython_folder() -> None:
    """Set IPYTHONDIR to a temporary folder if the folder of IPython is not writable.

    IPython and Jupyter would otherwise make three temporary folders per run and not remove them.
    """
    ipython_folder = Path("~/.ipython").expanduser()
    existing_folder = ipython_folder if ipython_folder.exists() else ipython_folder.parent
    if "IPYTHONDIR" not in os.environ and not os.access(existing_folder, os.W_OK):
        os.environ["IPYTHONDIR"] = str(lasting_folder())


def kill_all() -> None:
    """Kill all kernels that this process started, even if they are computing."""
    for child in multiprocessing.active_children():
        if isinstance(child, _Kernel):
            child.kill()


class ForkedKernel(LocalProvisioner):
    """Kernel provisioner that forks Python kernels.

    A provisioner starts kernels for Jupyter's client. The kernels end with the process that started them.
    """

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict:
        """Fork a kernel and return its connection.

        Parameters
        ----------
        cmd : list of str
            Command line of a kernel. The arguments after the module's name are used.
        **kwargs
            Environment variables ``env`` and working directory ``cwd``.

        Returns
        -------
        dict
            Connection of the kernel.
        """
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        self.process = _Kernel(target=_serve, args=(arguments, kwargs["env"], kwargs.get("cwd")))
        self.process.start()
        self.pid = self.pgid = self.process.pid
        return self.connection_info


class _Kernel(_forkserver.Process):  # type: ignore[name-defined]
    """Process of a kernel, with the methods of :class:`subprocess.Popen` that Jupyter calls."""

    stdin = stdout = stderr = None

    def poll(self) -> int | None:
        """Return the exit code, or None if the process is running."""
        return self.exitcode

    def wait(self) -> int | None:
        """Wait for the end of the process and return its exit code."""
        self.join()
        return self.exitcode

    def send_signal(self, signum: int) -> None:
        """Send a signal to the process. Nothing happens if it has ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signum)


def _serve(arguments: list[str], env: dict[str, str], cwd: str | None) -> None:
    """Run a kernel in the forked process."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()  # Jupyter's client sends signals to the process group
    # Jupyter interrupts kernels by SIGINT. prepare() has blocked this signal in the server process, and a forked
    # process inherits that.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.environ.clear()
    os.environ.update(env)
    # The worker processes of a kernel share semaphores. If the kernel is killed, Python's resource tracker removes
    # them and prints a warning, which is suppressed.
    filters = [env.get("PYTHONWARNINGS"), "ignore:resource_tracker"]
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, filters))
    if cwd:
        os.chdir(cwd)
    # The path "" is the working directory. Its files could be imported in place of modules.
    sys.path[:] = [folder for folder in sys.path if folder]
    threading.Thread(target=_end_with_parent, daemon=True).start()
    IPKernelApp.launch_instance(argv=arguments)


def _end_with_parent() -> None:
    """End this process when its parent ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
