"""The command ``iobound``: finds its subcommands by their files and turns errors into exit codes."""

from __future__ import annotations

import errno
import pkgutil
import signal
import sys
from importlib import import_module
from types import FrameType
from typing import NoReturn

import click

from iobound import __version__, cli
from iobound.errors import IoboundError, LabError

DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HIDDEN = {"main", "options", "progress", "stages"}  # what the commands share


class Commands(click.Group):
    """A group whose commands are the modules beside this one, imported when they are asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of the commands."""
        return sorted(module.name for module in pkgutil.iter_modules(cli.__path__) if module.name not in HIDDEN)

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


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP arrived: unwinds like Ctrl-C, so that everything started is stopped and statements are cancelled."""


def _stop(signum: int, frame: FrameType | None) -> NoReturn:
    for each in STOPPING:  # a second one must not cut clearing up short
        signal.signal(each, lambda *_: None)  # not SIG_IGN: Python complains where another one is on its way already
    raise KeyboardInterrupt if signum == signal.SIGINT else Terminated


def _end(how: str, code: int) -> NoReturn:
    click.echo(f"iobound: {how}", err=True)
    for each in STOPPING:  # Python's own end would let the impatient kill us
        signal.signal(each, signal.SIG_IGN)
    sys.exit(code)


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
    except (KeyboardInterrupt, click.Abort) as error:
        if isinstance(error.__cause__ or error, Terminated):  # click makes an Abort of it, and says of what
            _end("terminated", 143)
        _end("interrupted", 130)
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        click.echo(f"iobound: {error.strerror}; make room where the output goes", err=True)
        sys.exit(LabError.exit_code)
    sys.exit(code if isinstance(code, int) else 0)
