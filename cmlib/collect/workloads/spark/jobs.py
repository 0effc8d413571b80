"""Jobs on Spark and on Hadoop's MapReduce, ready to be counted."""

from contextlib import ExitStack, contextmanager

from cmlib.collect.workloads.recipe import Counted, scratch
from cmlib.collect.workloads.spark.installation import environment, generated, home, jar, standalone, submit
from cmlib.errors import CmlibError


@contextmanager
def prepare(name, main_class, inputs, scale, options, *, cluster=None):
    """Get a job on Spark ready."""
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
        yield Counted(submit(main_class, arguments, master=master, settings=settings), pids, environment())


@contextmanager
def prepare_mapreduce(scale, options, *, documents=150_000):
    """Get naive Bayes on Hadoop's LocalJobRunner ready; as :func:`prepare`, without options."""
    folder_in = generated("documents", round(documents * scale))
    with scratch("dataanalytics") as folder:
        arguments = ["-Xmx2g", "-cp", f"{jar()}:{home()}/jars/*", "cmlib.DataAnalytics"]
        yield Counted(["java", *arguments, str(folder / "output"), str(folder_in)])
