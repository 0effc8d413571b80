"""Name the columns of a table of samples that say which code a sample is from."""

__all__ = ["LOCATION_COLUMNS"]

# Function, and file and line. All other columns of such a table are counters.
LOCATION_COLUMNS = ("function", "location")
