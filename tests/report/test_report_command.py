from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from report_builders import measured

from iobound.runs import TRIALS, RunWriter

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Run ``iobound report`` in an empty directory."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "iobound", "report", *map(str, arguments)]
        return subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    return run


def write(folder: Path, failed: int = 0) -> Path:
    header, observations = measured(failed)
    with RunWriter.create(folder, header) as writer:
        for observation in observations:
            writer.add(observation)
    return folder


def test_writes_the_page_into_the_run_and_prints_the_tables(command: Command, tmp_path: Path) -> None:
    write(tmp_path / "iobound-runs" / "2025-01-01-000000")
    latest = write(tmp_path / "iobound-runs" / "2025-01-02-000000")
    done = command()
    assert (done.returncode, done.stderr) == (0, "")
    assert "3.00x" in done.stdout
    assert done.stdout.endswith("Report: iobound-runs/2025-01-02-000000/report.html\n")
    assert "<h1" in (latest / "report.html").read_text()
    assert not (tmp_path / "iobound-runs" / "2025-01-01-000000" / "report.html").exists()


def test_measures_nothing_and_says_the_same_again(command: Command, tmp_path: Path) -> None:
    run = write(tmp_path / "run")
    before = (run / TRIALS).read_bytes()
    first = command(run, "--json")
    assert command(run, "--format", "json").stdout == first.stdout
    assert (run / TRIALS).read_bytes() == before
    assert sorted(path.name for path in run.iterdir()) == ["run.json", TRIALS]


def test_every_format_goes_to_standard_output_or_into_a_file(command: Command, tmp_path: Path) -> None:
    run = write(tmp_path / "run")
    said = json.loads(command(run, "--json").stdout)
    assert said["run"] == str(run)
    assert [cell["target"] for cell in said["cells"]] == ["slow", "fast"]
    assert len(list(csv.DictReader(io.StringIO(command(run, "--format", "csv").stdout)))) == 2
    assert "| fast | 10 | 3,000" in command(run, "--format", "md").stdout
    assert "target CPU" in command(run, "--format", "terminal").stdout
    for format_ in ("terminal", "html", "md", "json", "csv"):
        out = tmp_path / f"out.{format_}"
        done = command(run, "--format", format_, "--out", out)
        assert (done.returncode, done.stdout, done.stderr.strip()) == (0, "", f"Report: {out}")
        assert "slow" in out.read_text()
    assert not (run / "report.html").exists()


def test_html_alone_leaves_standard_output_empty(command: Command, tmp_path: Path) -> None:
    run = write(tmp_path / "run")
    done = command(run, "--format", "html")
    assert (done.returncode, done.stdout) == (0, "")
    assert (run / "report.html").stat().st_size < 2_000_000


def test_takes_a_run_that_was_cut_off_in_the_middle(command: Command, tmp_path: Path) -> None:
    run = write(tmp_path / "run")
    whole = (run / TRIALS).read_bytes()
    (run / TRIALS).write_bytes(whole[: len(whole) * 2 // 3])
    done = command(run, "--json")
    assert done.returncode == 0
    assert "incomplete and was left out" in done.stderr
    assert len(json.loads(done.stdout)["cells"]) == 2


@pytest.mark.parametrize(
    ("file", "damage", "says"),
    [
        ("run.json", lambda text: text.replace(b'"schema": 2', b'"schema": 99'), "schema 99"),
        ("run.json", lambda text: text[:200], "damaged"),
        ("run.json", lambda text: b"\xff\xfe" + text, "damaged"),
        (TRIALS, lambda text: b'{"type": "trial"}\n' + text, "line 1, is damaged"),
    ],
)
def test_refuses_another_schema_and_damaged_files_by_name(
    command: Command, tmp_path: Path, file: str, damage: Callable[[bytes], bytes], says: str
) -> None:
    run = write(tmp_path / "run")
    (run / file).write_bytes(damage((run / file).read_bytes()))
    done = command(run)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert str(run) in done.stderr


def test_names_what_is_missing(command: Command, tmp_path: Path) -> None:
    done = command()
    assert done.returncode == 2
    assert "iobound run --quick" in done.stderr
    done = command(tmp_path / "elsewhere")
    assert done.returncode == 2
    assert "holds no run" in done.stderr


def test_says_when_the_file_cannot_be_written(command: Command, tmp_path: Path) -> None:
    run = write(tmp_path / "run")
    done = command(run, "--out", tmp_path / "nowhere" / "report.html")
    assert done.returncode == 3
    assert "No such file or directory" in done.stderr
    assert "--out" in done.stderr


def test_gives_no_verdict_where_every_cell_is_invalid(command: Command, tmp_path: Path) -> None:
    run = write(tmp_path / "run", failed=500)
    done = command(run)
    assert done.returncode == 4
    assert "invalid" in done.stdout
    assert "3.00x" not in done.stdout


def test_an_empty_run_has_a_report(command: Command, tmp_path: Path) -> None:
    header, _ = measured()
    RunWriter.create(tmp_path / "run", header).close()
    done = command(tmp_path / "run")
    assert done.returncode == 4
    assert "Not measured" in done.stdout
    assert "fast (plain, capacity, 10 connections)" in done.stdout
    assert (tmp_path / "run" / "report.html").exists()
