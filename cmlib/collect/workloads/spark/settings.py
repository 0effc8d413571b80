"""The thirteen parameters of CounterMiner's Table IV, and where each of them acts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """A parameter of Spark."""

    name: str
    low: str
    default: str
    high: str
    acts: str
    needs: dict[str, str]


_SNAPPY = {"spark.io.compression.codec": "snappy"}
_KRYO = {"spark.serializer": "org.apache.spark.serializer.KryoSerializer"}
_REMOTE = {"spark.executor.cores": "1", "spark.shuffle.readHostLocalDisk": "false"}

TABLE_IV = {
    "bbs": Setting("spark.broadcast.blockSize", "64k", "4m", "16m", "local", {}),
    "dpl": Setting("spark.default.parallelism", "2", "8", "64", "local", {}),
    "dmm": Setting("spark.driver.memory", "1g", "2g", "3g", "local", {}),
    "exc": Setting("spark.executor.cores", "1", "2", "2", "standalone", {}),
    "exm": Setting("spark.executor.memory", "512m", "1g", "2g", "standalone", {}),
    "ics": Setting("spark.io.compression.snappy.blockSize", "4k", "32k", "512k", "local", _SNAPPY),
    "kbf": Setting("spark.kryoserializer.buffer", "4k", "64k", "4m", "local", _KRYO),
    "kbm": Setting("spark.kryoserializer.buffer.max", "8m", "64m", "512m", "local", _KRYO),
    "mmf": Setting("spark.memory.fraction", "0.2", "0.6", "0.85", "local", {}),
    "nwt": Setting("spark.network.timeout", "60s", "120s", "600s", "executors", _REMOTE),
    "rdm": Setting("spark.reducer.maxSizeInFlight", "1m", "48m", "128m", "executors", _REMOTE),
    "sfb": Setting("spark.shuffle.file.buffer", "4k", "32k", "1m", "local", {}),
    "ssb": Setting("spark.shuffle.sort.bypassMergeThreshold", "1", "200", "400", "local", {}),
}
