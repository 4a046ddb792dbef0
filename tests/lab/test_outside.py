"""What is seen of a program from outside."""

from __future__ import annotations

import subprocess
import sys

from iobound.lab import outside


def test_only_the_packages_whose_compiled_parts_are_loaded_are_seen():
    for imported, expected in [("httptools", ["httptools"]), ("click", [])]:
        program = f"import {imported}; print(flush=True); input()"
        with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.readline()
            assert outside.compiled(process.pid) == expected
            process.communicate(b"\n")


def test_versions_are_found_however_a_package_is_spelled():
    installed = {"PyMySQL": "1.0.2", "tortoise_orm": "0.19.1", "python": "3.8.18", "Flask": "2.1.2"}
    required = ["pymysql[rsa]", "tortoise-orm", "flask>=2"]
    assert outside.versions(required, installed) == {"pymysql": "1.0.2", "tortoise-orm": "0.19.1", "flask": "2.1.2"}
