"""Analysis is arithmetic on records: it reads no clock, starts no process and touches no file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from iobound import analysis

FILES = sorted(Path(analysis.__file__).parent.rglob("*.py"))
IMPURE = {"asyncio", "datetime", "io", "os", "pathlib", "random", "shutil", "socket", "subprocess", "sys", "threading", "time"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_imports_nothing_impure(file: Path) -> None:
    tree = ast.parse(file.read_text())
    imported = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not imported & IMPURE
    assert not called & {"open", "print", "input", "exec", "eval"}
