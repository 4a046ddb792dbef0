"""Do two commands answer the same? Asked before anything is timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from iobound.errors import BadAnswer
from iobound.lab.targets import launch_command
from iobound.load.spec import Exchange
from iobound.measure.verify import answers, verify


@dataclass(frozen=True)
class Start:
    """How a command is started: its arguments, and what is set in its environment."""

    argv: Sequence[str]
    settings: Mapping[str, str] = field(default_factory=dict)


def agreed(first: Start, second: Start, asked: Sequence[Exchange]) -> list[Exchange]:
    """Ask both commands; return the exchanges with the answers that must come under load too.

    Only the status is held to where the first command itself answers differently each time. Raises `BadAnswer` with the first
    difference between the two.
    """
    with launch_command(first.argv, settings=first.settings) as running:
        once, again = (list(answers(running.url, asked)) for _ in range(2))  # one after the other: it may serve one at a time
    exchanges = [
        Exchange(path=exchange.path, status=status, answer=body if body == later else None)
        for (exchange, status, body), (_, _, later) in zip(once, again, strict=True)
    ]
    with launch_command(second.argv, settings=second.settings) as running:
        try:
            verify(running.url, exchanges)
        except BadAnswer as error:
            raise BadAnswer(f"{_called(first, second)} answer differently, the second like this: {error}") from error
    return exchanges


def _called(first: Start, second: Start) -> str:
    if first.argv != second.argv:
        return "the two commands"
    ends = (", ".join(f"{name}={value}" for name, value in start.settings.items()) for start in (first, second))
    return f"the command with {' and that with '.join(ends)}"
