"""Readers for files of counts.

Each format is a class. All readers return :class:`~cmlib.io.formats.readings.Readings`. The function
:func:`~cmlib.io.formats.registry.read_counts` finds the format of a text and reads it.
"""
