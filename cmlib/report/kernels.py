"""Start Jupyter kernels by forking a process that has loaded the libraries, as loading them takes seconds.

After :func:`prepare`, Papermill starts its kernels that way; :func:`kill_all` ends them. InterpreterError if this
Python can't be started as another process; Jupyter's client raises all other errors.
"""

import contextlib
import multiprocessing.forkserver
import multiprocessing.spawn
import os
import signal
import sys
import threading
from pathlib import Path

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

from cmlib.collect.toolchain import check_interpreter
from cmlib.parallel import no_interrupts_inherited
from cmlib.places import yaml_beside
from cmlib.scratch import lasting_folder

_NAME = "cmlib-forked"  # name of the provisioner in pyproject.toml
_forked = multiprocessing.get_context("forkserver")
_forked.set_forkserver_preload(yaml_beside(__file__))


def prepare():
    """Start the process to fork from, and make Jupyter's client start kernels by :class:`ForkedKernel`.

    Call it once, before the first kernel. InterpreterError if the process can't be started.
    """
    # Multiprocessing does not say that it could not start its server; whoever connects to it is refused then.
    check_interpreter(os.fsdecode(multiprocessing.spawn.get_executable()))
    give_ipython_a_folder()
    KernelProvisionerFactory.instance().default_provisioner_name = _NAME
    # Where multiprocessing puts its sockets: else in a folder that stays if this process is killed.
    multiprocessing.current_process()._config.setdefault("tempdir", str(lasting_folder()))
    with no_interrupts_inherited():
        multiprocessing.forkserver.ensure_running()


def kill_all():
    """Kill the kernels that this process has started, even if they are computing."""
    for child in multiprocessing.active_children():
        if isinstance(child, _Kernel):
            child.kill()


class ForkedKernel(LocalProvisioner):
    """A kernel provisioner (what starts kernels for Jupyter's client) that forks Python kernels.

    They end with the process that started them.
    """

    async def launch_kernel(self, cmd, **kwargs):
        """Start a kernel with the arguments in the command line `cmd` (list of str), and return its connection (dict).

        Jupyter's client calls it, with the variables ``env`` and the working directory ``cwd``.
        """
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        self.process = _Kernel(target=_serve, args=(arguments, kwargs["env"], kwargs.get("cwd")))
        self.process.start()
        self.pid = self.pgid = self.process.pid
        return self.connection_info


class _Kernel(_forked.Process):  # type: ignore[name-defined]
    """A kernel's process with the methods of :class:`subprocess.Popen` that Jupyter's client calls."""

    stdin = stdout = stderr = None

    def poll(self):
        """Return the exit code (int) of the process; None while it runs."""
        return self.exitcode

    def wait(self):
        """Wait until the process ends, and return its exit code."""
        self.join()
        return self.exitcode

    def send_signal(self, signum):
        """Send the signal `signum` (int) to the process, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signum)


def _serve(arguments, env, cwd):
    """Run a kernel in a forked process with these arguments, environment variables and working directory."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()  # a process group of its own, to which Jupyter's client sends signals
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.environ.clear()
    os.environ.update(env)
    # No warning is printed when resources of a killed kernel's workers are cleaned up.
    quiet = [env.get("PYTHONWARNINGS"), "ignore:resource_tracker"]
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, quiet))
    if cwd:
        os.chdir(cwd)
    sys.path[:] = [place for place in sys.path if place]  # no modules from the working directory
    threading.Thread(target=_end_with_parent, daemon=True).start()
    IPKernelApp.launch_instance(argv=arguments)


def give_ipython_a_folder():
    """Set IPYTHONDIR to a temporary folder if the home can't be written; this process's kernels inherit it.

    Otherwise, IPython and Jupyter's client would make three temporary folders per run, and never remove them.
    """
    ipython_folder = Path("~/.ipython").expanduser()
    existing_folder = ipython_folder if ipython_folder.exists() else ipython_folder.parent
    if "IPYTHONDIR" not in os.environ and not os.access(existing_folder, os.W_OK):
        os.environ["IPYTHONDIR"] = str(lasting_folder())


def _end_with_parent():
    """End this process when its parent ends."""
    multiprocessing.parent_process().join()
    os._exit(1)
