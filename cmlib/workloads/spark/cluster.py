"""A standalone cluster of Spark on this machine: a master, and a worker that starts executors."""

from contextlib import contextmanager
from dataclasses import dataclass

from cmlib.workloads.server import Server
from cmlib.workloads.spark.installation import environment, home


@dataclass(frozen=True)
class Cluster:
    """A cluster that is up.

    Attributes
    ----------
    url : str
        Master to submit to.
    pids : tuple of int
        Of the worker; executors are its children, and so are counted with it.
    """

    url: str
    pids: tuple[int, ...]


@contextmanager
def standalone(folder, *, port=17077, cores=2, memory="4g"):
    """Start a master and a worker, and stop them with all executors.

    Parameters
    ----------
    folder : pathlib.Path
        For logs and the executors' files.
    port : int, default 17077
        Of the master; the worker listens at the next.
    cores : int, default 2
        Offered by the worker; ``spark.executor.cores=1`` makes as many executors of them.
    memory : str, default "4g"
        Offered by the worker.

    Yields
    ------
    Cluster
    """
    start, url = home() / "bin/spark-class", f"spark://127.0.0.1:{port}"
    package, local = "org.apache.spark.deploy", ["--host", "127.0.0.1", "--webui-port", "0"]
    variables = environment() | {"SPARK_DAEMON_MEMORY": "512m", "SPARK_LOCAL_DIRS": str(folder)}
    master_command = [start, f"{package}.master.Master", *local, "--port", port]
    worker_command = [
        *(start, f"{package}.worker.Worker", *local, "--port", port + 1),
        *("--cores", cores, "--memory", memory, "--work-dir", folder / "work", url),
    ]
    worker_log = folder / "worker.log"
    with (
        Server("Spark's master", master_command, folder / "master.log", port=port, environment=variables),
        Server(
            "Spark's worker",
            worker_command,
            worker_log,
            port=port + 1,
            ready=lambda: "Successfully registered with master" in worker_log.read_text(errors="replace"),
            environment=variables,
        ) as worker,
    ):
        yield Cluster(url, worker.pids)
