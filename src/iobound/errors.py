"""The typed errors of the library; each carries the exit code that the command line gives it.

A message names what failed (the flag, file, field or command), why, and the way out. Only ``iobound.cli`` prints.
"""

from __future__ import annotations


class IoboundError(Exception):
    """Base of every error raised on purpose; `exit_code` is what the command ends with."""

    exit_code = 1


class BadAnswer(IoboundError):
    """A verification failed: the program under test answered wrongly or dropped work."""

    exit_code = 1


class UsageError(IoboundError):
    """The request itself is wrong: an unknown name, a value out of range, incomparable runs."""

    exit_code = 2


class LabError(IoboundError):
    """The laboratory can't be set up: a service, environment, port, disk or permission is missing."""

    exit_code = 3


class Unavailable(LabError):
    """One part of the laboratory isn't on this machine; the message ends with the command that installs it."""


class NoVerdict(IoboundError):
    """Something was measured, but not enough to say anything: incomplete, inconclusive or too noisy."""

    exit_code = 4


def nearest(name: str, known: list[str], what: str) -> str:
    """Return "unknown WHAT 'NAME'; did you mean …?" with up to three of the `known` names nearest to `name`."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(sorted(known)[:20])}"
    return f"unknown {what} {name!r}; {hint}"
