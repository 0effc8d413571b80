"""Programs on Spark, in one JVM or on a standalone cluster of this machine."""

from cmlib.workloads.spark.cluster import standalone
from cmlib.workloads.spark.jobs import prepare, prepare_mapreduce
from cmlib.workloads.spark.settings import TABLE_IV, Setting

__all__ = ["TABLE_IV", "Setting", "prepare", "prepare_mapreduce", "standalone"]
