"""Jobs on Spark and on Hadoop's MapReduce, ready to be counted."""

from contextlib import ExitStack, contextmanager

from cmlib.errors import CmlibError
from cmlib.workloads.inputs import scratch
from cmlib.workloads.recipe import Counted
from cmlib.workloads.spark.cluster import standalone
from cmlib.workloads.spark.installation import environment, generated, home, jar, submit


@contextmanager
def prepare(name, main_class, inputs, scale, options, *, cluster=None):
    """Get a job on Spark ready.

    Parameters
    ----------
    name : str
        As the main class knows it.
    main_class : str
    inputs : mapping of str to int
        Kinds of input and their rows at scale 1.
    scale : float
        Multiplies the rows.
    options : mapping of str to str
        Spark's settings; and ``master``: ``local[2]``, which is usual, another ``local[…]``, or
        ``standalone``, where the worker and its executors are counted and the driver is not.
    cluster : Cluster, optional
        One that is up, for ``standalone``; by default one is started for this job alone.

    Yields
    ------
    Counted
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
        yield Counted(submit(main_class, arguments, master=master, settings=settings), pids, environment())


@contextmanager
def prepare_mapreduce(scale, options, *, documents=150_000):
    """Get naive Bayes on Hadoop's LocalJobRunner ready; as :func:`prepare`, without options."""
    folder_in = generated("documents", round(documents * scale))
    with scratch("dataanalytics") as folder:
        arguments = ["-Xmx2g", "-cp", f"{jar()}:{home()}/jars/*", "cmlib.DataAnalytics"]
        yield Counted(["java", *arguments, str(folder / "output"), str(folder_in)])
