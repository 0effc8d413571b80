"""All programs that can be recorded by name: `cmlib programs` lists them and what they lack here."""

from collections.abc import Mapping
from functools import partial

from cmlib.collect.record import Program
from cmlib.collect.workloads import cpu, spark
from cmlib.collect.workloads.recipe import Recipe, check_installed, installed_packages, missing_modules
from cmlib.collect.workloads.servers import (
    datacaching,
    dataserving,
    mediastreaming,
    pairs,
    websearch,
    webserving,
)
from cmlib.errors import CmlibError

_JAVA = ("default-jre-headless",)
_GRAPH = partial(spark.prepare, "graphanalytics", "CloudSuite", {"links": 200_000})


def recipes():
    """Every recipe: HiBench's eight, CloudSuite's eight, two co-located pairs, and the CPU programs."""
    recipes = [*_hibench(), *_cloudsuite(), *_pairs(), *cpu.recipes()]
    return {recipe.name: recipe for recipe in recipes}


def recipe(name):
    """The recipe of one program."""
    known = recipes()
    if name not in known:
        raise CmlibError(f"there is no recipe for {name!r}; there are {', '.join(known)}")
    return known[name]


def prepared(name, *, scale=1.0, options: Mapping[str, str] | None = None):
    """Get a program ready to be counted once; for the next run, again."""
    chosen, options = recipe(name), dict(options or {})
    if not scale > 0:
        raise CmlibError(f"program {name!r}: scale must be above 0, got {scale}")
    unknown = [key for key in options if not _takes(chosen, key)]
    if unknown:
        raise CmlibError(
            f"program {name!r} has no option {', '.join(unknown)}; it takes {', '.join(chosen.options) or 'none'}"
        )
    check_installed(chosen)
    return chosen.prepare(scale, options)


def to_record(name, *, scale=1.0, options: Mapping[str, str] | None = None):
    """A program as :func:`cmlib.collect.record.record_program` takes it: got ready anew for every run."""
    prepared(name, scale=scale, options=options)
    anew = partial(prepared, name, scale=scale, options=options)
    return Program(label(name, scale=scale, options=options), anew)


def lacking():
    """What each program needs that is not installed here."""
    known = recipes().values()
    installed = installed_packages(package for one in known for package in one.packages)
    by_suite = {}
    for one in known:
        packages = [package for package in one.packages if package not in installed]
        modules = [f"{name} (Python)" for name in missing_modules(one)]
        by_suite.setdefault(one.suite, {})[one.name] = (*packages, *modules)
    return by_suite


def label(name, *, scale=1.0, options: Mapping[str, str] | None = None):
    """What to note as the command of a recording: the same wherever it is made."""
    given = "".join(f" --option {key}={value}" for key, value in sorted((options or {}).items()))
    return f"cmlib record --program {name} --scale {scale:g}{given}"


def read_label(text):
    """Take a label apart."""
    words = text.split()
    begins, pairs = words[:3] == ["cmlib", "record", "--program"], words[6:]
    if not begins or words[4:5] != ["--scale"] or pairs[::2] != ["--option"] * len(pairs[1::2]):
        raise CmlibError(f"{text!r} is not the command of a program that cmlib gets ready")
    return words[3], float(words[5]), dict(pair.split("=", 1) for pair in pairs[1::2])


def _takes(chosen, key):
    return any(key == name or (name.endswith(".") and key.startswith(name)) for name in chosen.options)


def _hibench():
    lines = "random text: lines of 5-10 words drawn uniformly from 1,000"
    visits = "user visits, URLs by Zipf's law (exponent 0.9)"
    rows = [
        ("wordcount", {"lines": 8_000_000}, lines),
        ("sort", {"lines": 4_000_000}, lines),
        ("pagerank", {"links": 300_000}, "300 k pages with 1-15 out-links by Zipf's law (0.8), 8 iterations"),
        ("aggregation", {"visits": 6_000_000}, visits),
        ("join", {"visits": 6_000_000, "rankings": 200_000}, f"{visits}, and 200 k rankings"),
        ("scan", {"visits": 6_000_000}, visits),
        (
            "bayes",
            {"documents": 200_000},
            "documents of 30-69 words by Zipf's law (1.0), 20 overlapping classes",
        ),
        (
            "kmeans",
            {"points": 600_000},
            "20 dimensions, ten overlapping Gaussian clouds, k = 10, 20 iterations",
        ),
    ]
    for name, inputs, about in rows:
        yield Recipe(
            name=name,
            suite="HiBench",
            stands_for=f"HiBench's {name} on Spark 2",
            framework="Spark 3.5.5 (Scala), local[2] or standalone",
            input=f"{next(iter(inputs.values())):,} rows: {about}",
            prepare=partial(spark.prepare, name, "HiBench", inputs),
            packages=_JAVA,
            modules=("pyspark",),
            options=("master", "spark."),
        )


