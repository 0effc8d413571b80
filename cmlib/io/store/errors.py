"""The error of the store, the database that is made of the recordings' files."""

from cmlib.errors import CmlibError


class StoreError(CmlibError, ValueError):
    """Raised for a recording that can't be stored, and a store that can't be made or read."""
