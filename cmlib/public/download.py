"""Public recordings are fetched from where they were published, and kept in the user's cache."""

import urllib.parse

import pooch
import requests
from tqdm import tqdm

from cmlib.public.content import cache_dir, read
from cmlib.public.registry import PublicError, files

SITE = "https://raw.githubusercontent.com"


def fetch(name):
    """Have all files of a set.

    Files that come with the package, lie in the folder CMLIB_PUBLIC or were fetched before are not fetched.

    Parameters
    ----------
    name : str
        Of the set.

    Returns
    -------
    list of str
        Names of the files that were fetched.

    Raises
    ------
    PublicError
        If the set is not known, the site can't be reached, or a file is not the one that was published. What was
        fetched before that is kept, and nothing is half-written.
    """
    lacking = [row for row in files(name).itertuples() if read(row.file) is None]
    pooch.get_logger().setLevel("WARNING")
    for row in tqdm(lacking, f"fetching {name}", unit="file", disable=not lacking):
        _fetch(row)
    return [row.file for row in lacking]


def _fetch(row):
    address = "/".join([SITE, row.repository, row.commit, urllib.parse.quote(row.path)])
    folder, _, name = row.file.rpartition("/")
    again = (
        "Fetch it on a machine with a network, and set CMLIB_PUBLIC to the folder that holds it as "
        + row.file
    )
    try:
        pooch.retrieve(address, f"sha256:{row.sha256}", fname=name, path=cache_dir() / folder)
    except requests.HTTPError as error:
        raise PublicError(f"{address} is not there: {error}.") from error
    except requests.RequestException as error:
        raise PublicError(f"{address} can't be reached: {_reason(error)}. {again}.") from error
    except ValueError as error:
        raise PublicError(f"{address} is not the file that was published: {error}") from error


def _reason(error):
    """The innermost reason: what wraps it repeats the address."""
    while getattr(error, "reason", None) or (error.args and isinstance(error.args[0], Exception)):
        error = getattr(error, "reason", None) or error.args[0]
    return str(error).partition(": ")[2] or str(error)
