"""MediaStreaming: nginx hands out ranges of videos."""

from contextlib import contextmanager

from cmlib.collect.workloads.recipe import Counted, cached_input, run_tool, scratch
from cmlib.collect.workloads.server import Server
from cmlib.collect.workloads.servers import web

PORT = 17080
_SECONDS, _VIDEOS = 12, 40


@contextmanager
def prepare(scale, options, *, port=PORT, videos=_VIDEOS):
    """Get nginx ready with its videos."""
    films = cached_input("videos", lambda path: _film(path, videos), videos=videos, filter=_scene(0))
    with scratch("mediastreaming") as folder:
        listing = folder / "videos.txt"
        files = sorted(films.iterdir())
        listing.write_text("".join(f"{file.name} {file.stat().st_size}\n" for file in files))
        command = web.nginx(folder, port, f"root {films};")
        with Server("nginx", command, folder / "nginx.log", port=port) as server:
            url = f"http://127.0.0.1:{port}"
            yield Counted(
                web.load("ranges.lua", url, _SECONDS * scale, arguments=[str(listing)]), server.pids
            )


def _film(path, videos):
    path.mkdir()
    for number in range(videos):
        encoded = ["-c:v", "libx264", "-preset", "ultrafast", "-threads", "1"]
        source = ["-f", "lavfi", "-i", _scene(number), "-t", "6"]
        run_tool(["ffmpeg", "-v", "error", *source, *encoded, path / f"video-{number:02d}.mp4"], timeout=120)


def _scene(seed):
    return f"testsrc2=size=640x360:rate=25,noise=alls=25:allf=t:all_seed={seed}"
