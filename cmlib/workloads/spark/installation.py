"""Where Spark is, the jar of our programs, and how JVMs are started with them."""

import importlib.util
import os
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.workloads.inputs import kept
from cmlib.workloads.recipe import run_tool

_SOURCES = Path(__file__).parent / "src"
_SEED = 1


def home():
    """Folder of the installed pyspark, which is Spark's home.

    Raises
    ------
    CmlibError
        If it is not installed.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None:
        raise CmlibError("Spark is not installed: pip install 'cmlib[spark]' (pyspark 3.5.5)")
    return Path(spec.origin).parent


def environment():
    """Variables that Spark's scripts need: any other Spark of this machine is left aside."""
    return {"SPARK_HOME": str(home()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(_SOURCES)}


def jar():
    """Compile our programs with the Scala compiler among Spark's jars, once; path of the jar."""
    sources = sorted(_SOURCES.glob("*.scala"))

    def compile_to(path):
        made = path.with_name(f"{path.name}.jar")
        run_tool(
            ["java", "-cp", f"{home()}/jars/*", "scala.tools.nsc.Main", "-usejavacp", "-d", made, *sources],
            timeout=300,
        )
        made.rename(path)

    return kept(
        "programs.jar", compile_to, sources=[source.read_text(encoding="utf-8") for source in sources]
    )


def submit(main_class, arguments, *, master="local[2]", settings=None):
    """Command line that runs one of our programs.

    Parameters
    ----------
    main_class : str
        In package ``cmlib``.
    arguments : sequence of str
    master : str, default "local[2]"
    settings : mapping of str to str, optional
        Spark's, over those that are usual here.

    Returns
    -------
    list of str
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
    """Folder of a generated input.

    Parameters
    ----------
    kind : str
        Of ``Inputs.scala``.
    size : int
        Rows.

    Returns
    -------
    pathlib.Path
    """

    def generate(path):
        command = submit("Inputs", [kind, str(path), str(size), str(_SEED)])
        run_tool(command, env=os.environ | environment(), timeout=900)

    source = (_SOURCES / "Inputs.scala").read_text(encoding="utf-8")
    return kept(kind, generate, size=size, seed=_SEED, source=source)
