"""Programs on Spark, in one JVM or on a standalone cluster of this machine.

:func:`prepare` is a context manager that yields a LaunchSpec (the command of a job, and the processes to count);
:func:`submit` gives a job's command line, :func:`generated` the folder of its input. A CmlibError if Spark is not
installed, a ServerError if a cluster does not start.
"""

import importlib.util
import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cmlib.collect.record import LaunchSpec
from cmlib.collect.toolchain import run_tool
from cmlib.errors import CmlibError
from cmlib_workloads.recipe import cached_input, scratch
from cmlib_workloads.server import Server

_SOURCES = Path(__file__).parent / "src"
_SEED, _PORT = 1, 17077


def home():
    """Folder (Path) of the installed pyspark, which is Spark's home; a CmlibError if it is not installed."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None:
        raise CmlibError("Spark is not installed: pip install 'cmlib[spark]' (pyspark 3.5.5)")
    return Path(spec.origin).parent


def environment():
    """Variables (dict) that Spark's scripts need: any other Spark of this machine is left aside."""
    return {"SPARK_HOME": str(home()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(_SOURCES)}


def jar():
    """Compile our programs with the Scala compiler among Spark's jars, once; return the path of the jar."""
    sources = sorted(_SOURCES.glob("*.scala"))

    def compile_to(path):
        made = path.with_name(f"{path.name}.jar")
        run_tool(
            ["java", "-cp", f"{home()}/jars/*", "scala.tools.nsc.Main", "-usejavacp", "-d", made, *sources],
            timeout=300,
        )
        made.rename(path)

    return cached_input(
        "programs.jar", compile_to, sources=[source.read_text(encoding="utf-8") for source in sources]
    )


def submit(main_class, arguments, *, master="local[2]", settings=None):
    """Command line (list of str) that runs one of our programs.

    `main_class` is its name without package, `arguments` are its own; `master` is Spark's address of a cluster, or
    "local[2]" for one JVM; `settings` maps Spark's settings to text.
    """
    usual = {
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.default.parallelism": "8",
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
    }
    chosen = usual | dict(settings or {})
    chosen.setdefault("spark.sql.shuffle.partitions", chosen["spark.default.parallelism"])
    given = [part for name, value in chosen.items() for part in ("--conf", f"{name}={value}")]
    program = ["--class", f"cmlib.{main_class}", jar(), *arguments]
    return [str(part) for part in (home() / "bin/spark-submit", "--master", master, *given, *program)]


def generated(kind, size):
    """Folder (Path) of a generated input, which is made if it isn't there.

    `kind` is its name, such as "documents", `size` a number of rows.
    """

    def generate(path):
        command = submit("Inputs", [kind, str(path), str(size), str(_SEED)])
        run_tool(command, env=os.environ | environment(), timeout=900)

    source = (_SOURCES / "Inputs.scala").read_text(encoding="utf-8")
    return cached_input(kind, generate, size=size, seed=_SEED, source=source)


@dataclass(frozen=True)
class Cluster:
    """A cluster that is up: its address (`url`) for jobs, and the processes of its worker (`pids`)."""

    url: str
    pids: tuple[int, ...]


@contextmanager
def standalone(folder):
    """Start a master and a worker, and stop them with all executors: a context manager that yields a Cluster.

    `folder` (Path) is for their logs and files. A ServerError if one does not start, or a port is taken.
    """
    start, url = home() / "bin/spark-class", f"spark://127.0.0.1:{_PORT}"
    package, local = "org.apache.spark.deploy", ["--host", "127.0.0.1", "--webui-port", "0"]
    variables = environment() | {"SPARK_DAEMON_MEMORY": "512m", "SPARK_LOCAL_DIRS": str(folder)}
    master_command = [start, f"{package}.master.Master", *local, "--port", _PORT]
    worker_command = [
        *(start, f"{package}.worker.Worker", *local, "--port", _PORT + 1),
        *("--cores", 2, "--memory", "4g", "--work-dir", folder / "work", url),
    ]
    worker_log = folder / "worker.log"
    with (
        Server("Spark's master", master_command, folder / "master.log", port=_PORT, environment=variables),
        Server(
            "Spark's worker",
            worker_command,
            worker_log,
            port=_PORT + 1,
            ready=lambda: "Successfully registered with master" in worker_log.read_text(errors="replace"),
            environment=variables,
        ) as worker,
    ):
        yield Cluster(url, worker.pids)


@contextmanager
def prepare(name, main_class, inputs, scale, options, *, cluster=None):
    """Get a job on Spark ready: a context manager that yields a LaunchSpec.

    `name` and `main_class` are the program's, `inputs` maps kinds of input to rows at scale 1, `scale` is the
    factor of these. `options` are settings of Spark, and "master": "local[N]" (by default 2), or "standalone" for a
    cluster, which is `cluster` (a Cluster) or started anew. A CmlibError for another master.
    """
    settings = {key: value for key, value in options.items() if key != "master"}
    master = options.get("master", "local[2]")
    if master != "standalone" and not master.startswith("local["):
        raise CmlibError(f"option master is standalone or local[…], got {master!r}")
    folders = [str(generated(kind, round(rows * scale))) for kind, rows in inputs.items()]
    with ExitStack() as stack:
        folder, pids = stack.enter_context(scratch(name)), ()
        settings.setdefault("spark.local.dir", str(folder))
        if master == "standalone":
            cluster = cluster or stack.enter_context(standalone(folder))
            master, pids = cluster.url, cluster.pids
        arguments = [name, str(folder / "output"), *folders]
        yield LaunchSpec(submit(main_class, arguments, master=master, settings=settings), pids, environment())


@contextmanager
def prepare_mapreduce(scale, options):
    """Get naive Bayes on Hadoop's LocalJobRunner ready: a context manager that yields a LaunchSpec.

    `scale` is the factor of its documents; `options` are not used.
    """
    folder_in = generated("documents", round(150_000 * scale))
    with scratch("dataanalytics") as folder:
        arguments = ["-Xmx2g", "-cp", f"{jar()}:{home()}/jars/*", "cmlib.DataAnalytics"]
        yield LaunchSpec(["java", *arguments, str(folder / "output"), str(folder_in)])
