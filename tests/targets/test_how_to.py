"""The files that the how-to pages show are whole, and verified as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from iobound.lab.catalogue import FOLDER, Catalogue
from iobound.lab.service import ServiceOptions, find
from iobound.measure.conformance import Ground, conform

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.mark.parametrize(
    ("page", "folder", "name"),
    [
        ("add-a-framework.md", "frameworks", "werkzeug-bare/gunicorn-gthread/sqlite3"),
        ("add-a-store.md", "stores", "bare-wsgi/gunicorn-gthread/sqlite3-fresh"),
    ],
)
def test_the_file_on_the_page_works(page, folder, name, tmp_path):
    text = (PAGES / page).read_text()
    [called] = re.findall(r"This one, `([\w-]+\.py)`", text)
    [program] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / folder).mkdir()
    (tmp_path / folder / called).write_text(program)
    with find("sqlite").start(ServiceOptions()) as service:
        verdict = conform(Catalogue(FOLDER, tmp_path).find(name), Ground(service))
    assert (verdict.status, verdict.reason) == ("verified", None)
