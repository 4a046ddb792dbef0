"""Script metadata: what is read from a file, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from iobound import dataset
from iobound.errors import LabError
from iobound.lab.parts import Framework, Published, Server, Store, read

SERVER = {"kind": '"server"', "title": '"a server"', "accepts": '["wsgi"]', "model": '"threads"'}


def write(folder: Path, table: dict[str, str], requires: str = '">=3.11"', after: str = "") -> Path:
    lines = [f"requires-python = {requires}", 'dependencies = ["one>=1"]', "[tool.iobound]"]
    lines += [f"{field} = {value}" for field, value in table.items()] + after.splitlines()
    path = folder / "thing.py"
    path.write_text("# /// script\n" + "".join(f"# {line}\n" for line in lines) + "# ///\n'''Text.'''\nboom(\n")
    return path


def test_a_file_is_read_as_text_and_never_run(tmp_path):
    part = read(write(tmp_path, SERVER | {"knobs": '["WORKERS"]'}), Server)
    assert (part.name, part.dependencies, part.requires_python) == ("thing", ["one>=1"], ">=3.11")
    assert part.description == Server(title="a server", accepts=["wsgi"], model="threads", knobs=["WORKERS"])


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ({"kind": '"server"', "title": '"a"', "model": '"threads"'}, "accepts"),
        (SERVER | {"model": '"magic"'}, "model"),
        (SERVER | {"colour": '"red"'}, "colour"),
        (SERVER | {"knobs": '["SPEED"]'}, "knobs"),
        (SERVER | {"kind": '"servant"'}, "kind"),
        (SERVER | {"accepts": "["}, "wrong"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(tmp_path, table, field):
    path = write(tmp_path, table)
    with pytest.raises(LabError, match=field) as caught:
        read(path, Server)
    assert str(path) in str(caught.value)


def test_a_file_of_another_kind_than_its_folder_is_refused(tmp_path):
    with pytest.raises(LabError, match=r"tool\.iobound\.kind.*'store'"):
        read(write(tmp_path, SERVER), Store)


def test_a_file_without_metadata_is_refused(tmp_path):
    path = tmp_path / "plain.py"
    path.write_text("# only a comment\n")
    with pytest.raises(LabError, match=r"plain\.py.*# /// script"):
        read(path, Framework)


@pytest.mark.parametrize(
    ("requires", "version", "allowed"),
    [
        ('">=3.8"', (3, 7), False),
        ('">=3.8"', (3, 8), True),
        ('">=3.8"', (3, 11), True),
        ('">=3.8,<3.12"', (3, 11), True),
        ('">=3.8,<3.12"', (3, 12), False),
    ],
)
def test_requires_python(tmp_path, requires, version, allowed):
    assert read(write(tmp_path, SERVER, requires), Server).runs_on(version) is allowed


def test_requires_python_in_a_form_that_is_not_understood_is_refused(tmp_path):
    with pytest.raises(LabError, match=r"requires-python"):
        read(write(tmp_path, SERVER, '"~=3.11"'), Server)


def test_the_answers_of_a_published_program(tmp_path):
    table = {"kind": '"published"', "title": '"a"', "comparison": '"b"', "model": '"threads"'}
    table |= {"environment": '"published"', "services": '["mariadb", "postgresql"]'}
    workloads = """
[tool.iobound.workloads.sql-list]
path = "/users"
answer = '{"users": [$rows], "price": "1 $$"}'
row = '{"n": "$name", "i": $id}'
between = ', '
[tool.iobound.workloads.file]
path = "/file"
answer = 'file: $file'
[tool.iobound.workloads.sql-insert]
path = "/users"
method = "POST"
headers = { Accept = "*/*" }
body = '{"name": "é"}'
status = 201
expected_failure = "because"
"""
    asked = read(write(tmp_path, table, after=workloads), Published).description.workloads
    rows = b'{"n": "item 00001 of the catalogue", "i": 1}, {"n": "item 00002 of the catalogue", "i": 2}'
    assert asked["sql-list"].exchange(2).answer == b'{"users": [' + rows + b'], "price": "1 $"}'
    assert asked["sql-list"].exchange(0).answer == b'{"users": [], "price": "1 $"}'
    assert asked["file"].exchange(100).answer == b"file: " + dataset.file_text().encode()
    created = asked["sql-insert"].exchange(100)
    assert (created.method, created.body, created.status, created.answer) == ("POST", '{"name": "é"}'.encode(), 201, None)
    assert asked["sql-insert"].expected_failure == "because"
