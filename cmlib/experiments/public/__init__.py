"""Recordings that others have published, as several notebooks read them."""
