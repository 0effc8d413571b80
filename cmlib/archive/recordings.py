"""A recording on disk: its content, and beside it the JSON that describes it and makes it exist."""

from pathlib import Path

from cmlib.archive.drafts import settle, working_folder
from cmlib.archive.errors import ArchiveError
from cmlib.archive.files import digest, read_file, unpack
from cmlib.archive.metadata import as_text


def write_recording(description, packed, meta, *, schema, suffix=".csv.gz"):
    """Write a recording: first its content, then the metadata that make it exist.

    Parameters
    ----------
    description : path
        The ``.json``; in a folder that is there.
    packed : bytes
        The content file's.
    meta : dict
        Of plain values, without ``schema`` and ``sha256``, which are added.
    schema : int
        Of the metadata.
    suffix : str, default ".csv.gz"
        Of the content file.

    Raises
    ------
    ArchiveError
        If the metadata can't be JSON; nothing is written then.
    OSError
        If the disk does not take it.
    """
    description = Path(description)
    text = as_text({"schema": schema, **meta, "sha256": digest(packed)}, description)
    with working_folder(description) as folder:
        drafts = {folder / "content": description.with_suffix(suffix), folder / "metadata": description}
        for draft, content in zip(drafts, (packed, text.encode()), strict=True):
            draft.write_bytes(content)
        # Between the two files, there must not be metadata of another content.
        description.unlink(missing_ok=True)
        for draft, target in drafts.items():
            settle(draft, target)


def read_packed(description, sha256, *, suffix=".csv.gz"):
    """Read a recording's content file, as it is.

    Parameters
    ----------
    description : path
        The ``.json``.
    sha256 : str
        From its metadata.
    suffix : str, default ".csv.gz"

    Returns
    -------
    bytes

    Raises
    ------
    ArchiveError
        If it can't be read, or is not what was recorded.
    """
    file = Path(description).with_suffix(suffix)
    packed = read_file(file)
    if digest(packed) != sha256:
        raise ArchiveError(
            f"{file} is not what was recorded: its SHA-256 differs from the one in {Path(description).name}. "
            "Recordings are never edited: put the original back, or delete both files and record the run again."
        )
    return packed


def read_content(description, sha256, *, suffix=".csv.gz"):
    """Read a recording's content, unpacked.

    Parameters, errors: as of :func:`read_packed`; also if it can't be unpacked.

    Returns
    -------
    bytes
    """
    packed = read_packed(description, sha256, suffix=suffix)
    return unpack(packed, Path(description).with_suffix(suffix))
