"""The error of the store."""

from cmlib.errors import CmlibError


class StoreError(CmlibError, ValueError):
    """Raised for a recording that cannot be stored, and for a store that cannot be made or read."""
