"""Kernels of a run, forked from a process that has loaded the libraries: a kernel that loads them takes seconds."""

import contextlib
import multiprocessing.forkserver
import os
import signal
import sys
import threading

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

from cmlib.parallel import no_interrupts_inherited

_NAME = "cmlib-forked"  # of the entry point in pyproject.toml
_forked = multiprocessing.get_context("forkserver")
_forked.set_forkserver_preload(
    [
        "ipykernel.kernelapp",
        "ipywidgets",
        "cmlib.explore",
        "cmlib.experiments.clusters",
        "cmlib.report.notebook",
    ]
)


def prepare():
    """Load the libraries, and let Jupyter's client start the kernels of this process by :class:`ForkedKernel`."""
    KernelProvisionerFactory.instance().default_provisioner_name = _NAME
    with no_interrupts_inherited():
        multiprocessing.forkserver.ensure_running()


def kill_all():
    """End the kernels that this process has started."""
    for child in multiprocessing.active_children():
        if isinstance(child, _Kernel):
            child.kill()


class ForkedKernel(LocalProvisioner):
    """Starts a Python kernel by forking; it ends with the process that started it."""

    async def launch_kernel(self, cmd, **kwargs):
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        self.process = _Kernel(target=_serve, args=(arguments, kwargs["env"], kwargs.get("cwd")))
        self.process.start()
        self.pid = self.pgid = self.process.pid
        return self.connection_info


class _Kernel(_forked.Process):
    """A process, with as much of :class:`subprocess.Popen` as Jupyter's client asks for."""

    stdin = stdout = stderr = None

    def poll(self):
        return self.exitcode

    def wait(self):
        self.join()
        return self.exitcode

    def send_signal(self, signum):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signum)


def _serve(arguments, env, cwd):
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()  # signals are for it and what it starts
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.environ.clear()
    os.environ.update(env)
    # What workers of a kernel that is killed leave behind is removed without a remark.
    quiet = [env.get("PYTHONWARNINGS"), "ignore:resource_tracker"]
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, quiet))
    if cwd:
        os.chdir(cwd)
    sys.path[:] = [place for place in sys.path if place]  # not what lies in the working directory
    threading.Thread(target=_end_with_parent, daemon=True).start()
    IPKernelApp.launch_instance(argv=arguments)


def _end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)
