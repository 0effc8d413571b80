"""Write and read recordings: a compressed content file and a JSON file with its metadata.

:func:`write_recording` writes a recording, and :func:`read_content` reads its content. The metadata contain the SHA-256
of the content. They are written last, so a metadata file always belongs to a complete recording.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from cmlib.io.archive.errors import ArchiveError
from cmlib.io.archive.files import digest, read_file, unpack
from cmlib.io.archive.metadata import as_text
from cmlib.io.archive.replacing import atomic_replace, working_folder


@contextlib.contextmanager
def recording_draft(
    metadata_file: str | Path, *, schema: int, suffix: str = ".csv.gz"
) -> Iterator[tuple[Path, dict]]:
    """Write a recording in several steps, during a ``with`` block.

    After the block, the files get their final names. After an error in the block, nothing is written.

    Parameters
    ----------
    metadata_file : path
        Final path of the metadata.
    schema : int
        Version of the metadata's schema.
    suffix : str, default ".csv.gz"
        Suffix of the content file, which replaces the suffix of `metadata_file`.

    Yields
    ------
    content : Path
        Path to which the content must be written.
    metadata : dict
        Empty. Entries that the block adds are written as metadata.

    Raises
    ------
    ArchiveError
        If the metadata are not JSON-serializable.
    """
    metadata_file = Path(metadata_file)
    content_file = metadata_file.with_suffix(suffix)
    meta: dict = {}
    with working_folder(metadata_file) as folder:
        content_draft = folder / content_file.name
        metadata_draft = folder / metadata_file.name
        yield content_draft, meta
        text = as_text({"schema": schema, **meta, "sha256": digest(content_draft)}, metadata_file)
        metadata_draft.write_text(text, encoding="utf-8")
        # If the process is killed between the renames, there is content without metadata. The reverse never happens.
        metadata_file.unlink(missing_ok=True)
        atomic_replace(content_draft, content_file)
        atomic_replace(metadata_draft, metadata_file)


def write_recording(
    metadata_file: str | Path, packed: bytes, meta: Mapping, *, schema: int, suffix: str = ".csv.gz"
) -> None:
    """Write a recording, and replace an existing one.

    Parameters
    ----------
    metadata_file : path
        Path of the metadata.
    packed : bytes
        Compressed content.
    meta : mapping
        Metadata. The SHA-256 of the content is added.
    schema : int
        Version of the metadata's schema.
    suffix : str, default ".csv.gz"
        Suffix of the content file, which replaces the suffix of `metadata_file`.

    Raises
    ------
    ArchiveError
        If the metadata are not JSON-serializable.
    OSError
        If a file cannot be written.
    """
    with recording_draft(metadata_file, schema=schema, suffix=suffix) as (content_draft, metadata):
        content_draft.write_bytes(packed)
        metadata |= meta


def read_content(metadata_file: str | Path, sha256: str, *, suffix: str = ".csv.gz") -> bytes:
    """Read and decompress the content of a recording.

    Parameters
    ----------
    metadata_file : path
        Path of the metadata.
    sha256 : str
        SHA-256 of the compressed content, in hexadecimal digits.
    suffix : str, default ".csv.gz"
        Suffix of the content file, which replaces the suffix of `metadata_file`.

    Returns
    -------
    bytes

    Raises
    ------
    ArchiveError
        If the content cannot be read or has another SHA-256.
    """
    metadata_file = Path(metadata_file)
    file = metadata_file.with_suffix(suffix)
    packed = read_file(file)
    if digest(packed) != sha256:
        raise ArchiveError(
            f"{file} is not what was recorded: its SHA-256 differs from the one in {metadata_file.name}. "
            "Recordings are never edited: put the original back, or delete both files and record the run again."
        )
    return unpack(packed, file)
