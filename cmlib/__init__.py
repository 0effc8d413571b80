"""Answers out of hardware performance counters."""

__version__ = "0.1.0"
