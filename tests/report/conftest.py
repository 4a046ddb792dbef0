from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from report_builders import tour

from iobound.records import Judgement, RunHeader
from iobound.report import html

RUN = "iobound-runs/2025-11-30-134000"


@pytest.fixture(scope="session")
def judged() -> tuple[RunHeader, Judgement]:
    return tour()


@pytest.fixture(scope="session")
def page(judged: tuple[RunHeader, Judgement]) -> str:
    return html.render(*judged, RUN)


@pytest.fixture
def chromium(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run headless Chromium on a page, cut off from every host, with the options given."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on PATH; Debian: apt-get install chromium")

    def run(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
        command = [
            *(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
            *("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}", *options, page.as_uri()),
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)

    return run
