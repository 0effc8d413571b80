"""WebSearch: Lucene, Solr's engine, behind a small HTTP server of ours."""

from contextlib import contextmanager

from cmlib.collect.workloads.recipe import Counted, cached_input, run_tool, scratch
from cmlib.collect.workloads.server import Server
from cmlib.collect.workloads.servers import web
from cmlib.collect.workloads.spark import generated

PORT = 17081
_SECONDS, _DOCUMENTS = 12, 200_000
_SOURCE = web.SOURCES / "SearchServer.java"
_LUCENE = "/usr/share/java/lucene-core-8.7.0.jar:/usr/share/java/lucene-analyzers-common-8.7.0.jar"


@contextmanager
def prepare(scale, options, *, port=PORT, documents=_DOCUMENTS):
    """Get the search server ready with its index, and its code compiled by a second of searches."""
    classes = cached_input(
        "search_server",
        lambda path: run_tool(["javac", "-cp", _LUCENE, "-d", path, _SOURCE]),
        source=_SOURCE.read_text(encoding="utf-8"),
    )
    options = ["-Xmx1g", "-Dsun.net.httpserver.nodelay=true", "-cp", f"{classes}:{_LUCENE}"]
    java = ["java", *options, "SearchServer"]
    texts = generated("documents", documents)
    index = cached_input(
        "index", lambda path: run_tool([*java, "index", path, texts], timeout=600), texts=texts.name
    )
    url = f"http://127.0.0.1:{port}"
    with scratch("websearch") as folder:
        how = {"port": port, "ready": lambda: web.answers(f"{url}/search?q=w1+w20")}
        server = Server("the search server", [*java, "serve", index, port], folder / "server.log", **how)
        with server:
            run_tool(web.load("terms.lua", url, 1), timeout=60)
            yield Counted(web.load("terms.lua", url, _SECONDS * scale), server.pids)
