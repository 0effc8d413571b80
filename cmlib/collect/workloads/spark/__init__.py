"""Programs on Spark, in one JVM or on a standalone cluster of this machine."""

from cmlib.collect.workloads.spark.installation import standalone
from cmlib.collect.workloads.spark.jobs import prepare, prepare_mapreduce
from cmlib.collect.workloads.spark.settings import TABLE_IV, Setting
