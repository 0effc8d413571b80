"""Readers of files of counts: one class per format, one typed result, and a registry that chooses."""
