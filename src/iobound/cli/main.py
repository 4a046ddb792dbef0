"""The command ``iobound``: finds its subcommands by their files and turns errors into exit codes."""

from __future__ import annotations

import errno
import os
import pkgutil
import signal
import sys
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import NoReturn

import click

from iobound import __version__, cli
from iobound.errors import IoboundError, LabError

DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HIDDEN = {"main", "options", "progress", "stages"}  # what the commands share; subcommands have a "_" in their name


class Commands(click.Group):
    """A group whose commands are the modules beside this one, imported when they are asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of the commands."""
        modules = (module.name for module in pkgutil.iter_modules(cli.__path__))
        return sorted(name for name in modules if name not in HIDDEN and "_" not in name)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import the command called `name`."""
        if name not in self.list_commands(context):
            return None
        command: click.Command = import_module(f"{cli.__name__}.{name}").command
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__)
def commands() -> None:
    """Measure Python concurrency models on real databases, and say what bound every number.

    Example: iobound run --quick
    """


arrived: list[int] = []  # the signal that stops us; libraries make new exceptions of what it raises


def _stop(signum: int, frame: FrameType | None) -> NoReturn:
    for each in STOPPING:  # a second one must not cut clearing up short
        signal.signal(each, lambda *_: None)  # not SIG_IGN: Python complains where another one is on its way already
    arrived.append(signum)
    raise KeyboardInterrupt  # which drivers know: they cancel the statement they wait for


def _terminated() -> bool:
    return bool(arrived) and arrived[0] != signal.SIGINT


def _end(code: int) -> NoReturn:
    """Exit without Python's own end.

    That would let the impatient kill us, kills itself by SIGINT where a KeyboardInterrupt has once left an ``exec`` of text (as
    dataclasses and namedtuples are made by), and has a code of its own where what is still to be printed finds no room.
    """
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def main() -> NoReturn:
    """Run the command line and exit with its code (0-4, 130 after Ctrl-C, 143 after SIGTERM)."""
    for each in STOPPING:
        if signal.getsignal(each) is not signal.SIG_IGN:  # as under nohup
            signal.signal(each, _stop)
    try:
        code = commands(standalone_mode=False)
    except IoboundError as error:
        click.echo(f"iobound: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo(f"iobound: {'terminated' if _terminated() else 'interrupted'}", err=True)
        code = 130
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        click.echo(f"iobound: {error.strerror}; make room where the output goes", err=True)
        _end(LabError.exit_code)
    code = 143 if _terminated() else code if isinstance(code, int) else 0
    if arrived:
        _end(code)
    sys.exit(code)
