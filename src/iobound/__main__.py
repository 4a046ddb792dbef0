"""``python -m iobound`` is the command ``iobound``."""

from iobound.cli.main import main

main()
