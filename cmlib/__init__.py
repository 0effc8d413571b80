"""Answers from hardware performance counters."""

__version__ = "0.1.0"
