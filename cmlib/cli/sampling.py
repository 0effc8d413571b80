"""The options of sampling and of compression, and `cmlib compress`."""

import functools

import click

_COMPRESSION = [
    click.option("--alpha", default=0.01, show_default=True, help="Tolerance for a line's third sample."),
    click.option("--n-sigma", default=3.0, show_default=True, help="Tolerance for the later ones, in σ."),
    click.option("--drift", type=float, help="End lines that samples leave slowly: threshold, such as 20."),
    click.option("--bound", type=float, help="Largest distance of any sample from its line [counts]."),
]
_SAMPLING = [
    click.option(
        "--samples", is_flag=True, help="Sample a group of events once, --events or cycles and misses."
    ),
    click.option(
        "--period", type=click.IntRange(1), help="Counts of the first event a sample.  [default: 1000000]"
    ),
    click.option("--compress", is_flag=True, help="Keep lines instead of samples, found while COMMAND runs."),
    *_COMPRESSION,
]


def sampling_options(command):
    """Give a command the options of sampling; it gets them as `sampling`, None without ``--samples``."""

    @functools.wraps(command)
    def with_sampling(*, samples, period, compress, alpha, n_sigma, drift, bound, **others):
        if not samples and (period or compress):
            raise click.UsageError("--period and --compress belong to --samples.")
        method = {"alpha": alpha, "n_sigma": n_sigma, "drift": drift, "bound": bound}
        wanted = {"period": period or 1_000_000, "compress": method if compress else None}
        return command(sampling=wanted if samples else None, **others)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_SAMPLING), with_sampling)


def sample(name, command, sampling, *, events, modifier, wait):
    """Record one stream of samples, or of lines, and tell where it is."""
    from cmlib.samples import record_stream
    from cmlib.samples.keeping import HARDWARE_GROUP

    group = [event.strip() for event in events.split(",")] if events else HARDWARE_GROUP
    out, metadata = record_stream(name, command, group, modifier=modifier, wait=wait, **sampling)
    kept = f"{metadata['n_lines']} lines instead" if "n_lines" in metadata else "kept as perf printed them"
    click.echo(f"{name}: {metadata['n_samples']} samples ({metadata['n_lost']} lost), {kept}: {out}")


@click.command(epilog="Example: cmlib compress data/samples/myapp/hardware-00.txt.gz lines --drift 20")
@click.argument("source", type=click.Path(exists=True, dir_okay=False))
@click.argument("out", type=click.Path())
@click.option(
    "--events", metavar="LIST", help="Names as perf prints them, if the file does not know its own."
)
def compress(source, out, events, **method):
    """Turn SOURCE, a stored stream of samples or a perf.data, into piecewise-linear segments: OUT.csv and OUT.json."""
    from cmlib.samples import compress_samples

    metadata = compress_samples(source, out, events.split(",") if events else None, **method)
    click.echo(f"{metadata['n_samples']} samples, {metadata['n_lines']} lines: {out}.csv")


for option in _COMPRESSION:
    option(compress)
