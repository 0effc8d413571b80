"""Stored samples, from the formats they are stored in."""

import contextlib
import functools
import os
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.archive import ArchiveError, unpacked
from cmlib.archive.files import opened
from cmlib.samples.files import SampleError, read_metadata
from cmlib.samples.parser import SampleParser
from cmlib.samples.process import printed

_PIECE = 1 << 16  # bytes


def read_samples(source, events=None):
    """Read all samples of a file.

    Parameters
    ----------
    source : path
        The output of ``perf script -F tid,time,period,event`` (``.txt``,
        ``.txt.gz``), such as :func:`record_samples` stores, or, under any other
        name, a ``perf.data``.
    events : sequence of str, optional
        Names as perf prints them, the one that times the sampling first. What
        was stored with metadata knows its own.

    Returns
    -------
    DataFrame
        Cumulated counts, a row a sample, a column an event.

    Raises
    ------
    SampleError
        If there is no sample in it, it is compressed and cut off, or it is not
        what its metadata describe.
    """
    with stored_counts(source, events) as (names, blocks, _):
        counts = np.concatenate([np.empty((0, len(names)), np.int64), *blocks])
    if not len(counts):
        raise SampleError(f"{source} holds no sample of {', '.join(names)}.")
    return pd.DataFrame(counts.cumsum(axis=0), columns=names)


@contextlib.contextmanager
def stored_counts(source, events):
    """Open a file of samples to be read block by block.

    Yields
    ------
    names : list of str
    blocks : iterator of ndarray of int64, shape (n, n_events)
        Counts since the sample before.
    parser : SampleParser
        What tells of losses, once all is read.
    """
    source = Path(source)
    if not source.exists():
        raise SampleError(f"no file of samples at {source}.")
    events = list(events or (read_metadata(source) or {}).get("events", ()))
    if not events:
        raise SampleError(f"name the events of {source}, the one that times the sampling first.")
    parser = SampleParser(events)
    try:
        with _text(source) as pieces:
            yield events, parsed(pieces, parser), parser
    except ArchiveError as error:
        raise SampleError(str(error)) from error


def parsed(pieces, parser):
    """Counts of all samples in pieces of text, or of perf's stream, block by block."""
    for piece in pieces:
        yield parser.feed(piece)
    yield parser.finish()


@contextlib.contextmanager
def _text(source):
    with opened(source) as file:
        if ".txt" not in source.suffixes:
            with printed(source) as pieces:
                yield pieces
        elif source.suffix == ".gz":
            yield unpacked(file, os.fstat(file.fileno()).st_size, source)
        else:
            yield iter(functools.partial(file.read, _PIECE), b"")
