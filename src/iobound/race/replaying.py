"""Carries out a schedule of an earlier exploration again."""

from __future__ import annotations


def replay(file: str) -> None:
    """Carry out the schedule in `file`."""
    raise NotImplementedError
