"""Measure Python concurrency models on real databases, and say what bound every number."""

from importlib.metadata import version

__version__ = version("iobound")
