"""``iobound race``: what concurrent transactions may do to each other. Its subcommands are the files race_NAME.py beside it."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import click

from iobound import cli

PREFIX = "race_"


class Commands(click.Group):
    """A group whose commands are the modules beside this one that begin with `PREFIX`."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of the commands."""
        modules = (module.name for module in pkgutil.iter_modules(cli.__path__))
        return sorted(name.removeprefix(PREFIX) for name in modules if name.startswith(PREFIX))

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import the command called `name`."""
        if name not in self.list_commands(context):
            return None
        command: click.Command = import_module(f"{cli.__name__}.{PREFIX}{name}").command
        return command


@click.group(cls=Commands, short_help="Try every interleaving of transactions.")
def command() -> None:
    """Try how concurrent transactions interleave, on the real database.

    Example: iobound race isolation --database postgresql
    """
