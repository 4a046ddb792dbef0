import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from iobound.cli.main import commands
from iobound.cli.run import KNOWN

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
COMMAND = re.compile(r"(?:^|`)(?:\$ | {4})?(?:\.venv/bin/)?iobound (\w(?:\\\n|[^`\n])*)", re.MULTILINE)


def test_the_generated_reference_is_current():
    check = subprocess.run([sys.executable, ROOT / "docs/generate.py", "--check"], capture_output=True, text=True)
    assert check.returncode == 0, check.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def shown(page: Path) -> Iterator[tuple[click.Command, list[str]]]:
    """Yield each command that a page shows with its words, up to those of the user's own commands."""
    for line in COMMAND.findall(page.read_text()):
        words = shlex.split(line.replace("\\\n", " "), comments=True)
        words = words[: words.index("--")] if "--" in words else words
        command: click.Command = commands
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            found = command.get_command(click.Context(command), words[0])
            assert found, f"{page.name}: iobound {line}: no command {words[0]}"
            command, words = found, words[1:]
        yield command, words


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "command-line.md"], ids=lambda page: page.name)
def test_commands_that_are_shown_exist(page: Path):
    for command, words in shown(page):
        options = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        for word in words:
            if word.startswith("-"):
                assert word.partition("=")[0] in options, f"{page.name}: {command.name} has no option {word}"
        if command.name == "run" and words and words[0].isalpha():
            assert words[0] in KNOWN, f"{page.name}: no experiment {words[0]}"


def test_the_race_in_the_readme_ends_as_it_says():
    [program] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    ran = subprocess.run([sys.executable, "-"], input=program, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "read committed: violated" in ran.stderr
    assert "serializable: holds" in ran.stderr