def _cloudsuite():
    suite = "CloudSuite 3.0"
    on_spark = {"suite": suite, "packages": _JAVA, "modules": ("pyspark",), "options": ("master", "spark.")}
    yield Recipe(
        name="dataanalytics",
        suite=suite,
        stands_for="Mahout's naive Bayes on a Hadoop cluster",
        framework="naive Bayes of ours on Hadoop 3.3's LocalJobRunner, in one process",
        input="150,000 documents of 30-69 words by Zipf's law (1.0), 20 overlapping classes",
        prepare=spark.prepare_mapreduce,
        packages=_JAVA,
        modules=("pyspark",),
    )
    yield Recipe(
        name="datacaching",
        suite=suite,
        stands_for="memcached with a Twitter data set",
        framework="memcached, counted alone; a client of ours in C",
        input="400,000 keys by Zipf's law (0.99), 90 % get, values of 60-1500 bytes uniformly",
        prepare=datacaching.prepare,
        packages=("memcached", "gcc", "libc6-dev"),
    )
    yield Recipe(
        name="dataserving",
        suite=suite,
        stands_for="Cassandra under YCSB",
        framework="RocksDB's db_bench, client and store in one process",
        input="1,000,000 keys of 1000 bytes, half reads (exponentially skewed), half writes, two threads",
        prepare=dataserving.prepare,
        packages=("rocksdb-tools",),
    )
    yield Recipe(
        name="graphanalytics",
        stands_for="GraphX PageRank on a Twitter graph",
        framework="GraphX of Spark 3.5.5, local[2] or standalone",
        input="200,000 pages with 1-15 out-links by Zipf's law (0.8), 10 iterations",
        prepare=_GRAPH,
        **on_spark,
    )
    yield Recipe(
        name="inmemoryanalytics",
        stands_for="MLlib's ALS on MovieLens ratings",
        framework="ALS of Spark 3.5.5, local[2] or standalone",
        input="1,000,000 ratings, users (20,000) and items (5,000) by Zipf's law (0.6, 0.9), rank 20, 15 iterations",
        prepare=partial(spark.prepare, "inmemoryanalytics", "CloudSuite", {"ratings": 1_000_000}),
        **on_spark,
    )
    yield Recipe(
        name="mediastreaming",
        suite=suite,
        stands_for="nginx and a client of videos over HTTPS",
        framework="nginx, counted alone, over HTTP; wrk",
        input="40 videos by Zipf's law (0.8), 256 KiB from a place drawn uniformly, 8 connections for 12 s",
        prepare=mediastreaming.prepare,
        packages=("nginx-light", "ffmpeg", "wrk"),
    )
    yield Recipe(
        name="websearch",
        suite=suite,
        stands_for="Solr with an index of the web",
        framework="Lucene 8.7 behind a small HTTP server of ours, counted alone; wrk",
        input="200,000 documents, 1-3 words by Zipf's law (0.9), 8 connections for 12 s",
        prepare=websearch.prepare,
        packages=("liblucene8-java", "default-jdk-headless", "wrk"),
        modules=("pyspark",),
    )
    yield Recipe(
        name="webserving",
        suite=suite,
        stands_for="Elgg on nginx, PHP, MySQL and memcached",
        framework="MediaWiki on nginx, PHP-FPM, MariaDB and memcached, all counted; wrk",
        input="200 pages by Zipf's law (0.9): 85 % views, 10 % histories, 5 % searches, 4 connections for 12 s",
        prepare=webserving.prepare,
        packages=(
            *("nginx-light", "php-fpm", "php-mysql", "php-xml", "php-mbstring", "php-intl"),
            *("mariadb-server", "memcached", "mediawiki", "wrk"),
        ),
    )


def _pairs():
    caching = datacaching.prepare
    other_port = partial(caching, port=datacaching.PORT + 1, seed=2)
    yield Recipe(
        name="datacaching-datacaching",
        suite="co-located",
        stands_for="DataCaching beside DataCaching (CounterMiner, Fig. 16)",
        framework="two memcached, counted together; a client each",
        input="as datacaching, twice, with different seeds",
        prepare=partial(pairs.prepare, caching, other_port),
        packages=("memcached", "gcc", "libc6-dev"),
    )
    yield Recipe(
        name="datacaching-graphanalytics",
        suite="co-located",
        stands_for="DataCaching beside GraphAnalytics (CounterMiner, Fig. 16)",
        framework="memcached and the executors of a standalone Spark, counted together",
        input="as datacaching, repeated until graphanalytics ends",
        prepare=partial(pairs.prepare, caching, _graph_on_cluster),
        packages=("memcached", "gcc", "libc6-dev", *_JAVA),
        modules=("pyspark",),
        options=("spark.",),
    )


def _graph_on_cluster(scale, options):
    return _GRAPH(scale, {**options, "master": "standalone"})
