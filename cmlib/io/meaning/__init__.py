"""Derive time series, processors, programs and metrics from the rows of a file of counts.

The readers in :mod:`cmlib.io.formats` return rows with the names in the file. The functions of this package select and
convert these rows. They do not change their arguments.
"""
