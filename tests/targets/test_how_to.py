"""The files that the how-to pages show are whole, and verified as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from iobound.experiments import drivers as experiment
from iobound.lab import drivers
from iobound.lab.catalogue import FOLDER, Catalogue
from iobound.lab.laboratory import Laboratory
from iobound.lab.service import ServiceOptions, find
from iobound.measure.conformance import Ground, conform
from iobound.measure.rounds import Turn
from iobound.measure.scripts.drivers import measure
from iobound.planning import Choice

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


def shown(page: str, folder: Path) -> str:
    """Write the file that a page shows into `folder` and return its name."""
    text = (PAGES / page).read_text()
    [called] = re.findall(r"This one, `([\w-]+\.py)`", text)
    [program] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    folder.mkdir(exist_ok=True)
    (folder / called).write_text(program)
    return Path(called).stem


@pytest.mark.parametrize(
    ("page", "folder", "name"),
    [
        ("add-a-framework.md", "frameworks", "werkzeug-bare/gunicorn-gthread/sqlite3"),
        ("add-a-store.md", "stores", "bare-wsgi/gunicorn-gthread/sqlite3-fresh"),
    ],
)
def test_the_file_on_the_page_works(page: str, folder: str, name: str, tmp_path: Path):
    shown(page, tmp_path / folder)
    with find("sqlite").start(ServiceOptions()) as service:
        verdict = conform(Catalogue(FOLDER, tmp_path).find(name), Ground(service))
    assert (verdict.status, verdict.reason) == ("verified", None)


@pytest.fixture
def only_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of the driver on the page, in a folder in which there is no other."""
    monkeypatch.setattr(drivers, "FOLDER", tmp_path)
    drivers.catalogue.cache_clear()
    yield shown("add-a-driver.md", tmp_path)
    drivers.catalogue.cache_clear()


def test_the_driver_on_the_page_is_measured(only_shown: str):
    [rounds] = experiment.plan(Choice(quick=True, first_available=lambda names: names[0], drivers=[only_shown])).scripts
    [cell] = rounds.cells
    with Laboratory() as laboratory:
        sample = measure(cell, Turn(launch=1, control=False, seed=1, quick=True), laboratory)
    assert sample.ran["statement cache"] == "none"
    assert {phase: use.rows // use.statements for phase, use in sample.phases.items()} == {
        "insert": 0,
        "select": 1000,
        "point": 1,
        "wide": 100,
    }
